import { assert } from '../../base/assert.ts'
import { packetOf, type QuorumPacket } from '@zabra/protocol'
import type { ServerId } from '../../membership/quorum.ts'
import type { Certainty } from './certainty.ts'
import type { LeaderCore } from './leader-core.ts'
import type { Proposal } from './leader-ready.ts'
import type { LearnerProgress } from './learner-progress.ts'
import type { Reconfiguration } from './reconfiguration.ts'

/** The packet that tells a learner of a committed transaction. */
interface AfterCommit {
  readonly zxid: bigint
  readonly to: LearnerProgress
  readonly packet: QuorumPacket
}

/**
 * Transactions on their way: proposed to all learners with a vote, and committed, in order, once a
 * quorum has them in its logs.
 */
export class Broadcast {
  private readonly core: LeaderCore
  private readonly certainty: Certainty
  private readonly reconfiguration: Reconfiguration
  /** Oldest first. */
  private afterCommit: AfterCommit[] = []

  constructor(core: LeaderCore, certainty: Certainty, reconfiguration: Reconfiguration) {
    this.core = core
    this.certainty = certainty
    this.reconfiguration = reconfiguration
  }

  /** Also after the leadership: what is in the log counts in the next election. */
  proposed(proposal: Proposal): void {
    const { core } = this
    core.outstanding.push(proposal)
    core.lastProposedZxid = proposal.zxid
    if (core.isOver) return
    for (const learner of core.learners.led) {
      if (!learner.isObserver && learner.hasReached('synchronizing')) {
        core.learners.propose(learner, proposal)
      }
    }
  }

  /** A log holds everything up to here: servers log in order, without gaps. */
  acknowledge(sid: ServerId, zxid: bigint): void {
    const { last } = this.core.outstanding
    if (last === undefined || zxid > last.zxid) return
    if (zxid > (this.core.acknowledged.get(sid) ?? 0n)) this.core.acknowledged.set(sid, zxid)
  }

  /** Commits, in order, the transactions that a quorum has logged. */
  advanceCommit(): void {
    const { core, certainty } = this
    const { configs } = core.parts
    if (certainty.doubtedRound !== undefined) return
    const { syncs } = certainty
    const { verifier } = configs
    const upTo = this.quorumZxid()
    const { outstanding } = core
    for (let next = outstanding.first; next !== undefined; next = outstanding.first) {
      if (core.isOver || next.zxid > upTo) break
      if (syncs.length > 0 && !certainty.answerSyncs(next.zxid)) break
      outstanding.shift()
      this.commit(next)
    }
    if (core.isOver) return
    if (syncs.length > 0) certainty.answerSyncs()
    // Other voters decide from now on, and they may have agreed already.
    if (verifier !== configs.verifier) this.advanceCommit()
  }

  /** The last transaction that the logs of a quorum hold. */
  private quorumZxid(): bigint {
    const { verifier } = this.core.parts.configs
    let highest = this.core.committedZxid
    for (const candidate of this.core.acknowledged.values()) {
      if (candidate <= highest) continue
      const holders = new Set<ServerId>()
      for (const [sid, zxid] of this.core.acknowledged) if (zxid >= candidate) holders.add(sid)
      if (verifier.isQuorum(holders)) highest = candidate
    }
    return highest
  }

  private commit(proposal: Proposal): void {
    const { core, reconfiguration } = this
    const { zxid } = proposal
    assert(zxid > core.committedZxid, 'transactions are committed in order')
    core.committedZxid = zxid
    const isReconfig = zxid === core.reconfigZxid
    if (isReconfig) reconfiguration.commit(proposal)
    else this.sendCommits(proposal)
    ;(core.ready.deliver ??= []).push(proposal)
    if (this.afterCommit.length > 0) this.sendAfterCommit(zxid)
    if (isReconfig) reconfiguration.committed()
  }

  private sendCommits(proposal: Proposal): void {
    const { from } = proposal
    // First to the learner that asked, because a client waits there.
    if (from !== undefined) this.sendCommit(from, proposal)
    for (const learner of this.core.learners.led) {
      if (learner !== from) this.sendCommit(learner, proposal)
    }
  }

  private sendCommit(learner: LearnerProgress, { zxid, payload }: Proposal): void {
    if (!learner.hasReached('synchronizing')) return
    const { learners } = this.core
    if (learner.isObserver) {
      learners.tell(learner, packetOf('inform', zxid, payload), payload.length)
    } else {
      learners.tell(learner, packetOf('commit', zxid))
    }
  }

  /** Sends a packet once everything proposed so far is committed. */
  tellAfterCommit(to: LearnerProgress, packet: QuorumPacket): void {
    const { last } = this.core.outstanding
    if (last === undefined) this.core.learners.send(to, packet)
    else this.afterCommit.push({ zxid: last.zxid, to, packet })
  }

  private sendAfterCommit(zxid: bigint): void {
    const { afterCommit } = this
    while (afterCommit.length > 0 && afterCommit[0]!.zxid <= zxid) {
      const { to, packet } = afterCommit.shift()!
      if (to.state !== 'gone') this.core.learners.tell(to, packet)
    }
  }
}
