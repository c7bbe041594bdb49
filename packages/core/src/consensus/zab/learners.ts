import { packetOf, packetTypes, type QuorumPacket } from '@zabra/protocol'
import type { ServerId } from '../../membership/quorum.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import type { LearnerProgress } from './learner-progress.ts'
import type { ZabTrace } from './options.ts'
import type { SyncPlan } from './sync-plan.ts'

/** The events on the connections of learners. */
export type LearnerEvent =
  /** A learner has connected. */
  | { readonly type: 'connected'; readonly learner: LearnerProgress }
  /** A packet has come. None comes while the learner is not read from (`isListenedTo`). */
  | {
      readonly type: 'packet'
      readonly learner: LearnerProgress
      readonly packet: QuorumPacket
    }
  /** All packets that came together were passed in. */
  | { readonly type: 'packetsRead' }
  /** The history named by `ForLearners.history` is sent. */
  | { readonly type: 'historySent'; readonly learner: LearnerProgress }
  /** It cannot be synchronized: it does not accept data, or the disk cannot be read. */
  | { readonly type: 'failed'; readonly learner: LearnerProgress; readonly reason: Error }
  /** The connection is lost. */
  | { readonly type: 'lost'; readonly learner: LearnerProgress }

export interface Outgoing {
  readonly to: LearnerProgress
  readonly packet: QuorumPacket
}

/** A history on its way to a learner. */
export interface HistoryToSend {
  readonly to: LearnerProgress
  readonly plan: SyncPlan
  /** The zxid in the first packet of a snapshot: the learner has everything up to it afterwards. */
  readonly zxid: bigint
}

/** The requests of a machine to its driver that concern learners; a part of its Ready. */
export interface ForLearners {
  /** Sent in this order. */
  send: Outgoing[] | undefined
  /**
   * Is sent in slices, no faster than it is taken. Nothing else is sent to the learner before the
   * input `historySent` or `failed`. A snapshot holds the database as it is when its turn comes.
   */
  history: HistoryToSend[] | undefined
  /** Learners that are read from again. */
  listen: LearnerProgress[] | undefined
  /** Learners whose connections must be closed. */
  close: LearnerProgress[] | undefined
}

/**
 * Maximum number of connections that have not promised the epoch yet. There are far fewer members.
 * Above it, the oldest connection is closed.
 */
const joiningMax = 200

/** Above this, a snapshot of most databases is shorter than the queue of the learner. */
const queueBytesMaxDefault = 128 * 1024 * 1024

const upToDate = packetOf('upToDate', -1n)

/** The learners of a leader or an observer master, and the packets to them. */
export class Learners {
  /** Connected learners that have not promised the epoch, in the order in which they wait. */
  readonly joining = new Set<LearnerProgress>()
  /** Learners that have promised the epoch: synchronized, or being synchronized. */
  readonly led = new Set<LearnerProgress>()
  nowMs = 0
  /** A learner with a promise has gone, and the machine has not looked at what remains. */
  hasLost = false
  private readonly machine: { readonly ready: ForLearners }
  private readonly trace: ZabTrace
  private readonly queueBytesMax: number

  /** The machine collects this in `ready`, for its driver. */
  constructor(
    machine: { readonly ready: ForLearners },
    trace: ZabTrace,
    queueBytesMax = queueBytesMaxDefault,
  ) {
    this.machine = machine
    this.trace = trace
    this.queueBytesMax = queueBytesMax
  }

  // --- who they are ------------------------------------------------------------------------------

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

  /** Counts it as a learner with a promise, instead of an older connection of the same server. */
  add(learner: LearnerProgress): void {
    this.joining.delete(learner)
    // A server that connects again has left its old connection, even if that is not closed yet.
    for (const older of this.led)
      if (older.sid === learner.sid) this.drop(older, 'it connected again')
    this.led.add(learner)
  }

  /** Puts a learner at the end of those that wait. */
  queue(learner: LearnerProgress): void {
    this.joining.delete(learner)
    this.joining.add(learner)
  }

  /** Drops a learner; the reason is for the log. */
  drop(learner: LearnerProgress, reason: string): void {
    this.trace({ type: 'learnerDropped', sid: learner.sid, reason })
    this.close(learner)
  }

  /** Refuses a learner. */
  refuse(learner: LearnerProgress, { message }: Error): void {
    this.trace({ type: 'learnerRefused', reason: message })
    this.close(learner)
  }

  close(learner: LearnerProgress): void {
    const { ready } = this.machine
    ready.close ??= []
    ready.close.push(learner)
    this.remove(learner)
  }

  /** The connection of a learner has ended. */
  remove(learner: LearnerProgress): void {
    if (learner.state === 'gone') return
    learner.become('gone')
    this.joining.delete(learner)
    if (this.led.delete(learner)) this.hasLost = true
  }

  clear(): void {
    this.joining.clear()
    this.led.clear()
  }

  /** The voters that are connected and up to date, including this server. */
  upToDateVoters(self: ServerId): Set<ServerId> {
    const voters = new Set([self])
    for (const learner of this.led) if (learner.isUpToDateVoter) voters.add(learner.sid)
    return voters
  }

  // --- what they are sent ------------------------------------------------------------------------

  /** Sends at once, ahead of queued packets. */
  send(learner: LearnerProgress, packet: QuorumPacket): void {
    // Transactions of the history it joins with are acknowledged with NEWLEADER, or later.
    if (packet.type === packetTypes.proposal && learner.hasReached('acknowledged')) {
      learner.acks.sent(packet.zxid, this.nowMs)
    }
    const { ready } = this.machine
    ready.send ??= []
    ready.send.push({ to: learner, packet })
  }

  /** Sends after all queued packets. The bytes count against the limit of the queue. */
  tell(learner: LearnerProgress, packet: QuorumPacket, bytes = 0): void {
    const { held } = learner
    if (held === undefined) {
      this.send(learner, packet)
    } else {
      held.push(packet)
      learner.heldBytes += bytes
    }
    if (learner.queuedBytes > this.queueBytesMax)
      this.drop(learner, 'too many bytes are queued for it')
  }

  propose(learner: LearnerProgress, { zxid, payload }: LoggedTxn): void {
    this.tell(learner, packetOf('proposal', zxid, payload), payload.length)
  }

  /** From now on packets are queued, until `release`. */
  hold(learner: LearnerProgress): void {
    learner.held ??= []
  }

  /** Sends the queued packets; from now on packets are sent at once. */
  release(learner: LearnerProgress): void {
    const { held = [] } = learner
    learner.held = undefined
    learner.heldBytes = 0
    for (const packet of held) this.send(learner, packet)
  }

  sendUpToDate(learner: LearnerProgress): void {
    learner.become('upToDate')
    this.send(learner, upToDate)
    this.release(learner)
  }

  sendHistory(learner: LearnerProgress, plan: SyncPlan, zxid: bigint): void {
    const { ready } = this.machine
    ready.history ??= []
    ready.history.push({ to: learner, plan, zxid })
  }

  listen(learner: LearnerProgress): void {
    const { ready } = this.machine
    ready.listen ??= []
    ready.listen.push(learner)
  }
}
