import { packetOf } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import { epochStart } from '../../storage/zxid.ts'
import type { LeaderCore } from './leader-core.ts'
import type { LearnerProgress } from './learner-progress.ts'
import { ProtocolError } from './packets.ts'
import { planSync, type SyncPlan } from './sync-plan.ts'

/** Transactions read from the log for a learner, up to the oldest in memory at that time. */
interface OlderHistory {
  readonly txns: readonly LoggedTxn[]
  readonly before: bigint
}

/**
 * How a leader brings learners to its history: it sends what they lack, and NEWLEADER behind that.
 * Whatever is proposed and committed meanwhile reaches them behind their history.
 */
export class Synchronization {
  private readonly core: LeaderCore
  /** Learners whose history is complete once no change of members is pending. */
  private readonly awaitingConfig = new Set<LearnerProgress>()
  /** The oldest transaction in memory when the log was read for a learner. */
  private readonly reading = new Map<LearnerProgress, bigint>()

  constructor(core: LeaderCore) {
    this.core = core
  }

  /** A quorum has promised the epoch, and so has this learner. */
  begin(learner: LearnerProgress): void {
    const { core } = this
    const { committedLog, db } = core.parts
    const { loggedZxid } = learner
    learner.deadlineTick = core.joinDeadline
    core.learners.add(learner)
    const plan = planSync(loggedZxid, committedLog.all(), db.lastZxid, core.start)
    const before = committedLog.min
    if (plan.kind !== 'snap' || loggedZxid >= before) {
      this.synchronize(learner, undefined)
      return
    }
    // It was away for a long time: the log may have what memory lacks.
    this.reading.set(learner, before)
    ;(core.ready.readLog ??= []).push({ learner, after: loggedZxid, before })
  }

  logRead(learner: LearnerProgress, txns: readonly LoggedTxn[] | undefined): void {
    const before = this.reading.get(learner)
    this.reading.delete(learner)
    if (learner.state !== 'promised') return
    assert(before !== undefined, 'the log is read for a learner that needs it')
    this.synchronize(learner, txns && { txns, before })
  }

  private synchronize(learner: LearnerProgress, older: OlderHistory | undefined): void {
    const { core } = this
    const { db, trace } = core.parts
    const { sid } = learner
    core.assertApplied()
    const plan = this.planFor(learner.loggedZxid, older)
    // It may now have to cut off transactions that it acknowledged on an earlier connection: that counts
    // only once it is logged again.
    core.acknowledged.delete(sid)
    learner.plan = plan.kind
    if (this.isTooMany(learner)) return
    const fromDisk = plan.kind !== 'snap' && older !== undefined
    trace({ type: 'synchronizing', sid, plan: plan.kind, fromDisk })
    if (plan.kind === 'snap') {
      learner.history = db.lastZxid
    } else {
      learner.history = plan.txns.at(-1)?.zxid ?? plan.zxid
      learner.config = this.configNow
    }
    core.learners.hold(learner)
    this.forward(learner, learner.history)
    core.learners.sendHistory(learner, plan, learner.history)
  }

  private planFor(learnerZxid: bigint, older: OlderHistory | undefined): SyncPlan {
    const { committedLog, db } = this.core.parts
    if (this.core.options.alwaysSendSnapshot === true) return { kind: 'snap' }
    // A copy, because transactions are added while the history is being sent.
    const inMemory = [...committedLog.all()]
    // While the log was read, the oldest in memory may have been dropped: that is a gap, and one
    // that cannot be seen where what is left begins a new epoch.
    const isWhole = older !== undefined && older.before === committedLog.min
    const history = isWhole ? [...older.txns, ...inMemory] : inMemory
    return planSync(learnerZxid, history, db.lastZxid, this.core.start)
  }

  /** Without a quorum every voter is needed; afterwards many at once would slow each other down. */
  private isTooMany(learner: LearnerProgress): boolean {
    const { core } = this
    const { syncsMax } = core.options
    if (syncsMax === undefined || !core.isEstablished) return false
    const isSnap = learner.plan === 'snap'
    const alike = [...core.learners.led].filter(
      (one) => one.isBroughtUp && (one.plan === 'snap') === isSnap,
    )
    if (alike.length <= (isSnap ? syncsMax.snaps : syncsMax.diffs)) return false
    const others = alike.length - 1
    const error = new ProtocolError(
      `server ${learner.sid} has to wait: ${others} others are being synchronized`,
    )
    core.learners.refuse(learner, error)
    return true
  }

  /** From now on the learner gets proposals and commits, beginning with the pending proposals. */
  private forward(learner: LearnerProgress, after: bigint): void {
    learner.become('synchronizing')
    if (learner.isObserver) return
    for (const proposal of this.core.outstanding.all()) {
      if (proposal.zxid > after) this.core.learners.propose(learner, proposal)
    }
  }

  /** The learner has been sent its whole history. */
  historySent(learner: LearnerProgress): void {
    if (learner.state !== 'synchronizing') return
    if (learner.plan !== 'snap') this.complete(learner, learner.config!)
    // An Apache learner would take anything before NEWLEADER as committed.
    else if (this.core.isReconfiguring) this.awaitingConfig.add(learner)
    else this.completeSnapshot(learner)
  }

  /** No change of members is pending any more. */
  reconfigured(): void {
    const { awaitingConfig } = this
    for (const learner of awaitingConfig) {
      awaitingConfig.delete(learner)
      if (learner.state === 'synchronizing') this.completeSnapshot(learner)
    }
  }

  /** The snapshot may hold parts of transactions committed while it was sent: with those it is exact. */
  private completeSnapshot(learner: LearnerProgress): void {
    this.core.learners.release(learner)
    this.complete(learner, this.configNow)
  }

  private complete(learner: LearnerProgress, config: Uint8Array): void {
    const { core } = this
    // After the whole history: older releases of Apache sent it before, and lost data.
    core.learners.send(learner, packetOf('newLeader', epochStart(core.epoch), config))
    // Followers of many Apache releases fail over a commit between this and UPTODATE.
    core.learners.hold(learner)
    learner.become('sent')
    learner.deadlineTick = core.joinDeadline
    core.learners.listen(learner)
  }

  /** Proposals of this epoch are not committed yet, so they are sent as proposals. */
  private get configNow(): Uint8Array {
    const { configs } = this.core.parts
    return this.core.isEstablished ? configs.committedText : configs.newestText
  }
}
