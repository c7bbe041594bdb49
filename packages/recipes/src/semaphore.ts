import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  SessionExpiredError,
  type CallOptions,
  type Client,
} from '@zabra/client'
import { checkCount, checkPath } from '@zabra/client/internal'
import { childrenAndWait } from './waiting/until-changed.ts'
import {
  HeldByNode,
  LostError,
  policyOf,
  type Held,
  type HoldOptions,
  type LossPolicy,
} from './holding/held.ts'
import { holdAll } from './hold-all.ts'
import { limited, underAll } from './waiting/limits.ts'
import { lockLine } from './turns/turn-lock.ts'
import { below } from './nodes/parents.ts'
import { runHeld } from './holding/run-held.ts'
import {
  checkedOptions,
  holdNames,
  takeTurn,
  tryTurn,
  turnNames,
  waiterError,
  type LockOptions,
  type TurnOptions,
} from './turns/turn.ts'

export interface PermitOptions {
  /** Number of permits to acquire; 1 by default. */
  readonly permits?: number | undefined
}

/**
 * A number of permits, in the order of calls. To acquire, it takes the lock under `locks`, creates
 * nodes under `leases`, and keeps the lock until they fit: so only one waits for leases to be
 * released, the others queue behind it. The layout is that of Curator's InterProcessSemaphoreV2.
 *
 *     const downloads = new Semaphore(client, '/downloads', 3) // three at a time
 *     await downloads.run((permit) => download({ signal: permit.signal }))
 */
export class Semaphore {
  private readonly client: Client
  private readonly path: string
  private readonly leases: string
  private readonly locks: string
  private readonly permits: number
  private readonly options: LockOptions

  /** All users of the same path must agree on the number of permits. */
  constructor(client: Client, path: string, permits: number, options: LockOptions = {}) {
    this.client = client.patient
    this.path = checkPath(path)
    this.locks = joinPath(path, 'locks')
    this.leases = joinPath(path, 'leases')
    this.permits = checkCount(permits, 'permits')
    this.options = checkedOptions(client, 'Semaphore', options)
  }

  /**
   * Several permits are acquired together or not at all; a request for many is not overtaken.
   *
   *     await using permit = await downloads.acquire({ permits: 2, timeoutMs: 5000 })
   */
  acquire(options: TurnOptions & PermitOptions = {}): Promise<Held> {
    const { permits = 1 } = options
    if (!this.canGrant(permits)) return Promise.reject(this.badCount(permits))
    const wait = async (signal: AbortSignal): Promise<Held> => {
      const lostOn = policyOf(options, this.options)
      for (;;) {
        try {
          return await this.queueOnce(permits, signal, lostOn)
        } catch (error) {
          if (!(error instanceof SessionExpiredError) || options.requeue !== true) throw error
          if (this.client.state.name === 'closed') throw error
        }
      }
    }
    const names = { ...turnNames, permits: true } as const
    const subject = { path: this.path, what: 'not acquired', names }
    return limited(this.client, options, wait, false, subject)
  }

  /**
   * Like `Lock.run`.
   *
   *     await downloads.run((permit) => download({ signal: permit.signal }))
   */
  run<T>(
    work: (held: Held) => Promise<T> | T,
    options: TurnOptions & PermitOptions = {},
  ): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }

  /**
   * Undefined if there are too few, or somebody waits for some.
   *
   *     await using permit = await downloads.tryAcquire()
   *     if (permit !== undefined) await download({ signal: permit.signal })
   */
  tryAcquire(options: CallOptions & HoldOptions & PermitOptions = {}): Promise<Held | undefined> {
    const { permits = 1 } = options
    if (!this.canGrant(permits)) return Promise.reject(this.badCount(permits))
    const attempt = async (signal: AbortSignal): Promise<Held | undefined> => {
      const lostOn = policyOf(options, this.options)
      const lock = await tryTurn(this.client, lockLine(this.locks), this.options, { signal })
      if (lock === undefined) return undefined
      try {
        if (this.permits - (await this.taken({ signal })) < permits) return undefined
        return await this.lease(permits, signal, lostOn)
      } finally {
        lock.release().catch(() => {})
      }
    }
    const names = { ...holdNames, permits: true } as const
    return limited(this.client, options, attempt, false, { path: this.path, names })
  }

  /**
   * Number of free permits; negative if somebody waits.
   *
   *     console.log(await downloads.free())
   */
  async free(options: CallOptions = {}): Promise<number> {
    return this.permits - (await this.taken(options))
  }

  private async queueOnce(permits: number, signal: AbortSignal, lostOn: LossPolicy): Promise<Held> {
    const queueing = { signal, lostOn: 'expired' } as const
    const lock = await takeTurn(this.client, lockLine(this.locks), this.options, queueing)
    try {
      return await underAll([signal, lock.signal], (either) => this.lease(permits, either, lostOn))
    } catch (error) {
      throw await waiterError(this.client, lock, error, signal)
    } finally {
      lock.release().catch(() => {})
    }
  }

  private canGrant(permits: number): boolean {
    return Number.isInteger(permits) && permits > 0 && permits <= this.permits
  }

  private badCount(permits: number): RangeError {
    return new RangeError(`there are ${this.permits} permits, ${permits} cannot be acquired`)
  }

  private async taken(options: CallOptions): Promise<number> {
    try {
      return (await this.client.children(this.leases, options)).length
    } catch (error) {
      if (isRefusal(error, 'noNode')) return 0
      throw error
    }
  }

  private async lease(count: number, signal: AbortSignal, lostOn: LossPolicy): Promise<Held> {
    const made: HeldByNode[] = []
    try {
      while (made.length < count) made.push(await this.makeLease(signal))
      const signals = made.map((lease) => lease.signal)
      await underAll([signal, ...signals], (either) => this.untilTheyFit(made, either))
      for (const lease of made) lease.judgeBy(lostOn)
      const [first, ...others] = made
      return holdAll(first!, ...others)
    } catch (error) {
      for (const lease of made) lease.release().catch(() => {})
      throw made[0] === undefined ? error : await waiterError(this.client, made[0], error, signal)
    }
  }

  private async makeLease(signal: AbortSignal): Promise<HeldByNode> {
    const { client, leases } = this
    const { id = '', acl } = this.options
    const options = { ephemeral: true, sequential: true, protect: true, acl, signal }
    const create = () => client.create(joinPath(leases, 'lease-'), id, options)
    return new HeldByNode(client, await below(client, leases, { signal, acl }, create))
  }

  private async untilTheyFit(made: readonly HeldByNode[], signal: AbortSignal): Promise<void> {
    const { client, leases, permits } = this
    const areTooMany = (names: readonly string[]): boolean => names.length > permits
    for (;;) {
      if (signal.aborted) throw signal.reason
      try {
        // Without a watch first: if the permit is free, no watch is needed.
        const names = await client.children(leases, { signal })
        const lost = made.find(({ path }) => !names.some((name) => path.endsWith(`/${name}`)))
        if (lost !== undefined) throw new LostError('deleted', lost.path)
        if (areTooMany(names)) await childrenAndWait(client, leases, signal, areTooMany)
        else if (client.state.name === 'connected') return
      } catch (error) {
        if (!(error instanceof ConnectionLossError)) throw error
      }
    }
  }
}
