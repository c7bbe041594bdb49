import type { Client } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { lockLine, TurnLock } from './turns/turn-lock.ts'
import { checkedOptions, type LockOptions } from './turns/turn.ts'

/**
 * A lock for one holder at a time, in the order of calls. Each waiter watches the one before it, so
 * that a release wakes a single waiter. The layout is that of Curator's InterProcessMutex, and
 * kazoo's locks on the same path count as well.
 *
 *     const lock = new Lock(client, '/locks/printer')
 *     await lock.run((held) => print({ signal: held.signal }), { timeoutMs: 5000 })
 */
export class Lock extends TurnLock {
  constructor(client: Client, path: string, options: LockOptions = {}) {
    super(client, lockLine(checkPath(path)), checkedOptions(client, 'Lock', options))
  }
}
