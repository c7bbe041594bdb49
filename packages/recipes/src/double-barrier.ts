import { isRefusal, joinPath, type CallOptions, type Children, type Client } from '@zabra/client'
import { checkCount, checkPath } from '@zabra/client/internal'
import { untilChanged, untilThere } from './waiting/until-changed.ts'
import { HeldByNode, policyOf, type Held, type HoldOptions } from './holding/held.ts'
import { overOneConnection, persist } from './nodes/node.ts'
import { limited, orAborted, underAll } from './waiting/limits.ts'
import { below } from './nodes/parents.ts'
import { checkedOptions, waiterError, type LockOptions } from './turns/turn.ts'

/** Being inside, together with the others. */
export interface Inside extends Held {
  /** Leaves, and waits until all others have left. Only `release` does not wait. */
  leave(options?: CallOptions): Promise<void>
}

/**
 * So many begin together and end together. The layout is that of Curator's
 * DistributedDoubleBarrier: a node for each member, and `ready` once all are there.
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

  /** Waits until all are there. Who comes too early for the next round waits for the end of this. */
  enter(options: CallOptions & HoldOptions = {}): Promise<Inside> {
    const enterRound = async (signal: AbortSignal): Promise<Inside> => {
      const lostOn = policyOf(options, this.options)
      for (;;) {
        await persist(this.client, signal, () => this.untilFree(signal))
        const place = await this.makePlace(signal)
        const round = await this.untilReady(place, signal)
        // Made before our node, it was made without us.
        if (round > place.token) {
          const leave = (limits: CallOptions = {}): Promise<void> =>
            this.leave(place, round, limits)
          return Object.assign(place.judgeBy(lostOn), { leave })
        }
        place.release().catch(() => {})
      }
    }
    const { client, path } = this
    return limited(client, options, enterRound, false, { path, what: 'not all are there' })
  }

  /** Waits for the end of a round in which we are not. */
  private async untilFree(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { children } = await this.list(signal)
      if (!children.includes('ready')) return
      const [member] = children.filter((name) => name !== 'ready').toSorted()
      // Not for `ready` to go: where all inside have crashed, it is for us to end the round.
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

  /** Answers the czxid of `ready`, which names the round. */
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
      // Behind the back of the caller, who need not wait for a connection.
      place.release().catch(() => {})
      throw error
    }
  }

  /**
   * All but the lowest go at once and wait for the lowest, who goes last: so each is woken by one
   * other only, but for the lowest, who waits for the others one by one.
   */
  private async waitToLeave(
    place: HeldByNode,
    round: bigint,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, path } = this
    const { children } = await this.list(signal)
    // Asked after listing: only so are those who were listed certainly of this round.
    const ready = await client.exists(this.ready, { signal })
    if (ready !== undefined && ready.czxid !== round) return false
    let members = children.filter((name) => name !== 'ready').toSorted()
    if (ready === undefined) {
      // Somebody has seen that all are gone; but kazoo's members take it away when they begin to
      // leave. Nodes that are younger belong to a next round.
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

  /** The parent's version counts the rounds, so that nobody late ends the next one. */
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
   * Takes `ready` away where nobody is left: of this round, or of whatever round it is. The version
   * begins anew with the container; so what was read before a lost connection counts for nothing.
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
