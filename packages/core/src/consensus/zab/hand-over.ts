import type { ServerId } from '../../membership/quorum.ts'
import { counterOf } from '../../storage/zxid.ts'
import type { LeaderCore } from './leader-core.ts'

/** The last counter that may be proposed; the next epoch begins after it. */
const counterMaxDefault = 0xfffffffen
/** In the last part of an epoch, which is one of this many, the next one begins at a good moment. */
const epochReserveDivisor = 64n
const counterUsedUp = 'the counter of this epoch is used up'

/** How long a leader that makes way waits for its proposals to be committed. */
export const finishMsMax = 500

/** Why the next epoch begins, and which promise it must exceed. */
interface NextEpoch {
  readonly reason: string
  /** An epoch that a member has promised already; the next one must be later. */
  readonly promised: bigint
  /** It begins at this time at the latest, even if something is not committed. */
  readonly deadlineMs: number
  /** The promise is being stored. */
  isPromising: boolean
}

/**
 * How a leader makes way for the next epoch: it commits what it has proposed, and ends. What is asked
 * for meanwhile waits for the next leader.
 */
export class HandOver {
  private readonly core: LeaderCore
  /** The last counter of an epoch. */
  readonly counterMax: bigint
  private next: NextEpoch | undefined

  constructor(core: LeaderCore) {
    this.core = core
    this.counterMax = core.options.counterMax ?? counterMaxDefault
  }

  /** The epoch is full. */
  refused(): void {
    this.begin(counterUsedUp)
    this.proceed()
  }

  private begin(reason: string, promised = this.core.epoch): void {
    const { core } = this
    if (!core.isEstablished || core.isFinishing || core.isOver) return
    core.parts.trace({ type: 'handingOver', reason })
    core.isFinishing = true
    this.next = { reason, promised, deadlineMs: core.nowMs + finishMsMax, isPromising: false }
  }

  /**
   * A member that promised a newer epoch, to a leader that came to nothing, may not be led in ours;
   * in Apache it is away until something else ends this leadership.
   */
  beginEpochFor(sid: ServerId, promised: bigint): void {
    const { core } = this
    if (!core.isEstablished || promised <= core.epoch) return
    if (core.isFinishing || !core.parts.configs.committed.servers.has(sid)) return
    // If it is connected already, this is another server with the same number.
    for (const learner of core.learners.led)
      if (learner.sid === sid && learner.hasReached('following')) return
    this.begin(`server ${sid} has promised epoch ${promised} already`, promised)
    this.proceed()
  }

  /**
   * Begins the next epoch while all voters are there, and nobody has to be waited for, rather than
   * when there is no counter left.
   */
  beginInTime(): void {
    const { core, counterMax } = this
    if (!core.isEstablished || core.isFinishing) return
    if (counterOf(core.lastProposedZxid) <= counterMax - counterMax / epochReserveDivisor) return
    const present = core.learners.upToDateVoters(core.self)
    for (const voter of core.parts.configs.verifier.voters) if (!present.has(voter)) return
    this.begin(counterUsedUp)
    this.proceed()
  }

  /** Ends the epoch once everything is committed, or the time for that is over. */
  proceed(): void {
    const { core, next } = this
    if (next === undefined || core.isOver) return
    if (core.outstanding.length > 0 && core.nowMs < next.deadlineMs) return
    if (next.promised <= core.parts.epochs.accepted) {
      core.end(new Error(next.reason))
    } else if (!next.isPromising) {
      next.isPromising = true
      core.store({ type: 'acceptEpoch', epoch: next.promised })
    }
  }

  /** A voter that could lead instead, and has logged up to this zxid. */
  successor(zxid: bigint): ServerId | undefined {
    const { core } = this
    const { verifier, committed } = core.parts.configs
    let best: ServerId | undefined
    for (const learner of core.learners.led) {
      const { sid } = learner
      // A server with a vote only in the proposed configuration must not lead yet.
      if (committed.servers.get(sid)?.role !== 'participant') continue
      if (!learner.isUpToDateVoter) continue
      if (verifier.weight(sid) === 0n) continue
      const logged = core.acknowledged.get(sid) ?? learner.history
      // Without a transaction in this epoch, it has as much once it counts itself into the epoch.
      const isWhole = counterOf(zxid) === 0n ? learner.hasReached('following') : logged >= zxid
      // Among equals the election prefers the largest id, so all voters agree at once.
      if (isWhole && (best === undefined || sid > best)) best = sid
    }
    return best
  }
}
