import type { CallOptions, Client } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { HeldByNode, policyOf, type Held, type HoldOptions } from './holding/held.ts'
import { holdAll } from './hold-all.ts'
import { limited, underAll } from './waiting/limits.ts'
import { runHeld } from './holding/run-held.ts'
import { lockLine, type AcquireOptions } from './turns/turn-lock.ts'
import {
  checkedOptions,
  holdNames,
  takePlace,
  tryTurn,
  turnNames,
  waiterError,
  type LockOptions,
} from './turns/turn.ts'

/** Several locks that are held together. */
export interface HeldLocks extends Held {
  /** The largest of the tokens: it grows among holders of the same locks. */
  readonly token: bigint
  /** Each lock by its path. Resources protected by one of them check the token of that one. */
  readonly locks: ReadonlyMap<string, Held>
}

/**
 * Several locks as one. They are acquired in the order of their paths, however they are listed, so
 * programs that want the same locks never deadlock. Each is a `Lock`, and may also be acquired
 * alone.
 *
 *     const both = new MultiLock(client, ['/accounts/ann', '/accounts/bob'])
 *     await both.run((held) => transfer(held))
 */
export class MultiLock {
  /** In the order of acquisition. */
  readonly paths: readonly string[]
  private readonly client: Client
  private readonly options: LockOptions

  constructor(client: Client, paths: readonly string[], options: LockOptions = {}) {
    this.client = client.patient
    this.paths = [...new Set(paths.map((path) => checkPath(path)))].toSorted()
    if (this.paths.length === 0) throw new TypeError('paths is empty')
    this.options = checkedOptions(client, 'MultiLock', options)
  }

  /**
   * Waits until all are held. If one is lost in the meantime, all are released, and it rejects.
   *
   *     await using held = await accounts.acquire({ timeoutMs: 5000 })
   *     console.log(held.locks.get('/accounts/ann')?.token)
   */
  acquire(options: AcquireOptions = {}): Promise<HeldLocks> {
    const { client, paths } = this
    const act = async (signal: AbortSignal): Promise<HeldLocks> => {
      const lostOn = policyOf(options, this.options)
      const places: HeldByNode[] = []
      try {
        for (const path of paths) {
          const signals = [signal, ...places.map((place) => place.signal)]
          const { requeue } = options
          const take = (either: AbortSignal) =>
            takePlace(client, lockLine(path), this.options, {
              signal: either,
              // The others are lost with the session too: then all are acquired again.
              requeue: requeue === true && places.length === 0,
            })
          places.push(await underAll(signals, take))
        }
      } catch (error) {
        giveBack(places)
        const [first] = places
        throw first === undefined ? error : await waiterError(client, first, error, signal)
      }
      return this.holding(places.map((place) => place.judgeBy(lostOn)))
    }
    const subject = { path: paths.join(), what: 'not all acquired', names: turnNames }
    return limited(client, options, act, false, subject)
  }

  /**
   * Undefined if somebody else has one of them, or waits for it.
   *
   *     await using held = await accounts.tryAcquire()
   *     if (held !== undefined) await transfer(held)
   */
  tryAcquire(options: CallOptions & HoldOptions = {}): Promise<HeldLocks | undefined> {
    const { client, paths } = this
    const act = async (signal: AbortSignal): Promise<HeldLocks | undefined> => {
      const lostOn = policyOf(options, this.options)
      const held: HeldByNode[] = []
      try {
        for (const path of paths) {
          const one = await tryTurn(client, lockLine(path), this.options, { signal, lostOn })
          if (one === undefined) break
          held.push(one)
        }
      } catch (error) {
        giveBack(held)
        throw error
      }
      if (held.length === paths.length) return this.holding(held)
      giveBack(held)
      return undefined
    }
    return limited(client, options, act, false, { path: paths.join(), names: holdNames })
  }

  /**
   * Like `Lock.run`.
   *
   *     await accounts.run((held) => transfer(held), { timeoutMs: 5000 })
   */
  run<T>(work: (held: HeldLocks) => Promise<T> | T, options: AcquireOptions = {}): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }

  /** In the order of the paths. */
  private holding(all: readonly HeldByNode[]): HeldLocks {
    const [first, ...others] = all
    const locks = new Map(this.paths.map((path, i) => [path, all[i]!]))
    return Object.assign(holdAll(first!, ...others), { locks })
  }
}

/** In the background: the caller need not wait for a connection. */
function giveBack(all: readonly Held[]): void {
  for (const held of all) held.release().catch(() => {})
}
