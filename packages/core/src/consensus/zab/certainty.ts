import { packetOf } from '@zabra/protocol'
import type { WriteTicket } from '../../service/write-ticket.ts'
import { Fifo } from '../../base/fifo.ts'
import { Confirmation } from './confirmation.ts'
import type { LeaderCore } from './leader-core.ts'
import type { LearnerProgress } from './learner-progress.ts'

/** The part of the followers' time limit that is relied on, because clocks differ in speed. */
const leasePart = 0.9

/** A sync. It is answered when a round of pings that began after it is confirmed. */
interface PendingSync {
  /** Transactions proposed before it are committed first, and no later ones. */
  readonly after: bigint
  readonly round: number
  /** The learner that asks, or the ticket of a client of this server. */
  readonly asker: LearnerProgress | WriteTicket
}

const sync = packetOf('sync', 0n)

/**
 * Whether this server still leads. Syncs are answered only when it is known to lead after they came.
 * Where it stood still, or has not heard of a quorum for about as long as followers wait for their
 * leader, it is doubtful, and nobody is answered anything before a quorum has confirmed it.
 */
export class Certainty {
  private readonly core: LeaderCore
  private readonly confirmation: Confirmation
  /** Oldest first. */
  readonly syncs = new Fifo<PendingSync>()
  /**
   * The round that must be confirmed before clients are answered again, because another server may
   * lead now; undefined if there is no doubt.
   */
  doubtedRound: number | undefined
  /** When the first follower took this server's history; much earlier if this server stood still. */
  private followedSinceMs: number | undefined

  constructor(core: LeaderCore) {
    this.core = core
    const { self, configs } = core.parts
    this.confirmation = new Confirmation({
      self,
      learners: core.learners,
      verifier: () => configs.verifier,
    })
  }

  // --- rounds of pings -------------------------------------------------------------------------

  /** A follower has taken this server's history, so it did not follow another leader before. */
  followed(): void {
    this.followedSinceMs ??= this.core.nowMs
  }

  /** The epoch begins. */
  established(): void {
    const { nowMs } = this.core
    this.confirmation.confirmedMs = this.followedSinceMs ?? nowMs
  }

  /** All learners that are up to date are pinged. */
  beginRound(): number {
    return this.confirmation.begin(this.core.nowMs, this.core.lastProposedZxid)
  }

  joined(learner: LearnerProgress): void {
    this.confirmation.joined(learner, this.core.lastProposedZxid)
  }

  /** A learner has answered a ping. True if a quorum has answered a round. */
  answered(learner: LearnerProgress): boolean {
    return this.confirmation.answered(learner)
  }

  /** Other voters decide from now on, and their answers may be enough already. */
  recount(): void {
    if (this.confirmation.count()) this.beginWanted()
  }

  private beginWanted(): void {
    this.confirmation.beginWanted(this.core.nowMs, this.core.lastProposedZxid)
  }

  /** A quorum has answered a round. */
  confirmed(): void {
    this.beginWanted()
    if (this.doubtedRound === undefined) return
    if (!this.confirmation.isConfirmed(this.doubtedRound)) return
    this.doubtedRound = undefined
    this.core.ready.hold = false
  }

  /**
   * Time has passed since `beforeMs`; whether it is doubtful from now on that this server leads, and
   * a round has begun that will tell.
   */
  passed(beforeMs: number): boolean {
    const { core } = this
    const { tickMs, syncLimit } = core.options
    const stoodStill = core.nowMs - beforeMs > tickMs
    if (!core.isEstablished) {
      // ACKs that arrive from now on may have been sent before.
      if (stoodStill) this.followedSinceMs = -Infinity
      return false
    }
    const sinceMs = core.nowMs - this.confirmation.confirmedMs
    const isStale = sinceMs > leasePart * tickMs * syncLimit
    if ((!isStale && !stoodStill) || core.isOver) return false
    if (this.doubtedRound !== undefined) return false
    this.doubtedRound = this.beginRound()
    core.ready.hold = true
    return true
  }

  // --- syncs -----------------------------------------------------------------------------------

  /** Answers after everything proposed so far; by default only after a confirmation. */
  sync(asker: LearnerProgress | WriteTicket): void {
    const { core } = this
    // As with a write: a leader that is about to step down does not answer.
    if (core.isFinishing) return
    const after = core.outstanding.last?.zxid ?? core.committedZxid
    const isConfirmed = core.options.confirmSyncs !== false
    const round = isConfirmed ? this.confirmation.want(core.nowMs, core.lastProposedZxid) : 0
    this.syncs.push({ after, round, asker })
  }

  /**
   * Answers the syncs that came before a transaction was proposed; false where one has to wait, and
   * so has the transaction: a client is answered in the order of its requests.
   */
  answerSyncs(before?: bigint): boolean {
    const { committedZxid } = this.core
    for (let next = this.syncs.first; next !== undefined; next = this.syncs.first) {
      if (before !== undefined && next.after >= before) return true
      const isDue = next.after <= committedZxid && this.confirmation.isConfirmed(next.round)
      if (!isDue || this.doubtedRound !== undefined) return false
      this.syncs.shift()
      this.answer(next.asker)
    }
    return true
  }

  private answer(asker: LearnerProgress | WriteTicket): void {
    const { core } = this
    if ('kind' in asker) (core.ready.deliver ??= []).push({ type: 'synced', ticket: asker })
    else if (asker.state !== 'gone') core.learners.tell(asker, sync)
  }
}
