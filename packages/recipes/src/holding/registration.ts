import {
  ClosedError,
  ConnectionLossError,
  isRefusal,
  parentPath,
  SessionExpiredError,
  type AnyTransaction,
  type CallOptions,
  type Client,
  type Codec,
  type Created,
  type TransactionError,
} from '@zabra/client'
import { onAbort, pause } from '@zabra/client/internal'
import { untilGone } from '../waiting/until-changed.ts'
import { hold, LostError, type Held } from './held.ts'
import { deleteMade, giveBackIn } from '../nodes/give-back.ts'
import { limited, orAborted } from '../waiting/limits.ts'
import { LiveCell, type Live } from '../live/live.ts'
import { persist } from '../nodes/node.ts'
import { ensureParent } from '../nodes/parents.ts'
import { mayEnd, refusedPauseMs } from '../waiting/pause.ts'

/**
 * Whether others see the node. `present`: it exists. `uncertain`: the connection is lost, and the
 * node stays until the session expires. `absent`: it is gone, and comes back with the next session.
 */
export type Presence = 'present' | 'uncertain' | 'absent'

/**
 * Pending releases by path: the next registration of the name waits for them, because the cleanup
 * could take a node of the same session for its own.
 */
const clearings = new WeakMap<Client, Map<string, Promise<unknown>>>()

/** An ephemeral node with a fixed name, created again in each session, until it is released. */
export class Registration<T> implements Held {
  readonly path: string
  readonly name: string
  private readonly client: Client
  private readonly parent: string
  private readonly codec: Codec<T>
  private data: Uint8Array
  /** The data with which the node was last created or set. */
  private written: Uint8Array | undefined
  private readonly ending = new AbortController()
  private readonly status: LiveCell<Presence>
  private readonly stopListening: () => void
  /** All sessions of this client since; a node that one of them left may be taken over. */
  private readonly ownSessions = new Set<bigint>()
  private node: Held | undefined
  private readonly first: Promise<void>
  private readonly kept: Promise<void>
  private releasing: Promise<void> | undefined

  constructor(client: Client, path: string, codec: Codec<T>, value: T) {
    this.client = client.patient
    this.path = path
    this.name = path.slice(path.lastIndexOf('/') + 1)
    this.parent = parentPath(path)
    this.codec = codec
    this.data = codec.encode(value)
    this.status = new LiveCell<Presence>(client, 'absent')
    let begun = (): void => {}
    let failed: (reason: unknown) => void = () => {}
    this.first = new Promise((resolve, reject) => {
      begun = resolve
      failed = reject
    })
    this.first.catch(() => {})
    const stops = [
      client.onState(() => this.judge()),
      // Before the server lets others have the name.
      client.onClosing(() => {
        const closed = new ClosedError({ path })
        failed(closed)
        this.end(closed)
      }),
    ]
    this.stopListening = () => {
      for (const stop of stops) stop()
    }
    this.kept = this.keep(begun).catch((error: unknown) => {
      failed(error)
      this.end(error)
      return this.sweep()
    })
  }

  /** Resolves when the node exists for the first time; giving up leaves nothing behind. */
  async registered(signal: AbortSignal): Promise<void> {
    try {
      await orAborted(this.first, signal)
    } catch (error) {
      this.release().catch(() => {})
      throw error
    }
  }

  /** The owner and czxid of the node in its current session, or in the last one. */
  get token(): bigint {
    return this.node?.token ?? 0n
  }

  get signal(): AbortSignal {
    return this.ending.signal
  }

  get deadlineMs(): number {
    return this.signal.aborted ? 0 : (this.node?.deadlineMs ?? 0)
  }

  get presence(): Live<Presence> {
    return this.status
  }

  /**
   * Makes the transaction fail as a whole, with a LostError, unless the node exists.
   *
   *     await member.guard(client.transaction().set('/report', 'done')).commit()
   */
  guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded {
    const { path, client } = this
    const { chroot } = client
    const assert = (): void => this.signal.throwIfAborted()
    const failed = (refusal: TransactionError): LostError => new LostError('deleted', path, refusal)
    transaction.guardedBy({ checks: [{ path }], chroot, assert, failed })
    return transaction
  }

  /**
   * Changes the data of the node, in this session and in later ones. If the caller stops waiting,
   * it still happens as soon as possible.
   *
   *     await member.update({ port: 8081 })
   */
  async update(value: T, options: CallOptions = {}): Promise<void> {
    this.signal.throwIfAborted()
    options.signal?.throwIfAborted()
    this.data = this.codec.encode(value)
    const writing = persist(this.client, this.signal, () => this.write())
    writing.catch(() => {})
    const subject = { path: this.path, what: 'not updated' }
    await limited(this.client, options, (signal) => orAborted(writing, signal), true, subject)
  }

  /**
   * Deletes the node, for good. Calling it again does nothing.
   *
   *     await member.release()
   */
  release(): Promise<void> {
    this.releasing ??= this.noteClearing(this.giveBack())
    return this.releasing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  // --- keeping the node --------------------------------------------------------------------------

  private async keep(begun: () => void): Promise<void> {
    while (!this.signal.aborted) {
      const created = await this.insist(() => this.make())
      if (this.signal.aborted) break
      const node = hold(this.client, created, { lostOn: 'expired' })
      this.node = node
      // A caller of `update` in the meantime relies on its data.
      while (this.written !== this.data && !node.signal.aborted)
        await this.insist(() => this.write())
      this.judge()
      begun()
      await new Promise<void>((resolve) => onAbort(node.signal, () => resolve()))
      this.judge()
      if (this.client.state.name === 'closed') throw new ClosedError({ path: this.path })
    }
    await this.sweep()
  }

  /** Deletes a node that was created after the caller stopped waiting. */
  private async sweep(): Promise<void> {
    const { client, path } = this
    const id = client.session?.id
    if (id === undefined) return
    const remove = async (): Promise<void> => {
      const stat = await client.exists(path, { consistency: 'session' })
      if (stat?.ephemeralOwner === id) await deleteMade(client, { path, stat })
    }
    // Without the permission to delete it, it stays until the end of the session.
    await giveBackIn(client, id, remove).catch(() => {})
  }

  /** Once created, it comes back even if the server refuses for a while. */
  private async insist<R>(act: () => Promise<R>): Promise<R> {
    for (;;) {
      try {
        return await persist(this.client, this.signal, act)
      } catch (error) {
        if (!mayEnd(error) || this.node === undefined) throw error
      }
      await pause(this.client.host, refusedPauseMs, this.signal)
    }
  }

  /** Rejects if the session or the connection is lost; then the caller tries again. */
  private async make(): Promise<Created> {
    for (;;) {
      const { signal } = this
      await orAborted(clearings.get(this.client)?.get(this.path) ?? Promise.resolve(), signal)
      await this.client.connected({ signal })
      const { session } = this.client
      // The connection may be lost again by now, and the session with it.
      if (session === undefined) continue
      this.ownSessions.add(session.id)
      const { data } = this
      try {
        const created = await this.client.create(this.path, data, { ephemeral: true })
        this.written = data
        return created
      } catch (error) {
        if (isRefusal(error, 'noNode')) await ensureParent(this.client, this.parent, { signal })
        else if (!isRefusal(error, 'nodeExists')) throw error
      }
      try {
        const own = await this.whoseIsIt()
        if (own !== undefined) return own
      } catch (error) {
        // It was deleted in the meantime: an earlier registration of this name may still be
        // cleaning up.
        if (!isRefusal(error, 'noNode')) throw error
      }
    }
  }

  /** The node if it belongs to this session; waits while it belongs to somebody else's. */
  private async whoseIsIt(): Promise<Created | undefined> {
    const { client, path, signal } = this
    const stat = await client.exists(path, { signal, consistency: 'session' })
    if (stat === undefined) return undefined
    if (stat.ephemeralOwner === client.session?.id) {
      const { data } = this
      await client.set(path, data)
      this.written = data
      return { path, stat }
    }
    if (this.ownSessions.has(stat.ephemeralOwner)) {
      // It belongs to a session that is over for us, though not yet on the server.
      await client.delete(path, { ifVersion: stat.version, signal }).catch((error: unknown) => {
        if (!isRefusal(error, 'noNode', 'badVersion')) throw error
      })
    } else await untilGone(client, path, signal)
    return undefined
  }

  /** A missing node is being created again with the new data. */
  private async write(): Promise<void> {
    const { node, data } = this
    if (node === undefined || node.signal.aborted) return
    try {
      await this.client.set(this.path, data)
      this.written = data
    } catch (error) {
      if (!isRefusal(error, 'noNode')) throw error
    }
  }

  private judge(): void {
    const isThere = this.node !== undefined && !this.node.signal.aborted
    const { name } = this.client.state
    const now = !isThere ? 'absent' : name === 'connected' ? 'present' : 'uncertain'
    if (now !== this.status.current) this.status.set(now)
  }

  private async giveBack(): Promise<void> {
    this.end(new LostError('released', this.path))
    await this.node?.release()
    await this.kept
  }

  private noteClearing(clearing: Promise<void>): Promise<void> {
    const { client, path } = this
    const paths = clearings.get(client) ?? new Map<string, Promise<unknown>>()
    clearings.set(client, paths)
    const all = Promise.allSettled([paths.get(path), clearing]).then(() => {
      if (paths.get(path) === all) paths.delete(path)
    })
    paths.set(path, all)
    return clearing
  }

  private end(reason: unknown): void {
    if (this.signal.aborted) return
    this.stopListening()
    this.status.set('absent')
    this.status.fail(undefined)
    this.ending.abort(lossOf(reason, this.path))
  }
}

function lossOf(reason: unknown, path: string): unknown {
  if (reason instanceof ClosedError) return new LostError('closed', path)
  if (reason instanceof SessionExpiredError) return new LostError('expired', path)
  if (reason instanceof ConnectionLossError) return new LostError('suspended', path)
  return reason
}
