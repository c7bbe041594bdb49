import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  json,
  parentPath,
  retry,
  settle,
  text,
  type AnyTransaction,
  type CallOptions,
  type Client,
  type Stat,
} from '@zabra/client'
import { checkOptionNames, checkPath, makeGuid, pause } from '@zabra/client/internal'
import { LostError, type Held, type LossReason } from './holding/held.ts'
import { limited, underAll } from './waiting/limits.ts'
import { ensureParent } from './nodes/parents.ts'
import { runHeld } from './holding/run-held.ts'
import { untilChanged } from './waiting/until-changed.ts'

export interface LeaseOptions {
  /**
   * The id of the holder. A restarted program with the same id continues its lease, so no other
   * program may use that id.
   */
  readonly id: string
  /** How long the lease survives its last renewal. */
  readonly ttlMs: number
}

/** The content of the node: the holder, or nobody. */
interface Terms {
  readonly id: string | null
  readonly ttlMs: number
}

const codec = json<Terms>()
const renewalsPerTtl = 3
/**
 * Timers may fire a fraction of a millisecond early: stopping early is better than checking again
 * and again.
 */
const deadlineSlackMs = 1

/**
 * A right that survives sessions, and restarts of its holder: a persistent node with the holder's
 * name, and a beat that the holder changes again and again. A waiter takes the lease over when the
 * beat has not changed for the whole duration of the lease by the waiter's own clock, in a
 * transaction that fails if it has. No clock is compared with another; they must run equally fast.
 *
 *     const lease = new Lease(client, '/leases/batch', { id: 'batch-1', ttlMs: 30_000 })
 *     await lease.run((held) => work(held.token, held.signal))
 */
export class Lease {
  private readonly client: Client
  private readonly path: string
  private readonly beat: string
  private readonly id: string
  private readonly ttlMs: number

  constructor(client: Client, path: string, options: LeaseOptions) {
    checkOptionNames('Lease', options, { id: true, ttlMs: true })
    const { id, ttlMs } = options
    if (typeof id !== 'string' || id === '') throw new TypeError('id is the name of the holder')
    if (!Number.isFinite(ttlMs) || ttlMs <= 0)
      throw new RangeError(`ttlMs is a number of milliseconds, not ${ttlMs}`)
    this.client = client.patient
    this.path = checkPath(path)
    this.beat = joinPath(path, 'beat')
    this.id = id
    this.ttlMs = ttlMs
  }

  /**
   * Waits until it is held: until it is free, or its holder has been silent for its duration.
   *
   *     await using held = await lease.acquire({ timeoutMs: 60_000 })
   */
  acquire(options: CallOptions = {}): Promise<Held> {
    const { client, path } = this
    const act = async (signal: AbortSignal): Promise<Held> => {
      for (;;) {
        const held = await retry(client, () => this.attempt(signal), { signal })
        if (held !== undefined) return held
      }
    }
    return limited(client, options, act, false, { path, what: 'not acquired' })
  }

  /**
   * Like `Lock.run`.
   *
   *     await lease.run((held) => work(held.token, held.signal))
   */
  run<T>(work: (held: Held) => Promise<T> | T, options: CallOptions = {}): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }

  /**
   * The holder, as far as this client's server knows; it may have been silent for long.
   *
   *     console.log((await lease.holder()) ?? 'nobody has it')
   */
  async holder(options: CallOptions = {}): Promise<string | undefined> {
    const found = await this.client.find(this.path, { ...options, codec })
    return found?.data.id ?? undefined
  }

  /** Reads once, waits for a change or for the time to pass, and takes the lease if it may. */
  private async attempt(signal: AbortSignal): Promise<Held | undefined> {
    const { client, path, beat, id } = this
    await this.ensure(signal)
    await client.sync(path, { signal })
    const { data: terms, stat } = await client.get(path, { codec, signal })
    const beatStat = await client.exists(beat, { signal, consistency: 'session' })
    if (beatStat === undefined) return undefined
    const mayTake =
      terms.id === null || terms.id === id || (await this.isSilent(terms, stat, beatStat, signal))
    return mayTake ? this.takeOver(stat, beatStat, signal) : undefined
  }

  /** Whether neither the holder nor its beat changes for the whole duration. */
  private async isSilent(
    terms: Terms,
    stat: Stat,
    beatStat: Stat,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, path, beat } = this
    const late = new AbortController()
    const cancel = client.host.timer(Math.max(terms.ttlMs, this.ttlMs), () => late.abort())
    try {
      await underAll([signal, late.signal], (either) =>
        Promise.race([
          untilChanged(client, path, either, (node) => node.stat.version === stat.version),
          untilChanged(client, beat, either, (node) => node.stat.version === beatStat.version),
        ]),
      )
      return false
    } catch (error) {
      if (!late.signal.aborted || signal.aborted) throw error
      return true
    } finally {
      cancel()
      late.abort()
    }
  }

  /** Undefined if somebody else was quicker, or the holder is not silent after all. */
  private async takeOver(
    stat: Stat,
    beatStat: Stat,
    signal: AbortSignal,
  ): Promise<Held | undefined> {
    const { client, path, beat, id, ttlMs } = this
    const version = stat.version + 1
    const beginMs = client.nowMs()
    // Part of the beat, so that a lost reply is distinguished from somebody else's success.
    const guid = makeGuid(() => client.host.random())
    const take = async (): Promise<true> => {
      await client
        .transaction()
        .set(path, { id, ttlMs }, { codec, ifVersion: stat.version })
        .set(beat, guid, { ifVersion: beatStat.version })
        .commit({ signal })
      return true
    }
    const look = async (): Promise<true | undefined> => {
      const { data } = await client.get(beat, { codec: text, signal, consistency: 'session' })
      return data === guid ? true : undefined
    }
    try {
      await settle(client, take, { signal, look })
    } catch (error) {
      if (isRefusal(error, 'badVersion', 'noNode')) return undefined
      throw error
    }
    const now = await client.exists(path, { signal, consistency: 'session' })
    if (now?.version !== version) return undefined
    const parts = { path, beat, version, token: now.mzxid, ttlMs, beginMs }
    return new HeldLease(client, parts)
  }

  private async ensure(signal: AbortSignal): Promise<void> {
    const { client, path, beat, ttlMs } = this
    if ((await client.exists(beat, { signal })) !== undefined) return
    await ensureParent(client, parentPath(path), { signal })
    const nodes = [
      () => client.create(path, { id: null, ttlMs }, { codec, signal }),
      () => client.create(beat, '', { signal }),
    ]
    for (const create of nodes) {
      try {
        await create()
      } catch (error) {
        if (!isRefusal(error, 'nodeExists')) throw error
      }
    }
  }
}

interface LeaseParts {
  readonly path: string
  readonly beat: string
  /** The version of the node: it changes as soon as somebody else holds the lease. */
  readonly version: number
  readonly token: bigint
  readonly ttlMs: number
  /** The latest time at which the transaction that took it was sent. */
  readonly beginMs: number
}

/** A lease until it is released, or could not be renewed in time. */
class HeldLease implements Held {
  readonly token: bigint
  readonly path: string
  private readonly client: Client
  private readonly parts: LeaseParts
  private readonly controller = new AbortController()
  private untilMs: number
  private cancelDeadline = (): void => {}
  private readonly stopListening: () => void
  private readonly renewing: Promise<void>
  private releasing: Promise<void> | undefined

  constructor(client: Client, parts: LeaseParts) {
    this.client = client
    this.parts = parts
    this.path = parts.path
    this.token = parts.token
    this.untilMs = parts.beginMs + parts.ttlMs
    this.stopListening = client.onClosing(() => this.lose('closed'))
    this.watchDeadline()
    this.renewing = this.renew().catch(() => {})
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  get deadlineMs(): number {
    return this.signal.aborted ? 0 : this.untilMs
  }

  guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded {
    const { path, version } = this.parts
    transaction.guardedBy({
      checks: [{ path, version }],
      chroot: this.client.chroot,
      assert: () => this.signal.throwIfAborted(),
      failed: (refusal) => new LostError('deleted', path, refusal),
    })
    return transaction
  }

  release(): Promise<void> {
    this.releasing ??= this.giveBack()
    return this.releasing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  private watchDeadline(): void {
    this.cancelDeadline()
    if (this.signal.aborted) return
    const { client } = this
    const leftMs = (): number => this.untilMs - deadlineSlackMs - client.nowMs()
    this.cancelDeadline = client.host.timer(Math.max(0, leftMs()), () => {
      if (leftMs() <= deadlineSlackMs) this.lose('expired')
      else this.watchDeadline()
    })
  }

  private async renew(): Promise<void> {
    const { client, signal } = this
    const { path, beat, version, ttlMs } = this.parts
    for (;;) {
      await pause(client.host, ttlMs / renewalsPerTtl, signal)
      const sentAtMs = client.nowMs()
      const timeoutMs = Math.max(0, this.untilMs - sentAtMs)
      try {
        const beats = client.transaction().check(path, version).set(beat, '')
        await beats.commit({ signal, timeoutMs })
        this.untilMs = sentAtMs + ttlMs
        this.watchDeadline()
      } catch (error) {
        if (isRefusal(error, 'noNode', 'badVersion')) this.lose('deleted')
        // Retries until the deadline, over any connection, in any session.
        if (error instanceof ConnectionLossError) await client.connected({ signal })
      }
    }
  }

  private lose(reason: LossReason): void {
    if (this.signal.aborted) return
    this.cancelDeadline()
    this.stopListening()
    this.controller.abort(new LostError(reason, this.path))
  }

  private async giveBack(): Promise<void> {
    const wasLost = this.signal.aborted
    this.lose('released')
    await this.renewing
    if (wasLost) return
    const { client, parts } = this
    const { path, version, ttlMs } = parts
    const free = (limits: CallOptions) =>
      client.set(path, { id: null, ttlMs }, { ...limits, codec, ifVersion: version })
    try {
      await settle(client, free, { done: 'badVersion', timeoutMs: ttlMs })
    } catch (error) {
      // It expires by itself, or belongs to somebody else already.
      if (!isRefusal(error, 'noNode', 'badVersion')) throw error
    }
  }
}
