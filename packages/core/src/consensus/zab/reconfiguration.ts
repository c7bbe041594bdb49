import { packetOf, Writer, type QuorumPacket } from '@zabra/protocol'
import { verifierOf, type Membership } from '../../membership/membership.ts'
import type { LeaderCore } from './leader-core.ts'
import type { Proposal } from './leader-ready.ts'
import type { Certainty } from './certainty.ts'
import type { HandOver } from './hand-over.ts'
import type { Synchronization } from './synchronization.ts'
import { mayGoOnLeading, RoleChange } from './role-change.ts'

/** How a leader changes the members: both configurations must agree, then the new one decides alone. */
export class Reconfiguration {
  /** Why the leadership ends with the pending change, if it does. */
  private ending: RoleChange | undefined
  private readonly core: LeaderCore
  private readonly certainty: Certainty
  private readonly handOver: HandOver
  private readonly synchronization: Synchronization

  constructor(
    core: LeaderCore,
    parts: {
      readonly certainty: Certainty
      readonly handOver: HandOver
      readonly synchronization: Synchronization
    },
  ) {
    this.core = core
    this.certainty = parts.certainty
    this.handOver = parts.handOver
    this.synchronization = parts.synchronization
  }

  /** The next transaction makes this the configuration. */
  propose(config: Membership): void {
    // Both configurations must decide before the proposal is made, because it needs both.
    this.core.parts.configs.see(config)
    this.core.reconfigZxid = config.version
  }

  /** Whether the voters of a configuration are connected and up to date: a quorum of them. */
  isSynced(config: Membership): boolean {
    const { core } = this
    const synced = new Set([core.self])
    for (const { sid, isUpToDateVoter, deadlineTick } of core.learners.led) {
      if (isUpToDateVoter && deadlineTick >= core.tick) synced.add(sid)
    }
    return verifierOf(config).isQuorum(synced)
  }

  /** Both configurations have agreed: from now on the new one decides alone. */
  commit({ zxid, payload }: Proposal): void {
    const { core } = this
    const { configs } = core.parts
    const before = configs.committed
    configs.commit(configs.seen!)
    const goesOn = mayGoOnLeading(before, configs.committed, core.self)
    const leader = goesOn ? core.self : (this.handOver.successor(zxid) ?? core.self)
    if (!goesOn) this.ending = new RoleChange(`server ${leader} leads from now on`, leader)
    const { forFollowers, forObservers } = activations(leader, zxid, payload)
    for (const learner of core.learners.led) {
      if (!learner.hasReached('synchronizing')) continue
      if (learner.isObserver) core.learners.tell(learner, forObservers, payload.length)
      else core.learners.tell(learner, forFollowers)
    }
    core.reconfigZxid = undefined
  }

  /** All learners have been notified. */
  committed(): void {
    this.certainty.recount()
    if (this.ending !== undefined) this.core.end(this.ending)
    else this.synchronization.reconfigured()
  }
}

/** COMMITANDACTIVATE names the leader from now on; INFORMANDACTIVATE has the transaction, too. */
function activations(
  leader: bigint,
  zxid: bigint,
  payload: Uint8Array,
): { forFollowers: QuorumPacket; forObservers: QuorumPacket } {
  const named = new Writer(8 + payload.length)
  named.long(leader)
  const name = named.written().slice()
  named.raw(payload)
  return {
    forFollowers: packetOf('commitAndActivate', zxid, name),
    forObservers: packetOf('informAndActivate', zxid, named.written().slice()),
  }
}
