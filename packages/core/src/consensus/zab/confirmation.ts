import { packetOf } from '@zabra/protocol'
import { Fifo } from '../../base/fifo.ts'
import type { QuorumVerifier, ServerId } from '../../membership/quorum.ts'
import type { LearnerProgress } from './learner-progress.ts'
import type { Learners } from './learners.ts'

interface Round {
  readonly number: number
  readonly beganMs: number
}

/**
 * How a leader knows that it still leads. It pings its learners in rounds. A follower that answers
 * has promised no newer epoch by then, since it leaves its leader first. So when a quorum has
 * answered the pings of a round, nobody else led when that round began. All answers come in the
 * order of the pings.
 */
export class Confirmation {
  /** When the newest round that a quorum has answered began. */
  confirmedMs = 0
  private readonly self: ServerId
  private readonly learners: Learners
  private readonly verifier: () => QuorumVerifier
  /** The rounds that a quorum has not answered yet, oldest first. */
  private readonly open = new Fifo<Round>()
  private newest = 0
  private confirmed = 0
  private isWanted = false

  constructor(parts: {
    readonly self: ServerId
    readonly learners: Learners
    readonly verifier: () => QuorumVerifier
  }) {
    this.self = parts.self
    this.learners = parts.learners
    this.verifier = parts.verifier
  }

  /** Begins a round: all learners that are up to date are pinged. */
  begin(nowMs: number, zxid: bigint): number {
    this.isWanted = false
    this.open.push({ number: ++this.newest, beganMs: nowMs })
    for (const learner of this.learners.led) this.ping(learner, zxid)
    this.count()
    return this.newest
  }

  /**
   * The round that confirms what comes now. All that comes while one is open shares the next,
   * which begins with `beginWanted`.
   */
  want(nowMs: number, zxid: bigint): number {
    if (this.open.length === 0) return this.begin(nowMs, zxid)
    this.isWanted = true
    return this.newest + 1
  }

  /** Begins the wanted round, once none is open. */
  beginWanted(nowMs: number, zxid: bigint): void {
    if (this.isWanted && this.open.length === 0) this.begin(nowMs, zxid)
  }

  isConfirmed(round: number): boolean {
    return round <= this.confirmed
  }

  /** A learner has become up to date: it may complete the round that is open. */
  joined(learner: LearnerProgress, zxid: bigint): void {
    if (this.open.length > 0) this.ping(learner, zxid)
  }

  /** A learner answered its oldest ping; whether that confirmed a round. */
  answered(learner: LearnerProgress): boolean {
    learner.answeredPing()
    return learner.answeredRound > this.confirmed && this.count()
  }

  /** Checks whether a quorum has answered; also called when other voters decide. */
  count(): boolean {
    const before = this.confirmed
    for (let round = this.open.first; round !== undefined; round = this.open.first) {
      if (!this.isAnswered(round.number)) break
      this.open.shift()
      this.confirmed = round.number
      this.confirmedMs = round.beganMs
    }
    return this.confirmed > before
  }

  private isAnswered(round: number): boolean {
    const servers = new Set([this.self])
    for (const { sid, isUpToDateVoter, answeredRound } of this.learners.led) {
      if (isUpToDateVoter && answeredRound >= round) servers.add(sid)
    }
    return this.verifier().isQuorum(servers)
  }

  private ping(learner: LearnerProgress, zxid: bigint): void {
    if (!learner.hasReached('upToDate')) return
    this.learners.send(learner, packetOf('ping', zxid))
    learner.pinged(this.newest)
  }
}
