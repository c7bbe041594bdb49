import { codes, packetOf, packetTypes, Reader, Writer, type QuorumPacket } from '@zabra/protocol'
import { TimeoutError } from '../../base/timeout-error.ts'
import type { MembershipState } from '../../membership/membership-state.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { CommittedLog, LoggedTxn } from '../../storage/log/committed-log.ts'
import { epochOf, epochStart } from '../../storage/zxid.ts'
import { epochQuestion, readIntroduction, refuseStranger } from './greeting.ts'
import type { LearnerProgress, LearnerView } from './learner-progress.ts'
import {
  Learners,
  type ForLearners,
  type HistoryToSend,
  type LearnerEvent,
  type Outgoing,
} from './learners.ts'
import type { ZabOptions, ZabTrace } from './options.ts'
import { expectPacket, isPeerFault } from './packets.ts'
import { planSync } from './sync-plan.ts'

/** The parts of its follower that an observer master may read. */
export interface ObserverMasterParts {
  readonly self: ServerId
  /** The epoch of the leader. */
  readonly epoch: bigint
  readonly db: { readonly lastZxid: bigint }
  readonly committedLog: Pick<CommittedLog, 'all'>
  readonly configs: MembershipState
  /** The leader's proposals to the follower. */
  readonly proposals: {
    /** The last transaction that is not committed; undefined for none. */
    readonly lastPending: bigint | undefined
  }
  readonly trace: ZabTrace
  /** The most bytes in the queue of an observer; above it the observer is dropped. */
  readonly queueBytesMax: number
}

/** The inputs of an observer master. */
export type ObserverMasterInput =
  | LearnerEvent
  /** A transaction was applied here. If it changes the members, `leader` leads them. */
  | { readonly type: 'committed'; readonly txn: LoggedTxn; readonly leader: ServerId | undefined }
  /** The leader has answered a sync. */
  | { readonly type: 'synced'; readonly observer: LearnerProgress }
  /** The leader has answered whether a session is valid. */
  | {
      readonly type: 'revalidated'
      readonly observer: LearnerProgress
      /** Identifies the request and its answer. */
      readonly zxid: bigint
      readonly sessionId: bigint
      readonly isValid: boolean
    }
  /** A client continues its session at this server. */
  | { readonly type: 'sessionCame'; readonly sessionId: bigint }
  | { readonly type: 'sessionEnded'; readonly sessionId: bigint }
  | { readonly type: 'tick' }
  | { readonly type: 'halfTick' }
  /** This server does not follow any more: its observers look for another one. */
  | { readonly type: 'end' }

/** A request of an observer, for the follower's connection to the leader. */
export type Relayed =
  | { readonly type: 'request'; readonly packet: QuorumPacket }
  /** The input `synced` follows. */
  | { readonly type: 'sync'; readonly packet: QuorumPacket; readonly observer: LearnerProgress }
  /** The input `revalidated` follows. */
  | {
      readonly type: 'revalidate'
      readonly observer: LearnerProgress
      readonly zxid: bigint
      readonly sessionId: bigint
      readonly timeoutMs: number
    }
  /** Sessions whose clients have sent something: pairs of id and timeout. */
  | { readonly type: 'touch'; readonly sessions: Reader }

/**
 * All that an observer master asks of its driver after an input. The driver carries out the fields
 * in the order in which they are declared here.
 *
 * These facts rest on this order: a history is planned from what is applied here, and a transaction is
 * applied before the input `committed` names it. So everything that is committed later reaches the
 * observer behind its history.
 */
export class ObserverMasterReady implements ForLearners {
  send: Outgoing[] | undefined
  /** Sent in this order. */
  relay: Relayed[] | undefined
  history: HistoryToSend[] | undefined
  listen: LearnerProgress[] | undefined
  close: LearnerProgress[] | undefined
  /** The role has ended: all connections are closed. */
  ended = false
}

/** The packet that tells an observer of a committed transaction. */
interface AfterCommit {
  readonly zxid: bigint
  readonly to: LearnerProgress
  readonly packet: QuorumPacket
}

/** This server's history did not begin with an epoch: an observer's last zxid must be found in it. */
const noStart = { epoch: -1n, zxid: 0n }

/**
 * Serves observers in place of the leader: a follower brings them to its own history and tells them
 * of each transaction when it is committed. What they ask for goes up over the follower's own
 * connection; the leader knows nothing of them.
 *
 * A machine: `step` takes an input, `takeReady` says what follows from it (see ObserverMasterReady).
 */
export class ObserverMaster {
  private readonly parts: ObserverMasterParts
  private readonly options: ZabOptions
  private readonly observers: Learners
  /** The observer of each session; undefined for clients of this server. */
  private readonly owners = new Map<bigint, LearnerProgress | undefined>()
  /** Oldest first. */
  private afterCommit: AfterCommit[] = []
  private halfTicks = 0
  private isOver = false
  private made: ObserverMasterReady | undefined

  constructor(parts: ObserverMasterParts, options: ZabOptions) {
    this.parts = parts
    this.options = options
    const { trace, queueBytesMax } = parts
    this.observers = new Learners(this, trace, queueBytesMax)
  }

  get observerCount(): number {
    return this.observers.led.size
  }

  get observerViews(): LearnerView[] {
    return Array.from(this.observers.led, ({ view }) => view)
  }

  // --- in and out --------------------------------------------------------------------------------

  step(input: ObserverMasterInput, nowMs: number): void {
    this.observers.nowMs = nowMs
    if (!this.isOver) this.take(input)
    else if (input.type === 'connected') this.observers.close(input.learner)
  }

  /** The results of the inputs since the last call; undefined if there are none. */
  takeReady(): ObserverMasterReady | undefined {
    const { made } = this
    this.made = undefined
    return made
  }

  /** Collects the requests to the driver. */
  get ready(): ObserverMasterReady {
    this.made ??= new ObserverMasterReady()
    return this.made
  }

  private take(input: ObserverMasterInput): void {
    switch (input.type) {
      case 'committed':
        this.committed(input.txn, input.leader)
        return
      case 'packet':
        this.takePacket(input.learner, input.packet)
        return
      case 'synced':
        if (input.observer.state !== 'gone') {
          this.observers.send(input.observer, packetOf('sync', 0n))
        }
        return
      case 'revalidated':
        this.revalidated(input)
        return
      case 'sessionCame':
        if (this.owners.has(input.sessionId)) this.owners.set(input.sessionId, undefined)
        return
      case 'sessionEnded':
        this.owners.delete(input.sessionId)
        return
      case 'tick':
        this.refuseSilent()
        return
      case 'halfTick':
        this.halfTick()
        return
      case 'end':
        this.isOver = true
        this.ready.ended = true
        this.observers.clear()
        return
      default:
        this.takeConnection(input)
    }
  }

  private takeConnection(
    input:
      | Extract<LearnerEvent, { type: 'connected' | 'historySent' | 'failed' | 'lost' }>
      | { type: 'packetsRead' },
  ): void {
    const { observers } = this
    switch (input.type) {
      case 'connected':
        observers.admit(input.learner)
        input.learner.deadlineMs = observers.nowMs + this.limitMs
        return
      case 'historySent':
        this.historySent(input.learner)
        return
      case 'failed':
        if (input.learner.state !== 'gone') observers.refuse(input.learner, input.reason)
        return
      case 'lost':
        observers.remove(input.learner)
        return
      default:
    }
  }

  // --- joining -----------------------------------------------------------------------------------

  private get limitMs(): number {
    return this.options.tickMs * this.options.initLimit
  }

  /** A malformed packet costs the observer its connection, nothing else. */
  private takePacket(observer: LearnerProgress, packet: QuorumPacket): void {
    const isJoining = !observer.hasReached('promised')
    try {
      if (observer.state === 'connected') this.introduce(observer, packet)
      else if (observer.state === 'asked') this.promise(observer, packet)
      else this.receive(observer, packet)
    } catch (error) {
      if (!isPeerFault(error)) throw error
      if (isJoining) this.observers.refuse(observer, error)
      else this.observers.close(observer)
    }
  }

  /** OBSERVERINFO came. */
  private introduce(observer: LearnerProgress, packet: QuorumPacket): void {
    const { self, configs, epoch } = this.parts
    expectPacket(packet, 'observerInfo')
    observer.sid = readIntroduction(packet, self).serverId
    observer.isObserver = true
    refuseStranger(observer.sid, configs, this.options)
    observer.become('introduced')
    this.observers.send(observer, epochQuestion(epoch))
    observer.become('asked')
    observer.deadlineMs = this.observers.nowMs + this.limitMs
    this.observers.listen(observer)
  }

  /** ACKEPOCH came. */
  private promise(observer: LearnerProgress, packet: QuorumPacket): void {
    const { epoch, db } = this.parts
    expectPacket(packet, 'ackEpoch')
    // It comes from a follower that had heard of more. Nothing of that is to be cut off: it comes
    // back in a moment, or goes to another.
    if (epochOf(packet.zxid) === epoch && packet.zxid > db.lastZxid) {
      this.observers.close(observer)
      return
    }
    observer.loggedZxid = packet.zxid
    observer.become('promised')
    this.observers.add(observer)
    this.synchronize(observer)
  }

  private refuseSilent(): void {
    const { observers, limitMs } = this
    for (const observer of observers.joining) {
      if (observers.nowMs <= observer.deadlineMs) continue
      const what = observer.state === 'connected' ? 'an introduction' : 'an answer to the epoch'
      observers.refuse(observer, new TimeoutError(`${what} took longer than ${limitMs} ms`))
    }
  }

  /** Transactions committed from now on reach the observer after its history. */
  private synchronize(observer: LearnerProgress): void {
    const { db, committedLog, trace, configs } = this.parts
    const { sid, loggedZxid } = observer
    // A copy, because transactions are added while the history is being sent.
    const plan = planSync(loggedZxid, [...committedLog.all()], db.lastZxid, noStart)
    trace({ type: 'synchronizing', sid, plan: plan.kind, fromDisk: false })
    observer.plan = plan.kind
    // The configuration at the end of the history.
    if (plan.kind !== 'snap') observer.config = configs.committedText
    observer.become('synchronizing')
    this.observers.hold(observer)
    this.observers.sendHistory(observer, plan, db.lastZxid)
  }

  private historySent(observer: LearnerProgress): void {
    const { epoch, configs } = this.parts
    if (observer.state !== 'synchronizing') return
    // A snapshot may hold parts of transactions committed while it was sent: with those it is exact.
    if (observer.plan === 'snap') this.observers.release(observer)
    this.observers.hold(observer)
    const config = observer.config ?? configs.committedText
    this.observers.send(observer, packetOf('newLeader', epochStart(epoch), config))
    observer.become('sent')
    observer.deadlineTick = this.halfTicks + 2 * (this.options.initLimit + this.options.syncLimit)
    this.observers.listen(observer)
  }

  // --- from the follower -------------------------------------------------------------------------

  /** Pings the observers, and drops silent ones. */
  private halfTick(): void {
    this.halfTicks++
    const ping = packetOf('ping', this.parts.db.lastZxid)
    for (const observer of this.observers.led) {
      if (!observer.hasReached('sent')) continue
      this.observers.send(observer, ping)
      if (observer.deadlineTick < this.halfTicks) {
        this.observers.drop(observer, 'it was silent for too long')
      }
    }
  }

  private committed({ zxid, payload }: LoggedTxn, leader: ServerId | undefined): void {
    const packet =
      leader === undefined ? packetOf('inform', zxid, payload) : activation(zxid, payload, leader)
    for (const observer of this.observers.led) {
      if (observer.hasReached('synchronizing'))
        this.observers.tell(observer, packet, payload.length)
    }
    const { afterCommit } = this
    while (afterCommit.length > 0 && afterCommit[0]!.zxid <= zxid) {
      const { to, packet: answer } = afterCommit.shift()!
      if (to.state !== 'gone') this.observers.send(to, answer)
    }
  }

  // --- from observers ----------------------------------------------------------------------------

  private receive(observer: LearnerProgress, packet: QuorumPacket): void {
    observer.deadlineTick = this.halfTicks + 2 * this.options.syncLimit
    switch (packet.type) {
      case packetTypes.ack:
        this.receiveAck(observer)
        return
      case packetTypes.ping:
        this.touch(packet.data)
        return
      case packetTypes.revalidate:
        this.revalidate(observer, packet)
        return
      case packetTypes.request:
        this.request(observer, packet)
        return
      default:
    }
  }

  private receiveAck(observer: LearnerProgress): void {
    if (observer.state === 'sent') {
      observer.become('acknowledged')
      this.observers.sendUpToDate(observer)
    } else if (observer.state === 'upToDate') {
      observer.become('following')
    }
  }

  private touch(data: Uint8Array | null): void {
    if (data !== null) this.relay({ type: 'touch', sessions: new Reader(data) })
  }

  private revalidate(observer: LearnerProgress, { zxid, data }: QuorumPacket): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    const sessionId = reader.long()
    const timeoutMs = reader.int()
    this.owners.set(sessionId, observer)
    this.relay({ type: 'revalidate', observer, zxid, sessionId, timeoutMs })
  }

  private revalidated({
    observer,
    zxid,
    sessionId,
    isValid,
  }: Extract<ObserverMasterInput, { type: 'revalidated' }>): void {
    // No transaction will end it.
    if (!isValid) this.owners.delete(sessionId)
    if (observer.state === 'gone') return
    const answer = new Writer(16)
    answer.long(sessionId)
    answer.bool(isValid)
    const packet = packetOf('revalidate', zxid, answer.written())
    // Writes of the session elsewhere were proposed to us, and not to the observer: it would take
    // the outcome for an answer to what it asks for itself.
    const { lastPending } = this.parts.proposals
    if (lastPending === undefined) this.observers.send(observer, packet)
    else this.afterCommit.push({ zxid: lastPending, to: observer, packet })
  }

  private request(observer: LearnerProgress, packet: QuorumPacket): void {
    observer.requests++
    const reader = new Reader(packet.data ?? new Uint8Array(0))
    const sessionId = reader.long()
    reader.int()
    const type = reader.int()
    if (type === codes.createSession) this.owners.set(sessionId, observer)
    if (type === codes.sync) {
      this.relay({ type: 'sync', packet, observer })
    } else if (type === codes.closeSession || this.isWith(observer, sessionId)) {
      this.relay({ type: 'request', packet })
    } else {
      // To the leader we are all one, so it would not say that the session has moved, and only with
      // its answer would the observer close the connection: it is made to close them all.
      this.observers.drop(observer, 'a session that it writes for has moved')
    }
  }

  private isWith(observer: LearnerProgress, sessionId: bigint): boolean {
    return !this.owners.has(sessionId) || this.owners.get(sessionId) === observer
  }

  private relay(relayed: Relayed): void {
    ;(this.ready.relay ??= []).push(relayed)
  }
}

/** A change of members, preceded by the server that leads them. */
function activation(zxid: bigint, payload: Uint8Array, leader: ServerId): QuorumPacket {
  const named = new Writer(8 + payload.length)
  named.long(leader)
  named.raw(payload)
  return packetOf('informAndActivate', zxid, named.written())
}
