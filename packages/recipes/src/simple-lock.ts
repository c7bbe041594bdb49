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
import { checkedOptions, holdNames, type LockOptions } from './turns/turn.ts'

/**
 * A lock that is one node with a fixed name: its creator has the lock, all others watch it. It is
 * easy to inspect and to remove by hand, but every release wakes all waiters, and nothing decides
 * which of them is next. For more than a few contenders use `Lock`.
 *
 *     const lock = new SimpleLock(client, '/locks/nightly')
 *     await lock.run((held) => work(held.token))
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

  /**
   * Waits until it is held.
   *
   *     await using held = await nightly.acquire({ timeoutMs: 10_000 })
   */
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
    return limited(client, options, wait, false, { path, what: 'not acquired', names: holdNames })
  }

  /**
   * Like `Lock.run`.
   *
   *     await nightly.run((held) => work(held.token))
   */
  run<T>(
    work: (held: Held) => Promise<T> | T,
    options: CallOptions & HoldOptions = {},
  ): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }

  /**
   * Undefined if somebody else has it.
   *
   *     await using held = await nightly.tryAcquire()
   *     if (held !== undefined) await work(held.token)
   */
  tryAcquire(options: CallOptions & HoldOptions = {}): Promise<Held | undefined> {
    const { client, path } = this
    const attempt = (signal: AbortSignal) => this.attempt(signal, options)
    return limited(client, options, attempt, false, { path, names: holdNames })
  }

  /** If the caller gives up, a lock that is still acquired is released. */
  private async attempt(signal: AbortSignal, options: HoldOptions): Promise<Held | undefined> {
    const lostOn = policyOf(options, this.options)
    const made = this.make().then((parts) => parts && this.held(parts, lostOn))
    return orAborted(made, signal).catch((error: unknown) => {
      made.then((held) => held?.release()).catch(() => {})
      throw error
    })
  }

  /**
   * The node with the fixed name lets one in at a time. The second, with a unique name, tells
   * whether a lost reply was a success. The third, a new version of the parent, distinguishes one
   * holder from the next if somebody deletes the first by hand.
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
        // Created by one transaction, both have the same zxid and owner.
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

  /** The version of the parent under this holder; undefined if it is not the holder any more. */
  private async versionOf({ node, stat }: Pick<Parts, 'node' | 'stat'>) {
    const parent = await readStat(this.client, this.path)
    // Read last: as long as the node is ours, no version is the next holder's.
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
  /** The version of the parent. */
  readonly version: number
}

/** Over any connection, even after the one that created the node was lost. */
async function readStat(client: Client, path: string): Promise<Stat | undefined> {
  for (;;) {
    try {
      return await client.exists(path, { consistency: 'session' })
    } catch (error) {
      if (error instanceof ConnectionLossError) continue
      // A server that cannot answer now will be able to later; and an earlier request may still be
      // executed.
      if (!isRefusal(error) || isRefusal(error, 'noAuth')) throw error
    }
    await pause(client.host, refusedPauseMs)
  }
}
