import {
  codes,
  MalformedError,
  packetTypes,
  quorumProtocolVersion,
  Reader,
  readLearnerInfo,
  Writer,
  type QuorumPacket,
} from '@zabra/protocol'
import type { Database } from '../../state/database.ts'
import type { Host } from '../../ports.ts'
import type { CommittedLog, LoggedTxn } from '../../storage/log/committed-log.ts'
import type { MembershipState } from '../../membership/membership-state.ts'
import { within } from '../../base/deferred.ts'
import { epochOf, epochStart } from '../../storage/zxid.ts'
import type { ZabOptions, ZabTrace } from './options.ts'
import { drained, sendHistory } from './links/pace.ts'
import { LearnerLinks } from './links/learner-links.ts'
import { expectPacket, LinkLostError, type PacketLink } from './links/packet-link.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { LearnerProgress } from './learner-progress.ts'
import { sendSnapshot } from './links/snapshot-stream.ts'
import { refuseStranger } from './strangers.ts'
import { planSync } from './synchronisation.ts'

/** The follower's own connection to its leader, which carries what observers ask for. */
export interface LeaderRelay {
  /** The last transaction that was proposed here and is not committed; undefined for none. */
  readonly lastPending: bigint | undefined
  relay(packet: QuorumPacket): void
  /** `answered` follows on everything that was committed before the answer. */
  relaySync(packet: QuorumPacket, answered: () => void): void
  relayRevalidation(
    session: { readonly id: bigint; readonly timeoutMs: number },
    answered: (isValid: boolean) => void,
  ): void
  relayTouch(sessionId: bigint, timeoutMs: number): void
}

export interface ObserverMasterParts {
  readonly self: ServerId
  /** That of the leader who is followed. */
  readonly epoch: bigint
  readonly db: Database
  readonly committedLog: CommittedLog
  readonly configs: MembershipState
  readonly host: Host
  readonly trace: ZabTrace
  readonly up: LeaderRelay
  /** A session goes on with an observer: its client has left the connection it had here. */
  readonly sessionLeft: (sessionId: bigint) => void
  /** What may wait for an observer that takes it too slowly; then it is dropped. */
  readonly queueBytesMax: number
}

/** What observers are told of a transaction. */
interface ObserverTxn extends LoggedTxn {
  /** It changes the members, and this one leads them. */
  readonly leader: ServerId | undefined
}

/** No history of ours began with an epoch: what an observer has must be found in it. */
const noStart = { epoch: -1n, zxid: 0n }

/**
 * Serves observers in place of the leader: a follower brings them to its own history and tells them
 * of each transaction when it is committed. What they ask for goes up over the follower's own
 * connection; the leader knows nothing of them.
 */
export class ObserverMaster {
  private readonly parts: ObserverMasterParts
  private readonly options: ZabOptions
  private readonly observers = new Set<LearnerProgress>()
  private readonly links: LearnerLinks
  /** With whom the sessions are that came through here; undefined for this server itself. */
  private readonly owners = new Map<bigint, LearnerProgress | undefined>()
  /** What observers are told behind a transaction that is not committed yet, oldest first. */
  private behind: { readonly zxid: bigint; readonly send: () => void }[] = []
  private halfTicks = 0

  constructor(parts: ObserverMasterParts, options: ZabOptions) {
    this.parts = parts
    this.options = options
    this.links = new LearnerLinks(parts.trace)
  }

  get observerCount(): number {
    return this.observers.size
  }

  /** This server follows no longer: its observers look for another. */
  end(): void {
    this.links.end()
    this.observers.clear()
  }

  // --- joining ---------------------------------------------------------------------------------

  accept(link: PacketLink): void {
    this.links.accept(link, () => this.serve(link))
  }

  private async serve(link: PacketLink): Promise<void> {
    const { epoch, self, db, host } = this.parts
    const { limitMs } = this
    const hello = await this.links.of(link, within(host, limitMs, 'an introduction', link.next()))
    expectPacket(hello, 'observerInfo')
    const info = readLearnerInfo(hello.data)
    if (info === undefined) throw new MalformedError('an observer that does not say who it is')
    const sid = info.serverId
    if (sid === self) throw new MalformedError(`another server ${sid}: our own number`)
    refuseStranger(sid, this.parts.configs, this.options)
    const version = new Writer(4)
    version.int(quorumProtocolVersion)
    link.send('leaderInfo', epochStart(epoch), version.written())
    const ack = await this.links.of(
      link,
      within(host, limitMs, 'an answer to the epoch', link.next()),
    )
    expectPacket(ack, 'ackEpoch')
    // It comes from a follower that had heard of more. Nothing of that is to be cut off: it comes
    // back in a moment, or goes to another.
    if (epochOf(ack.zxid) === epoch && ack.zxid > db.lastZxid) {
      throw new LinkLostError('the observer is ahead of us')
    }
    for (const older of this.observers) if (older.sid === sid) this.drop(older, 'it came anew')
    const joining = { isObserver: true, joinedWallMs: host.wallMs(), deadlineTick: Infinity }
    const observer = new LearnerProgress(link, sid, joining)
    this.observers.add(observer)
    link.onClosed = () => this.lost(observer)
    await this.synchronise(observer, ack.zxid)
    link.onPacket((packet) => this.receive(observer, packet))
  }

  private get limitMs(): number {
    return this.options.tickMs * this.options.initLimit
  }

  /** Whatever is committed from now on reaches the observer behind its history. */
  private async synchronise(observer: LearnerProgress, zxid: bigint): Promise<void> {
    const { link, sid } = observer
    const { db, committedLog, trace, epoch, configs, host } = this.parts
    const plan = planSync(zxid, committedLog.all(), db.lastZxid, noStart)
    trace({ type: 'synchronising', sid, plan: plan.kind, fromDisk: false })
    const pause = (): Promise<void> => drained(host, this.limitMs, link)
    observer.become('synchronising')
    observer.hold()
    // The one that holds where the history ends.
    let config = configs.committedText
    if (plan.kind === 'snap') {
      const source = db.snapshotSource()
      link.send('snap', db.lastZxid)
      await sendSnapshot(link, source, pause, this.options.sliceBytes)
      // It may hold parts of what was committed while it was sent: with that it is exact.
      observer.release()
      observer.hold()
      config = configs.committedText
    } else {
      link.send(plan.kind, plan.zxid)
      await sendHistory(link, plan.txns, pause, this.options.sliceBytes)
    }
    if (link.isClosed) throw new LinkLostError('the observer has left')
    link.send('newLeader', epochStart(epoch), config)
    observer.become('sent')
    observer.deadlineTick = this.halfTicks + 2 * (this.options.initLimit + this.options.syncLimit)
  }

  private inform({ link }: LearnerProgress, { zxid, payload, leader }: ObserverTxn): void {
    if (leader === undefined) {
      link.send('inform', zxid, payload)
      return
    }
    const named = new Writer(8 + payload.length)
    named.long(leader)
    named.raw(payload)
    link.send('informAndActivate', zxid, named.written())
  }

  private lost(observer: LearnerProgress): void {
    this.links.forget(observer.link)
    observer.become('gone')
    this.observers.delete(observer)
  }

  private drop(observer: LearnerProgress, reason: string): void {
    this.parts.trace({ type: 'learnerDropped', sid: observer.sid, reason })
    observer.link.close()
  }

  // --- from the follower -----------------------------------------------------------------------

  /** Every half tick: observers are asked for a sign of life, and those without one dropped. */
  halfTick(): void {
    this.halfTicks++
    for (const observer of this.observers) {
      if (!observer.hasReached('sent')) continue
      observer.link.send('ping', this.parts.db.lastZxid)
      if (observer.deadlineTick < this.halfTicks) this.drop(observer, 'it was silent for too long')
    }
  }

  /** A transaction was applied here. Where it changes the members, `leader` leads them. */
  committed({ zxid, payload }: LoggedTxn, leader: ServerId | undefined): void {
    const told = { zxid, payload, leader }
    for (const observer of this.observers) {
      if (!observer.hasReached('synchronising')) continue
      observer.tell(payload.length, () => this.inform(observer, told))
      if (observer.queuedBytes > this.parts.queueBytesMax) {
        this.drop(observer, 'too much waits for it')
      }
    }
    while (this.behind.length > 0 && this.behind[0]!.zxid <= zxid) this.behind.shift()!.send()
  }

  /** A client of this server's own goes on with its session here. */
  sessionCame(sessionId: bigint): void {
    if (this.owners.has(sessionId)) this.owners.set(sessionId, undefined)
  }

  sessionEnded(sessionId: bigint): void {
    this.owners.delete(sessionId)
  }

  // --- from observers --------------------------------------------------------------------------

  private receive(observer: LearnerProgress, packet: QuorumPacket): void {
    if (this.links.isOver) return
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
      observer.sendUpToDate()
    } else if (observer.state === 'upToDate') {
      observer.become('following')
    }
  }

  private touch(data: Uint8Array | null): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    while (reader.remaining >= 12) this.parts.up.relayTouch(reader.long(), reader.int())
  }

  private revalidate(observer: LearnerProgress, { zxid, data }: QuorumPacket): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    const id = reader.long()
    const timeoutMs = reader.int()
    this.owners.set(id, observer)
    this.parts.sessionLeft(id)
    this.parts.up.relayRevalidation({ id, timeoutMs }, (isValid) => {
      // Nobody will tell of its end.
      if (!isValid) this.owners.delete(id)
      const answer = new Writer(16)
      answer.long(id)
      answer.bool(isValid)
      const send = (): void => observer.link.send('revalidate', zxid, answer.written())
      // What the session wrote elsewhere was proposed to us, and not to the observer: it would take
      // the outcome for an answer to what it asks for itself.
      const { lastPending } = this.parts.up
      if (lastPending === undefined) send()
      else this.behind.push({ zxid: lastPending, send })
    })
  }

  private request(observer: LearnerProgress, packet: QuorumPacket): void {
    const reader = new Reader(packet.data ?? new Uint8Array(0))
    const sessionId = reader.long()
    reader.int()
    const type = reader.int()
    const { up } = this.parts
    if (type === codes.createSession) this.owners.set(sessionId, observer)
    if (type === codes.sync) {
      up.relaySync(packet, () => observer.link.send('sync', 0n))
    } else if (type === codes.closeSession || this.isWith(observer, sessionId)) {
      up.relay(packet)
    } else {
      // To the leader we are all one, so it would not say that the session has moved, and only with
      // its answer would the observer close the connection: it is made to close them all.
      this.drop(observer, 'a session that it writes for has moved')
    }
  }

  private isWith(observer: LearnerProgress, sessionId: bigint): boolean {
    return !this.owners.has(sessionId) || this.owners.get(sessionId) === observer
  }
}
