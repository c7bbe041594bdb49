/** A client's session as long as it lives; connections come and go. */
export interface Session {
  readonly id: bigint
  /** Known to the server of its client alone, without a transaction. */
  readonly isLocal: boolean
  /** As negotiated last. */
  timeoutMs: number
  /** As negotiated first, which is what is stored. */
  readonly firstTimeoutMs: number
  /** It is being closed: nothing more is accepted from it. */
  isClosing: boolean
  /** The connection, or the server, that may write for it; undefined until somebody does. */
  owner?: object | undefined
  /** How often another server took it over. */
  moves: number
  /** The end of the tick at which it expires unless touched before. */
  expiresAtMs: number
}

export function newSession(id: bigint, timeoutMs: number, isLocal: boolean): Session {
  return {
    id,
    isLocal,
    timeoutMs,
    firstTimeoutMs: timeoutMs,
    isClosing: false,
    moves: 0,
    expiresAtMs: -1,
  }
}

/**
 * Which sessions are alive. Expiry goes by whole ticks, so that touching a session is nearly
 * always a comparison, and a tick looks only at the sessions it ends.
 */
export class SessionTracker {
  private readonly tickMs: number
  private readonly areLocal: boolean
  private readonly sessions = new Map<bigint, Session>()
  /** The one that was asked for last: much of what comes at once is of one client. */
  private last: Session | undefined
  private readonly buckets = new Map<number, Set<Session>>()
  private nextTickMs = -1

  constructor(tickMs: number, areLocal = false) {
    this.tickMs = tickMs
    this.areLocal = areLocal
  }

  get size(): number {
    return this.sessions.size
  }

  get(id: bigint): Session | undefined {
    if (this.last?.id === id) return this.last
    const session = this.sessions.get(id)
    this.last = session
    return session
  }

  all(): IterableIterator<Session> {
    return this.sessions.values()
  }

  add(id: bigint, timeoutMs: number, nowMs: number): Session {
    const known = this.sessions.get(id)
    if (known !== undefined) {
      this.touch(known, timeoutMs, nowMs)
      return known
    }
    const session = newSession(id, timeoutMs, this.areLocal)
    this.sessions.set(id, session)
    this.touch(session, timeoutMs, nowMs)
    return session
  }

  /** Its client was heard of. */
  touch(session: Session, timeoutMs: number, nowMs: number): void {
    session.timeoutMs = timeoutMs
    const expiresAtMs = (Math.floor((nowMs + timeoutMs) / this.tickMs) + 1) * this.tickMs
    if (expiresAtMs === session.expiresAtMs) return
    if (!this.sessions.has(session.id)) return
    this.leaveBucket(session)
    session.expiresAtMs = expiresAtMs
    let bucket = this.buckets.get(expiresAtMs)
    if (bucket === undefined) this.buckets.set(expiresAtMs, (bucket = new Set()))
    bucket.add(session)
  }

  remove(id: bigint): void {
    const session = this.sessions.get(id)
    if (session === undefined) return
    this.leaveBucket(session)
    this.sessions.delete(id)
    this.last = undefined
  }

  /**
   * The sessions whose time has come, at most `max`; the next call returns the others. They stay
   * known until they are removed.
   */
  expire(nowMs: number, max = Infinity): Session[] {
    const expired: Session[] = []
    if (nowMs < this.nextTickMs) return expired
    for (const [expiresAtMs, bucket] of this.buckets) {
      if (expiresAtMs > nowMs) continue
      for (const session of bucket) {
        if (expired.length >= max) return expired
        bucket.delete(session)
        expired.push(session)
      }
      this.buckets.delete(expiresAtMs)
    }
    this.nextTickMs = (Math.floor(nowMs / this.tickMs) + 1) * this.tickMs
    return expired
  }

  /** Sessions by the time at which they expire. */
  byExpiry(): [expiresAtMs: number, ids: bigint[]][] {
    return [...this.buckets]
      .toSorted(([a], [b]) => a - b)
      .map(([time, sessions]) => [time, [...sessions].map(({ id }) => id)])
  }

  private leaveBucket(session: Session): void {
    const bucket = this.buckets.get(session.expiresAtMs)
    if (bucket === undefined) return
    bucket.delete(session)
    if (bucket.size === 0) this.buckets.delete(session.expiresAtMs)
  }
}
