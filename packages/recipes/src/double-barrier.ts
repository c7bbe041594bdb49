import { isRefusal, joinPath, type CallOptions, type Children, type Client } from '@zabra/client'
import { checkCount, checkPath } from '@zabra/client/internal'
import { untilChanged, untilThere } from './waiting/until-changed.ts'
import { HeldByNode, policyOf, type Held, type HoldOptions } from './holding/held.ts'
import { overOneConnection, persist } from './nodes/node.ts'
import { limited, orAborted, underAll } from './waiting/limits.ts'
import { below } from './nodes/parents.ts'
import { checkedOptions, holdNames, waiterError, type LockOptions } from './turns/turn.ts'

/** A member's stay inside the barrier. */
export interface Inside extends Held {
  /**
   * Leaves, and waits until all others have left. `release` leaves without waiting.
   *
   *     const inside = await computation.enter({ timeoutMs: 60_000 })
   *     await compute()
   *     await inside.leave({ timeoutMs: 60_000 })
   */
  leave(options?: CallOptions): Promise<void>
}

/**
 * A fixed number of members that enter together and leave together. The layout is that of Curator's
 * DistributedDoubleBarrier: a node per member, and `ready` once all have arrived.
 *
 *     const barrier = new DoubleBarrier(client, '/computation', 3)
 *     const stay = await barrier.enter({ timeoutMs: 60_000 })
 *     await compute()
 *     await stay.leave()
 */
export class DoubleBarrier {
  private readonly client: Client
  private readonly path: string
  private readonly ready: string
  private readonly members: number
  private readonly options: LockOptions

  constructor(client: Client, path: string, members: number, options: LockOptions = {}) {
    this.client = client.patient
    this.path = checkPath(path)
    this.ready = joinPath(path, 'ready')
    this.members = checkCount(members, 'members')
    this.options = checkedOptions(client, 'DoubleBarrier', options)
  }

  /**
   * Waits until all have arrived. A member that arrives too early for the next round waits for the
   * end of the current one.
   *
   *     await using inside = await computation.enter({ timeoutMs: 60_000 })
   *     await compute()
   */
  enter(options: CallOptions & HoldOptions = {}): Promise<Inside> {
    const enterRound = async (signal: AbortSignal): Promise<Inside> => {
      const lostOn = policyOf(options, this.options)
      for (;;) {
        await persist(this.client, signal, () => this.untilFree(signal))
        const place = await this.makePlace(signal)
        const round = await this.untilReady(place, signal)
        // If it was created before our node, the round began without us.
        if (round > place.token) {
          const leave = (limits: CallOptions = {}): Promise<void> =>
            this.leave(place, round, limits)
          return Object.assign(place.judgeBy(lostOn), { leave })
        }
        place.release().catch(() => {})
      }
    }
    const { client, path } = this
    const subject = { path, what: 'not all have arrived', names: holdNames }
    return limited(client, options, enterRound, false, subject)
  }

  /** Waits for the end of a round that began without us. */
  private async untilFree(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { children } = await this.list(signal)
      if (!children.includes('ready')) return
      const [member] = children.filter((name) => name !== 'ready').toSorted()
      // Waiting for `ready` to be deleted is not enough: if all members inside have crashed, we end
      // the round.
      if (member !== undefined) await untilChanged(this.client, joinPath(this.path, member), signal)
      else await this.endRound(undefined, signal)
    }
  }

  private async makePlace(signal: AbortSignal): Promise<HeldByNode> {
    const { client, path } = this
    const { id = '', acl } = this.options
    const options = { ephemeral: true, protect: true, acl, signal }
    const create = () => client.create(joinPath(path, 'member'), id, options)
    return new HeldByNode(client, await below(client, path, { signal, acl }, create))
  }

  /** Resolves to the czxid of `ready`, which identifies the round. */
  private async untilReady(place: HeldByNode, signal: AbortSignal): Promise<bigint> {
    try {
      return await underAll([signal, place.signal], (either) =>
        persist(this.client, either, async () => {
          const { children } = await this.list(either)
          const isReady = children.includes('ready')
          if (!isReady && children.length >= this.members) await this.beginRound(either)
          return (await untilThere(this.client, this.ready, either)).czxid
        }),
      )
    } catch (error) {
      const told = await waiterError(this.client, place, error, signal)
      place.release().catch(() => {})
      throw told
    }
  }

  private async leave(place: HeldByNode, round: bigint, options: CallOptions): Promise<void> {
    const { client, path } = this
    const leaveRound = async (signal: AbortSignal): Promise<void> => {
      await persist(client, signal, async () => {
        while (await this.waitToLeave(place, round, signal));
      })
      await orAborted(place.release(), signal)
    }
    try {
      await limited(client, options, leaveRound, false, { path, what: 'not all have left' })
    } catch (error) {
      // In the background: the caller need not wait for a connection.
      place.release().catch(() => {})
      throw error
    }
  }

  /**
   * All but the lowest leave at once and wait for the lowest, which leaves last: so only one other
   * member wakes each of them, and the lowest waits for the others one by one.
   */
  private async waitToLeave(
    place: HeldByNode,
    round: bigint,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, path } = this
    const { children } = await this.list(signal)
    // Read after listing, so that the listed members certainly belong to this round.
    const ready = await client.exists(this.ready, { signal })
    if (ready !== undefined && ready.czxid !== round) return false
    let members = children.filter((name) => name !== 'ready').toSorted()
    if (ready === undefined) {
      // A member has seen that all are gone, or a member in kazoo has begun to leave, which deletes
      // it too. Younger nodes belong to a next round.
      members = await this.olderThan(round, members, signal)
      if (members.length === 0) return false
    }
    const own = members.findIndex((name) => place.path === joinPath(path, name))
    if (own === 0 && members.length > 1) {
      await untilChanged(client, joinPath(path, members.at(-1)!), signal)
      return true
    }
    await orAborted(place.release(), signal)
    if (own < 0 && members.length === 0) await this.endRound(round, signal)
    else if (own !== 0) await untilChanged(client, joinPath(path, members[0]!), signal)
    return true
  }

  private async olderThan(
    czxid: bigint,
    members: readonly string[],
    signal: AbortSignal,
  ): Promise<string[]> {
    const stats = await Promise.all(
      members.map((name) => this.client.exists(joinPath(this.path, name), { signal })),
    )
    return members.filter((_, i) => (stats[i]?.czxid ?? czxid) < czxid)
  }

  private async list(signal: AbortSignal): Promise<Pick<Children, 'children' | 'stat'>> {
    const { client, path } = this
    const { acl } = this.options
    return below(client, path, { signal, acl }, () => client.childrenWithStat(path, { signal }))
  }

  /** The parent's version counts the rounds, so that a late member does not end the next one. */
  private async beginRound(signal: AbortSignal): Promise<void> {
    const { client, path, ready } = this
    const { acl } = this.options
    try {
      await client.transaction().create(ready, '', { acl }).set(path, '').commit({ signal })
    } catch (error) {
      if (!isRefusal(error, 'nodeExists')) throw error
    }
  }

  /**
   * Deletes `ready` if no member is left: of this round, or of any round. The version starts again
   * with a new container, so a version read before a lost connection is useless.
   */
  private endRound(round: bigint | undefined, signal: AbortSignal): Promise<void> {
    const { client, path, ready } = this
    return overOneConnection(client, signal, async (either) => {
      const { children, stat } = await this.list(either)
      // Asked after listing: only so is the version certainly of this round, or of an earlier one.
      const found = await client.exists(ready, { signal: either })
      if (found === undefined || children.some((name) => name !== 'ready')) return
      if (round !== undefined && found.czxid !== round) return
      try {
        await client
          .transaction()
          .check(path, stat.version)
          .delete(ready)
          .commit({ signal: either })
      } catch (error) {
        if (!isRefusal(error, 'noNode', 'badVersion')) throw error
      }
    })
  }
}
