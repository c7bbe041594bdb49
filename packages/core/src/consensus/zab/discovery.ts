import { MalformedError } from '@zabra/protocol'
import type { MembershipState } from '../../membership/membership-state.ts'
import { EpochError, epochMax } from '../../storage/epochs.ts'
import { verifierOf, type Membership } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { LeaderStart } from './sync-plan.ts'

export interface DiscoveryParts {
  readonly self: ServerId
  readonly configs: MembershipState
}

/**
 * How a leader agrees with a quorum on an epoch: the first that none of them has promised before.
 * None of those who promise it may have a longer history than the leader, unless it is certain that
 * nothing of that was ever committed.
 */
export class Discovery {
  /** The epoch that the servers joined so far would choose; final once a quorum has joined. */
  epoch = 0n
  /** A quorum has joined, so the epoch is final. */
  isChosen = false
  /** A quorum has promised it. */
  isPromised = false
  private readonly parts: DiscoveryParts
  private readonly start: LeaderStart
  private readonly joined = new Set<ServerId>()
  /** Servers that have promised the epoch and have no more than the leader. */
  private readonly acks = new Set<ServerId>()
  /** Servers that have promised it and have more, but must not lead. */
  private readonly ahead = new Set<ServerId>()
  /** Servers whose log lacks the proposed configuration. */
  private readonly unaware = new Set<ServerId>()

  constructor(parts: DiscoveryParts, start: LeaderStart) {
    this.parts = parts
    this.start = start
  }

  /**
   * Counts a server that would join; with a quorum the epoch is the first that none of them has
   * accepted. What others than members claim changes nothing. An EpochError says that no epoch is
   * left.
   */
  join(sid: ServerId, acceptedEpoch: bigint): void {
    if (this.isChosen || !this.parts.configs.isMember(sid)) return
    if (acceptedEpoch >= epochMax) {
      throw new EpochError(`server ${sid} has accepted epoch ${acceptedEpoch}, the last`)
    }
    if (acceptedEpoch >= this.epoch) this.epoch = acceptedEpoch + 1n
    if (this.parts.configs.verifier.voters.has(sid)) this.joined.add(sid)
    this.isChosen = this.isAgreed(this.joined)
  }

  /** A server has promised the epoch, and told the end of its history. */
  acknowledge(sid: ServerId, currentEpoch: bigint, lastZxid: bigint): void {
    if (this.isPromised) return
    const isAhead =
      currentEpoch > this.start.epoch ||
      (currentEpoch === this.start.epoch && lastZxid > this.start.zxid)
    if (isAhead && this.mayLead(sid))
      throw new MalformedError(`server ${sid} has a longer history than its leader`)
    const { verifier, seen } = this.parts.configs
    const acks = isAhead ? this.ahead : this.acks
    if (verifier.voters.has(sid)) acks.add(sid)
    if (seen !== undefined && lastZxid < seen.version) this.unaware.add(sid)
    this.isPromised = this.isAgreed(this.countable)
  }

  /** A server with a vote only in the proposed configuration must not lead, whatever its history. */
  private mayLead(sid: ServerId): boolean {
    const { committed, seen } = this.parts.configs
    return seen === undefined || verifierOf(committed).voters.has(sid)
  }

  /**
   * A quorum of the committed configuration has every committed transaction, and so has the leader,
   * unless the proposed configuration was committed without any server here knowing it, and decided
   * alone from then on. That did not happen if the servers that may have logged the proposal are no
   * quorum, or if its members that are not known to lack a transaction are none.
   */
  private get countable(): ReadonlySet<ServerId> {
    const { acks, ahead, unaware } = this
    const { committed, seen } = this.parts.configs
    if (ahead.size === 0 || seen === undefined) return acks
    const isPossible = isQuorumWithout(committed, unaware) && isQuorumWithout(seen, acks)
    return isPossible ? acks : new Set([...acks, ...ahead])
  }

  private isAgreed(servers: ReadonlySet<ServerId>): boolean {
    return servers.has(this.parts.self) && this.parts.configs.verifier.isQuorum(servers)
  }
}

function isQuorumWithout(config: Membership, servers: ReadonlySet<ServerId>): boolean {
  const verifier = verifierOf(config)
  return verifier.isQuorum(new Set([...verifier.voters].filter((sid) => !servers.has(sid))))
}
