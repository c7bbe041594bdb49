import { joinPath, type CallOptions, type Client } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { lineUpIfAny } from './contenders.ts'
import type { Held, HoldOptions } from './held.ts'
import {
  checkedOptions,
  takeTurn,
  tryTurn,
  type Line,
  type LockOptions,
  type TurnOptions,
} from './turn.ts'

/** What waiting for a right takes. */
export type AcquireOptions = TurnOptions

/**
 * A lock that one holds at a time, in the order of asking. Each waits for the one before, so that
 * a release wakes a single waiter. The layout is that of Curator's InterProcessMutex, and kazoo's
 * locks on the same path count as well.
 */
export class Lock {
  private readonly client: Client
  private readonly options: LockOptions
  private readonly line: Line

  constructor(client: Client, path: string, options: LockOptions = {}) {
    this.client = client.patient
    this.options = checkedOptions(options)
    this.line = lockLine(checkPath(path))
  }

  /** Waits until it is held. Not reentrant: who asks twice waits for themselves. */
  acquire(options: AcquireOptions = {}): Promise<Held> {
    return takeTurn(this.client, this.line, this.options, options)
  }

  /** Undefined where somebody else has it. */
  tryAcquire(options: CallOptions & HoldOptions = {}): Promise<Held | undefined> {
    return tryTurn(this.client, this.line, this.options, options)
  }

  /** The paths of the holder and of those who wait, in order. */
  async queue(options: CallOptions = {}): Promise<string[]> {
    const { parent, marks } = this.line
    const all = await lineUpIfAny(this.client, parent, marks, options)
    return all.map(({ name }) => joinPath(parent, name))
  }
}

export function lockLine(parent: string): Line {
  return {
    parent,
    name: 'lock-',
    // Curator's and ours, kazoo's.
    marks: ['lock-', '__lock__'],
    blockerOf: (ahead) => ahead.at(-1),
  }
}
