import type { QuorumPacket } from '@zabra/protocol'
import type { ServerId } from '../../membership/quorum.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import type { LearnerProgress } from './learner-progress.ts'
import type { ZabTrace } from './options.ts'
import { packetOf } from './packets.ts'
import type { SyncPlan } from './sync-plan.ts'

/** What happens on the connections of learners. */
export type LearnerEvent =
  /** A server has connected, to be brought up. */
  | { readonly type: 'connected'; readonly learner: LearnerProgress }
  /** A packet has come. None comes while the learner is not listened to (`isListenedTo`). */
  | {
      readonly type: 'packet'
      readonly learner: LearnerProgress
      readonly packet: QuorumPacket
    }
  /** All packets that came together have been handed in. */
  | { readonly type: 'packetsRead' }
  /** All of its history, as `ForLearners.history` named it, is sent. */
  | { readonly type: 'historySent'; readonly learner: LearnerProgress }
  /** It cannot be brought up: it does not take what it is sent, or the disk cannot be read. */
  | { readonly type: 'failed'; readonly learner: LearnerProgress; readonly reason: Error }
  /** Its connection is lost. */
  | { readonly type: 'lost'; readonly learner: LearnerProgress }

export interface Outgoing {
  readonly to: LearnerProgress
  readonly packet: QuorumPacket
}

/** A history on its way to a learner. */
export interface HistoryToSend {
  readonly to: LearnerProgress
  readonly plan: SyncPlan
  /** What the first packet of a snapshot names: up to here the learner has everything then. */
  readonly zxid: bigint
}

/** What a machine that brings up learners asks of its driver for them; a part of its Ready. */
export interface ForLearners {
  /** Leaves in this order. */
  send: Outgoing[] | undefined
  /**
   * Is sent in slices, no faster than it is taken. Nothing else is sent to the learner before the
   * input `historySent` or `failed`. A snapshot holds the database as it is when its turn comes.
   */
  history: HistoryToSend[] | undefined
  /** Learners that are listened to again. */
  listen: LearnerProgress[] | undefined
  /** Learners whose connections are to be closed. */
  close: LearnerProgress[] | undefined
}

/**
 * Maximum number of connections that have not promised the epoch yet. There are far fewer members.
 * Above it, the oldest connection is closed.
 */
const joiningMax = 200

/** Above this a snapshot is shorter than what a learner has not taken yet, for most databases. */
const queueBytesMaxDefault = 128 * 1024 * 1024

const upToDate = packetOf('upToDate', -1n)

/** The learners of a server that brings up others, and what they are sent. */
export class Learners {
  /** Connected, and on their way to a promise. In the order in which they wait. */
  readonly joining = new Set<LearnerProgress>()
  /** Those that have promised the epoch: brought up, or being so. */
  readonly led = new Set<LearnerProgress>()
  nowMs = 0
  private hasLost = false
  private readonly ready: () => ForLearners
  private readonly trace: ZabTrace
  private readonly queueBytesMax: number

  constructor(
    parts: {
      /** Where what is asked of the driver goes. */
      readonly ready: () => ForLearners
      readonly trace: ZabTrace
    },
    queueBytesMax = queueBytesMaxDefault,
  ) {
    this.ready = parts.ready
    this.trace = parts.trace
    this.queueBytesMax = queueBytesMax
  }

  // --- who they are ----------------------------------------------------------------------------

  /** Admits a new connection. One that has not introduced itself gives way first. */
  admit(learner: LearnerProgress): void {
    const { joining } = this
    if (joining.size >= joiningMax) {
      const [oldest] = joining
      const silent = [...joining].find(({ state }) => state === 'connected')
      this.trace({ type: 'crowded', port: 'quorum' })
      this.close((silent ?? oldest)!)
    }
    joining.add(learner)
  }

  /** Makes it one of those that are led, in place of an older connection of the same server. */
  add(learner: LearnerProgress): void {
    this.joining.delete(learner)
    // A server that connects anew has left its old connection, even if that is not closed yet.
    for (const older of this.led) if (older.sid === learner.sid) this.drop(older, 'it came anew')
    this.led.add(learner)
  }

  /** Waits behind those that wait already. */
  queue(learner: LearnerProgress): void {
    this.joining.delete(learner)
    this.joining.add(learner)
  }

  /** Its connection is of no use any more; why, is for the log. */
  drop(learner: LearnerProgress, reason: string): void {
    this.trace({ type: 'learnerDropped', sid: learner.sid, reason })
    this.close(learner)
  }

  /** It is not brought up. */
  refuse(learner: LearnerProgress, { message }: Error): void {
    this.trace({ type: 'learnerRefused', reason: message })
    this.close(learner)
  }

  close(learner: LearnerProgress): void {
    const ready = this.ready()
    ready.close ??= []
    ready.close.push(learner)
    this.remove(learner)
  }

  /** It is gone. */
  remove(learner: LearnerProgress): void {
    if (learner.state === 'gone') return
    learner.become('gone')
    this.joining.delete(learner)
    if (this.led.delete(learner)) this.hasLost = true
  }

  /** Whether one of those that were led has gone since the last call. */
  takeLosses(): boolean {
    const { hasLost } = this
    this.hasLost = false
    return hasLost
  }

  clear(): void {
    this.joining.clear()
    this.led.clear()
  }

  /** Those with a vote that are connected and up to date, and this server. */
  upToDateVoters(self: ServerId): Set<ServerId> {
    const voters = new Set([self])
    for (const learner of this.led) if (learner.isUpToDateVoter) voters.add(learner.sid)
    return voters
  }

  // --- what they are sent ----------------------------------------------------------------------

  /** Sends at once, past what has to wait. */
  send(learner: LearnerProgress, packet: QuorumPacket): void {
    learner.sending(packet, this.nowMs)
    const ready = this.ready()
    ready.send ??= []
    ready.send.push({ to: learner, packet })
  }

  /** Sends behind everything that has to wait. The bytes count against what may wait. */
  tell(learner: LearnerProgress, packet: QuorumPacket, bytes = 0): void {
    if (!learner.keeps(packet, bytes)) this.send(learner, packet)
    if (learner.queuedBytes > this.queueBytesMax) this.drop(learner, 'too much waits for it')
  }

  propose(learner: LearnerProgress, { zxid, payload }: LoggedTxn): void {
    this.tell(learner, packetOf('proposal', zxid, payload), payload.length)
  }

  /** Sends what has waited; from now on nothing waits. */
  release(learner: LearnerProgress): void {
    for (const packet of learner.takeHeld()) this.send(learner, packet)
  }

  sendUpToDate(learner: LearnerProgress): void {
    learner.become('upToDate')
    this.send(learner, upToDate)
    this.release(learner)
  }

  sendHistory(learner: LearnerProgress, plan: SyncPlan, zxid: bigint): void {
    const ready = this.ready()
    ready.history ??= []
    ready.history.push({ to: learner, plan, zxid })
  }

  listen(learner: LearnerProgress): void {
    const ready = this.ready()
    ready.listen ??= []
    ready.listen.push(learner)
  }
}
