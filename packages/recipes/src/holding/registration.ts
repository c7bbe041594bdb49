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
import { refusedPauseMs } from '../waiting/pause.ts'

/**
 * Whether others see the node. `present`: it is there. `uncertain`: the connection is lost, the
 * node stays until the session expires. `absent`: it is gone, and comes back with the next session.
 */
export type Presence = 'present' | 'uncertain' | 'absent'

/**
 * What is being given back, by its path: the next registration of the name waits for that, as a
 * node of the same session would be taken for what is to be cleared up.
 */
const clearings = new WeakMap<Client, Map<string, Promise<unknown>>>()

/** An ephemeral node under a name of its own, made anew in each session, until it is released. */
export class Registration<T> implements Held {
  readonly path: string
  readonly name: string
  private readonly client: Client
  private readonly parent: string
  private readonly codec: Codec<T>
  private data: Uint8Array
  /** What the node was made or set with last. */
  private written: Uint8Array | undefined
  private readonly ending = new AbortController()
  private readonly status: LiveCell<Presence>
  private readonly stopListening: () => void
  /** All sessions that this client had since; a node that one of them left may be taken over. */
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

  /** Resolves when the node is there for the first time; who gives up leaves nothing behind. */
  async registered(signal: AbortSignal): Promise<void> {
    try {
      await orAborted(this.first, signal)
    } catch (error) {
      this.release().catch(() => {})
      throw error
    }
  }

  /** Of the node in its present session, or in the last one. */
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

  guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded {
    const { path } = this
    const assert = (): void => this.signal.throwIfAborted()
    const failed = (refusal: TransactionError): LostError => new LostError('deleted', path, refusal)
    transaction.guardedBy({ checks: [{ path }], assert, failed })
    return transaction
  }

  /**
   * Changes what the node holds, in this session and in those to come. Whoever gives up waiting
   * takes nothing back: it is written as soon as that can be.
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

  release(): Promise<void> {
    this.releasing ??= this.noteClearing(this.giveBack())
    return this.releasing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  // --- keeping it ------------------------------------------------------------------------------

  private async keep(begun: () => void): Promise<void> {
    while (!this.signal.aborted) {
      const created = await this.insist(() => this.make())
      if (this.signal.aborted) break
      const node = hold(this.client, created, { lostOn: 'expired' })
      this.node = node
      // Who said something else meanwhile has relied on this.
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

  /** A node that came to be when nobody waited for it any more must not stay. */
  private async sweep(): Promise<void> {
    const { client, path } = this
    const id = client.session?.id
    if (id === undefined) return
    const remove = async (): Promise<void> => {
      const stat = await client.exists(path, { consistency: 'session' })
      if (stat?.ephemeralOwner === id) await deleteMade(client, { path, stat })
    }
    // Whoever may not delete it leaves it to the end of the session.
    await giveBackIn(client, id, remove).catch(() => {})
  }

  /** Who was there once comes back, also where the server refuses for a while. */
  private async insist<R>(act: () => Promise<R>): Promise<R> {
    for (;;) {
      try {
        return await persist(this.client, this.signal, act)
      } catch (error) {
        const isForever = !isRefusal(error) || isRefusal(error, 'noAuth')
        if (isForever || this.node === undefined) throw error
      }
      await pause(this.client.host, refusedPauseMs, this.signal)
    }
  }

  /** Rejects where the session or the connection is lost over it: then it is tried again. */
  private async make(): Promise<Created> {
    for (;;) {
      const { signal } = this
      await orAborted(clearings.get(this.client)?.get(this.path) ?? Promise.resolve(), signal)
      await this.client.connected({ signal })
      const { session } = this.client
      // The connection that was waited for may be lost by now, and the session with it.
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
        // It went meanwhile: an earlier registration of this name may still be clearing up.
        if (!isRefusal(error, 'noNode')) throw error
      }
    }
  }

  /** The node, where it is this session's; where it is somebody else's, waits until it goes. */
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
      // Left by a session that is over for us, though not yet for the server.
      await client.delete(path, { ifVersion: stat.version, signal }).catch((error: unknown) => {
        if (!isRefusal(error, 'noNode', 'badVersion')) throw error
      })
    } else await untilGone(client, path, signal)
    return undefined
  }

  /** Where the node is not there, it is being made anew with what it shall hold. */
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
