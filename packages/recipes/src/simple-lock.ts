import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  type CallOptions,
  type Client,
  type Stat,
} from '@zabra/client'
import { checkPath, makeGuid, pause } from '@zabra/client/internal'
import { untilGone } from './waiting/until-changed.ts'
import { hold, policyOf, type Held, type HoldOptions, type LossPolicy } from './holding/held.ts'
import { deleteOwn, giveBackIn } from './nodes/give-back.ts'
import { limited, orAborted } from './waiting/limits.ts'
import { persist } from './nodes/node.ts'
import { ensureParent } from './nodes/parents.ts'
import { refusedPauseMs } from './waiting/pause.ts'
import { runHeld } from './holding/run-held.ts'
import { checkedOptions, type LockOptions } from './turns/turn.ts'

/**
 * A lock that is one node of a fixed name: who makes it has the lock, all others watch it. Simple
 * to look at and to take away by hand, but every release wakes all who wait, and nothing says who
 * of them is next. For more than a few contenders use `Lock`.
 */
export class SimpleLock {
  private readonly client: Client
  private readonly path: string
  private readonly options: LockOptions

  constructor(client: Client, path: string, options: LockOptions = {}) {
    this.client = client.patient
    this.path = checkPath(path)
    this.options = checkedOptions(client, 'SimpleLock', options)
  }

  acquire(options: CallOptions & HoldOptions = {}): Promise<Held> {
    const { client, path } = this
    const node = joinPath(path, 'held')
    const wait = async (signal: AbortSignal): Promise<Held> => {
      for (;;) {
        const held = await this.attempt(signal, options)
        if (held !== undefined) return held
        await persist(client, signal, () => untilGone(client, node, signal))
      }
    }
    return limited(client, options, wait, false, { path, what: 'not acquired' })
  }

  /** As `Lock.run`. */
  run<T>(
    work: (held: Held) => Promise<T> | T,
    options: CallOptions & HoldOptions = {},
  ): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }

  /** Undefined where somebody else has it. */
  tryAcquire(options: CallOptions & HoldOptions = {}): Promise<Held | undefined> {
    const { client, path } = this
    return limited(client, options, (signal) => this.attempt(signal, options), false, { path })
  }

  /** Who gives up meanwhile gives back what comes of it. */
  private async attempt(signal: AbortSignal, options: HoldOptions): Promise<Held | undefined> {
    const lostOn = policyOf(options, this.options)
    const made = this.make().then((parts) => parts && this.held(parts, lostOn))
    return orAborted(made, signal).catch((error: unknown) => {
      made.then((held) => held?.release()).catch(() => {})
      throw error
    })
  }

  /**
   * The node of the fixed name lets one in at a time. The second, whose name is the holder's own,
   * tells whether a lost reply was a success. The third, a new version of the parent, tells one
   * holder from the next, should somebody delete the first by hand.
   */
  private async make(): Promise<Parts | undefined> {
    const { client, path } = this
    const own = joinPath(path, `holder-${makeGuid(() => client.host.random())}`)
    const node = joinPath(path, 'held')
    const { id = '', acl } = this.options
    for (;;) {
      try {
        const [, , { version }] = await client
          .transaction()
          .create(node, id, { ephemeral: true, acl })
          .create(own, '', { ephemeral: true, acl })
          .set(path, id)
          .commit()
        // Made by one transaction, both have the same zxid and owner.
        const stat = await readStat(client, own)
        return stat && { node, own, stat, version }
      } catch (error) {
        if (error instanceof ConnectionLossError) {
          const parts = await this.find(node, own)
          if (parts !== undefined) return parts
        } else if (isRefusal(error, 'noNode')) await ensureParent(client, path, { acl })
        else if (isRefusal(error, 'nodeExists')) return undefined
        else throw error
      }
    }
  }

  private async find(node: string, own: string): Promise<Parts | undefined> {
    const { client } = this
    const stat = await readStat(client, own)
    if (stat === undefined) return undefined
    const version = await this.versionOf({ node, stat })
    if (version !== undefined) return { node, own, stat, version }
    await deleteOwn(client, own, stat.ephemeralOwner)
    return undefined
  }

  /** The version that the parent has under this holder; undefined where it is the holder no more. */
  private async versionOf({ node, stat }: Pick<Parts, 'node' | 'stat'>) {
    const parent = await readStat(this.client, this.path)
    // Looked at last: as long as it is ours, no version is the next holder's.
    const first = await readStat(this.client, node)
    return first?.czxid === stat.czxid ? parent?.version : undefined
  }

  private held(parts: Parts, lostOn: LossPolicy): Held {
    const { client, path } = this
    const { node, own, stat, version } = parts
    const checks = [{ path, version }, { path: node }, { path: own }]
    const giveBack = (): Promise<void> => this.giveBack(parts)
    return hold(client, { path: node, stat, checks, giveBack }, { lostOn })
  }

  private giveBack(parts: Parts): Promise<void> {
    const { client, path } = this
    const { node, own, stat } = parts
    const sessionId = stat.ephemeralOwner
    let version: number | undefined = parts.version
    let isOwnThere = true
    return giveBackIn(client, sessionId, async () => {
      while (version !== undefined) {
        const transaction = client.transaction().check(path, version).delete(node)
        try {
          await (isOwnThere ? transaction.delete(own) : transaction).commit()
          return
        } catch (error) {
          if (!isRefusal(error, 'noNode', 'badVersion')) throw error
          if (error.path === own) isOwnThere = false
        }
        // Somebody has set the parent's data, or deleted a node: it may be the next holder's.
        version = await this.versionOf(parts)
      }
      await deleteOwn(client, own, sessionId)
    })
  }
}

interface Parts {
  readonly node: string
  readonly own: string
  readonly stat: Stat
  /** Of the parent. */
  readonly version: number
}

/** Over whatever connection there is, also where one was lost since the node was made. */
async function readStat(client: Client, path: string): Promise<Stat | undefined> {
  for (;;) {
    try {
      return await client.exists(path, { consistency: 'session' })
    } catch (error) {
      if (error instanceof ConnectionLossError) continue
      // A server that cannot tell now will be able to later; and what it had begun may come to be.
      if (!isRefusal(error) || isRefusal(error, 'noAuth')) throw error
    }
    await pause(client.host, refusedPauseMs)
  }
}
