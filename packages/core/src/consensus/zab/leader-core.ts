import { assert } from '../../base/assert.ts'
import { Fifo } from '../../base/fifo.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { Discovery } from './discovery.ts'
import { LeaderReady, type LeaderParts, type Proposal } from './leader-ready.ts'
import { Learners } from './learners.ts'
import type { ZabOptions } from './options.ts'
import type { LeaderStart } from './sync-plan.ts'

/**
 * The shared state of a leader's parts: its learners, how far it has come, the time, and the Ready that
 * is being made.
 */
export class LeaderCore {
  readonly self: ServerId
  readonly parts: LeaderParts
  readonly options: ZabOptions
  readonly learners: Learners
  readonly discovery: Discovery
  /** The state of this server when it was elected. */
  readonly start: LeaderStart
  /** Logged or being logged, and not known to be committed. */
  readonly outstanding = new Fifo<Proposal>()
  /** The last zxid of this epoch known to be in the log of each voter, including this server. */
  readonly acknowledged = new Map<ServerId, bigint>()
  lastProposedZxid: bigint
  committedZxid: bigint
  /** The epoch has begun: a quorum holds this server's history. */
  isEstablished = false
  isOver = false
  /** Nothing more is proposed. */
  isFinishing = false
  /** The change of members that is proposed and not committed, if any. */
  reconfigZxid: bigint | undefined
  /** Ticks since the leader began; silence is counted from then on. */
  tick = 0
  nowMs = 0
  /** The Ready that is being made. */
  made: LeaderReady | undefined

  constructor(parts: LeaderParts, options: ZabOptions) {
    this.self = parts.self
    this.parts = parts
    this.options = options
    this.start = { epoch: parts.epochs.current, zxid: parts.db.lastZxid }
    this.lastProposedZxid = this.committedZxid = parts.db.lastZxid
    this.discovery = new Discovery(parts, this.start)
    this.learners = new Learners(this, parts.trace, options.learnerQueueBytesMax)
  }

  /** The epoch that this server leads or is going to lead. */
  get epoch(): bigint {
    return this.discovery.epoch
  }

  /** Collects the requests to the driver. */
  get ready(): LeaderReady {
    this.made ??= new LeaderReady()
    return this.made
  }

  get isReconfiguring(): boolean {
    return this.reconfigZxid !== undefined
  }

  /** How long joining may take, and each step of it. */
  get limitMs(): number {
    return this.options.tickMs * this.options.initLimit
  }

  /** A learner that joins now must be heard of again by this tick. */
  get joinDeadline(): number {
    return this.tick + this.options.initLimit + this.options.syncLimit
  }

  /** The epoch begins, after all earlier transactions. */
  beginEpoch(zxid: bigint): void {
    this.lastProposedZxid = this.committedZxid = zxid
    this.isEstablished = true
  }

  /** Everything committed must be applied here, because plans and answers depend on it. */
  assertApplied(): void {
    const { lastZxid } = this.parts.db
    assert(
      !this.isEstablished || lastZxid === this.committedZxid,
      'all that is committed is applied here',
    )
  }

  store(step: NonNullable<LeaderReady['store']>): void {
    this.ready.store = step
  }

  /** Ends the leadership; nothing is confirmed after that. */
  end(reason: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.ready.ended = reason
    this.learners.clear()
  }
}
