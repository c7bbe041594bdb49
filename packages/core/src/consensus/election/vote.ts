import type { ServerState } from '@zabra/protocol'
import { epochStart } from '../../storage/zxid.ts'
import type { QuorumVerifier, ServerId } from '../../membership/quorum.ts'

/** A candidate for leader, and how much of the history it holds. */
export interface Candidate {
  readonly leader: ServerId
  /** The last zxid in its log. */
  readonly zxid: bigint
  /** The epoch whose history it holds. */
  readonly peerEpoch: bigint
}

/** A candidate, and in which round and state the voter named it. */
export interface Vote extends Candidate {
  readonly round: bigint
  readonly state: ServerState
  /** Of the message it came in; see `sameVote`. */
  readonly version: number
}

/** The vote order: the longest history wins, and among equals the largest server id. */
export function beats(one: Candidate, other: Candidate, quorum: QuorumVerifier): boolean {
  if (quorum.weight(one.leader) === 0n) return false
  if (one.peerEpoch !== other.peerEpoch) return one.peerEpoch > other.peerEpoch
  if (one.zxid !== other.zxid) return one.zxid > other.zxid
  return one.leader > other.leader
}

/**
 * Whether one that holds this has all that it is said to have. Who is in an epoch has all from
 * before it: so where nothing happened in it yet, that is enough.
 */
export function holds(
  own: Pick<Candidate, 'zxid' | 'peerEpoch'>,
  claimed: Pick<Candidate, 'zxid' | 'peerEpoch'>,
): boolean {
  if (own.peerEpoch !== claimed.peerEpoch) return own.peerEpoch > claimed.peerEpoch
  return own.zxid >= claimed.zxid || claimed.zxid === epochStart(claimed.peerEpoch)
}

/**
 * Whether two votes support the same leader.
 *
 * Among servers that have a leader, zxid and round legitimately differ: each keeps what it knew
 * when it joined. Releases before 3.4.6 (version 0) did not keep the epoch up to date either.
 */
export function sameVote(one: Vote, other: Vote): boolean {
  if (one.leader !== other.leader) return false
  if (one.state === 'looking' || other.state === 'looking') {
    return one.zxid === other.zxid && one.round === other.round && one.peerEpoch === other.peerEpoch
  }
  return one.version > 0 !== other.version > 0 || one.peerEpoch === other.peerEpoch
}

/** The servers that voted for the same. */
export function supporters(votes: ReadonlyMap<ServerId, Vote>, vote: Vote): Set<ServerId> {
  const agreeing = new Set<ServerId>()
  for (const [server, other] of votes) if (sameVote(vote, other)) agreeing.add(server)
  return agreeing
}
