import type { WriteTicket } from '../../service/write-ticket.ts'
import { Fifo } from '../../base/fifo.ts'
import { Confirmation } from './confirmation.ts'
import type { LeaderCore } from './leader-core.ts'
import type { LearnerProgress } from './learner-progress.ts'
import { packetOf } from './packets.ts'

/** Of the time that followers wait for their leader: no two clocks go alike. */
const leasePart = 0.9

/** A sync, which is answered when this server is known to have led after it came. */
interface PendingSync {
  /** What was proposed before it is committed first, and nothing that was proposed later. */
  readonly after: bigint
  readonly round: number
  /** The learner that asks, or the ticket of a client of this server's own. */
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
  private readonly syncs = new Fifo<PendingSync>()
  /** The round that must be confirmed before anybody is answered again. */
  private doubtedRound: number | undefined
  /** When the first follower took our history; long ago, where this server has stood still. */
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

  get isInDoubt(): boolean {
    return this.doubtedRound !== undefined
  }

  get pendingSyncs(): number {
    return this.syncs.length
  }

  // --- rounds of pings -------------------------------------------------------------------------

  /** A follower has taken our history, and so did not follow another before. */
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

  /** A learner has answered a ping; whether a quorum has answered to the end of a round. */
  answered(learner: LearnerProgress): boolean {
    return this.confirmation.answered(learner)
  }

  /** Others decide from now on, and for them the answers may be enough already. */
  recount(): void {
    if (this.confirmation.count()) this.beginWanted()
  }

  private beginWanted(): void {
    this.confirmation.beginWanted(this.core.nowMs, this.core.lastProposedZxid)
  }

  /** A quorum has followed us to the end of a round. */
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
      // Acknowledgements that come from now on may have been sent before.
      if (stoodStill) this.followedSinceMs = -Infinity
      return false
    }
    const sinceMs = core.nowMs - this.confirmation.confirmedMs
    const isStale = sinceMs > leasePart * tickMs * syncLimit
    if ((!isStale && !stoodStill) || core.isOver || this.isInDoubt) return false
    this.doubtedRound = this.beginRound()
    core.ready.hold = true
    return true
  }

  // --- syncs -----------------------------------------------------------------------------------

  /** Answers behind what is proposed by now; unless told otherwise, not before we know that we lead. */
  sync(asker: LearnerProgress | WriteTicket): void {
    const { core } = this
    // As with a write: whoever asks a leader that is about to go asks the next one.
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
      if (!isDue || this.isInDoubt) return false
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
