/** The direction in which bytes travel. */
export type Direction = 'toServer' | 'toClient'

export interface DirectionOption {
  /** Both directions by default. */
  readonly direction?: Direction | undefined
}

/** Faults of connections. Each lasts until `heal`; several can be combined. */
export interface Faults {
  /**
   * Delays bytes by this time.
   *
   *     proxy.delay(50, { jitterMs: 20 })
   */
  delay(ms: number, options?: DirectionOption & { readonly jitterMs?: number | undefined }): void
  /**
   * Limits the bytes per second.
   *
   *     proxy.limit(10_000, { direction: 'toClient' })
   */
  limit(bytesPerSecond: number, options?: DirectionOption): void
  /**
   * Bytes arrive in pieces no longer than this, one after the other.
   *
   *     proxy.fragment(7) // messages arrive in pieces
   */
  fragment(bytesMax: number, options?: DirectionOption): void
  /**
   * Nothing arrives, without an error: connections are half open, and new ones are accepted and
   * stay silent. Bytes sent in the meantime arrive after `heal`, if the connection still exists.
   *
   *     proxy.hold({ direction: 'toClient' }) // requests arrive, replies do not
   */
  hold(options?: DirectionOption): void
  /**
   * Undoes `hold` and nothing else.
   *
   *     proxy.release({ direction: 'toClient' })
   */
  release(options?: DirectionOption): void
  /**
   * Resets all open connections, as a restarted router does. New ones are not affected.
   *
   *     proxy.reset()
   */
  reset(): void
  /**
   * Resets the next connection that has carried this many more bytes: the bytes before that arrive,
   * and nothing after them. Resolves when it has happened; rejects if it is healed before.
   *
   *     const cut = proxy.resetAfter(40, { direction: 'toClient' })
   *     await client.get('/settings')
   *     await cut
   */
  resetAfter(bytes: number, options: { readonly direction: Direction }): Promise<void>
  /**
   * Refuses new connections. Open ones stay.
   *
   *     proxy.refuse()
   */
  refuse(): void
  /**
   * `reset` and `refuse`.
   *
   *     proxy.cut()
   *     await untilState(client, 'suspended')
   */
  cut(): void
  /**
   * Ends all faults. Resolves once connections are accepted again; open ones continue at once.
   *
   *     await proxy.heal()
   *     await client.connected()
   */
  heal(): Promise<void>
}

/** Applies the same faults to several links. */
export class FaultGroup implements Faults {
  private readonly members: () => Iterable<Faults>

  constructor(members: () => Iterable<Faults>) {
    this.members = members
  }

  delay(ms: number, options: Parameters<Faults['delay']>[1] = {}): void {
    for (const member of this.members()) member.delay(ms, options)
  }

  limit(bytesPerSecond: number, options: DirectionOption = {}): void {
    for (const member of this.members()) member.limit(bytesPerSecond, options)
  }

  fragment(bytesMax: number, options: DirectionOption = {}): void {
    for (const member of this.members()) member.fragment(bytesMax, options)
  }

  hold(options: DirectionOption = {}): void {
    for (const member of this.members()) member.hold(options)
  }

  release(options: DirectionOption = {}): void {
    for (const member of this.members()) member.release(options)
  }

  reset(): void {
    for (const member of this.members()) member.reset()
  }

  resetAfter(bytes: number, options: { readonly direction: Direction }): Promise<void> {
    const resets = Array.from(this.members(), (member) => member.resetAfter(bytes, options))
    const first = Promise.race(resets)
    first.catch(() => {})
    return first
  }

  refuse(): void {
    for (const member of this.members()) member.refuse()
  }

  cut(): void {
    for (const member of this.members()) member.cut()
  }

  async heal(): Promise<void> {
    await Promise.all(Array.from(this.members(), (member) => member.heal()))
  }
}
