import { joinPath, type CallOptions, type Client } from '@zabra/client'
import { lineUpIfAny } from './contenders.ts'
import type { Held, HoldOptions } from '../holding/held.ts'
import { runHeld } from '../holding/run-held.ts'
import { takeTurn, tryTurn, type Line, type LockOptions, type TurnOptions } from './turn.ts'

/** The parts that waiting for a right needs. */
export type AcquireOptions = TurnOptions

/** A right that contenders get in the order of a line: a lock, or one side of a read/write lock. */
export class TurnLock {
  protected readonly client: Client
  protected readonly options: LockOptions
  protected readonly line: Line

  /** The options are checked already. */
  constructor(client: Client, line: Line, options: LockOptions) {
    this.client = client.patient
    this.options = options
    this.line = line
  }

  /**
   * Waits until it is held. Not reentrant: a second `acquire` of the same program waits for the
   * first.
   *
   *     await using held = await lock.acquire({ timeoutMs: 10_000 })
   */
  acquire(options: AcquireOptions = {}): Promise<Held> {
    return takeTurn(this.client, this.line, this.options, options)
  }

  /**
   * Undefined if others hold it, or wait for it.
   *
   *     await using held = await lock.tryAcquire()
   *     if (held !== undefined) await work(held.token)
   */
  tryAcquire(options: CallOptions & HoldOptions = {}): Promise<Held | undefined> {
    return tryTurn(this.client, this.line, this.options, options)
  }

  /**
   * Waits until it is held, does the work, and releases it. Rejects with a LostError if it was lost
   * before the work ended.
   *
   *     await lock.run(async (held) => {
   *       await held.guard(client.transaction().set('/stock', '41')).commit()
   *     })
   */
  run<T>(work: (held: Held) => Promise<T> | T, options: AcquireOptions = {}): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }

  /**
   * The paths of the holders and waiters, in order.
   *
   *     console.log((await lock.queue()).length)
   */
  async queue(options: CallOptions = {}): Promise<string[]> {
    const { parent, marks } = this.line
    const all = await lineUpIfAny(this.client, parent, marks, options)
    return all.map(({ name }) => joinPath(parent, name))
  }
}

/** The line of a `Lock`. */
export function lockLine(parent: string): Line {
  return {
    parent,
    name: 'lock-',
    // Curator's and ours, kazoo's.
    marks: ['lock-', '__lock__'],
    blockerOf: (ahead) => ahead.at(-1),
  }
}
