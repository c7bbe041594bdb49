import {
  codes,
  LearnerInfo,
  MalformedError,
  packetTypes,
  quorumProtocolVersion,
  Reader,
  Writer,
  type QuorumPacket,
  type Txn,
  type TxnHeader,
} from '@zabra/protocol'
import type { Database } from '../../state/database.ts'
import type { ClientPipeline } from '../../service/client-pipeline.ts'
import type { ClientConnection } from '../../service/connection.ts'
import type { GlobalUpstream } from '../../service/sessions/local-sessions.ts'
import type { Upstream } from '../../service/upstream.ts'
import type { WriteTicket } from '../../service/write-ticket.ts'
import { newSession, type Session } from '../../service/sessions/tracker.ts'
import type { CommittedLog, LoggedTxn } from './history/committed-log.ts'
import type { MembershipState } from '../../membership/membership-state.ts'
import { decodeTxn, type DecodedTxn } from './history/decoded-txn.ts'
import { Deferred, TimeoutError } from '../../base/deferred.ts'
import { counterOf, epochOf, epochStart, follows, type Epochs } from './history/epochs.ts'
import { Fifo } from '../../base/fifo.ts'
import type { Membership } from '../../membership/membership.ts'
import type { ObserverMaster, LeaderRelay } from './observer-master.ts'
import type { ZabOptions, ZabTrace } from './options.ts'
import { expectPacket, ProtocolError, type PacketLink } from './links/packet-link.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { changeForLearner, configOf, readConfig } from './role-change.ts'

/** What a learner asks of the server it is part of. */
export interface LearnerParts {
  readonly self: ServerId
  /** Who brings us up: the leader, or a follower that takes observers. */
  readonly leader: ServerId
  /** Who leads the ensemble. */
  readonly elected: ServerId
  readonly isObserver: boolean
  readonly epochs: Epochs
  readonly db: Database
  readonly pipeline: ClientPipeline
  readonly committedLog: CommittedLog
  readonly configs: MembershipState
  /** Our own history is of no use: the leader is asked for all of its own. */
  readonly wantsEverything: boolean
  /** There is none, where there should be one: nobody can tell what it was. */
  readonly lacksData?: boolean
  readonly nowMs: () => number
  readonly trace: ZabTrace
  /** Puts a record into the log's next batch. */
  readonly append: (txn: LoggedTxn) => void
  /** Resolves when everything appended is durable. */
  readonly flush: () => Promise<void>
  /** Replaces the database by one that is read from the link; not durable yet. */
  readonly loadFrom: (link: PacketLink, zxid: bigint) => Promise<void>
  /** Forgets, durably, everything after a transaction. */
  readonly truncate: (zxid: bigint) => Promise<void>
  /** Writes a snapshot of the database, durable when it resolves. */
  readonly takeSnapshot: () => Promise<void>
  /** Makes the snapshot that is being written, if any, fail. */
  readonly abandonSnapshot: () => void
  /** This server is up to date with its leader: clients may be served from now on. */
  readonly serving: (epoch: bigint) => void
  /** What stands between clients and us, where something does. */
  readonly behind?: (upstream: GlobalUpstream) => Upstream
}

interface Forwarded {
  readonly ticket: WriteTicket
  /** The last proposal when it was sent to the leader: its own comes later. */
  readonly after: bigint
}

/** We have promised a newer epoch than the leader's: it begins another one when it hears of that. */
export class OlderEpochError extends ProtocolError {
  override readonly name: string = 'OlderEpochError'
}

/**
 * Follows a leader, or observes it: takes over its history, then logs and acknowledges what it
 * proposes and applies what it commits. For its own clients it is where writes go: it sends
 * them to the leader and answers when they come back committed.
 *
 * `follow` runs until the connection to the leader ends.
 */
export class Learner implements GlobalUpstream, LeaderRelay {
  readonly acceptsWrites = true
  /** The observers that this server takes in, where it does. */
  observers: ObserverMaster | undefined
  /** Memory is not what a restart would read: a snapshot is not stored, or a log half cut. */
  isTorn = false
  private readonly parts: LearnerParts
  private readonly options: ZabOptions
  private readonly link: PacketLink
  private readonly ended = new Deferred<never>()
  private epoch = 0n
  private isServing = false
  /** When it was last we ourselves that somebody would have had to wait for. */
  private lastBusyMs: number
  /** What we had when the leader began to send its history. */
  private base = 0n
  /** Proposed and not committed, oldest first. */
  private readonly pending = new Fifo<DecodedTxn>()
  private lastProposed = 0n
  private lastAppended = 0n
  private lastAcked = 0n
  private readonly sessions = new Map<bigint, Session>()
  private touched = new Map<bigint, number>()
  /** One for all: what is sent is copied at once. */
  private readonly requestBody = new Writer()
  /** Writes sent to the leader, by session, oldest first: also of connections that are gone. */
  private readonly forwarded = new Map<bigint, Forwarded[]>()
  private readonly syncs: (() => void)[] = []
  private readonly revalidating = new Map<bigint, ((isValid: boolean) => void)[]>()

  constructor(parts: LearnerParts, options: ZabOptions, link: PacketLink) {
    this.parts = parts
    this.options = options
    this.link = link
    this.lastBusyMs = parts.nowMs()
    link.onClosed = () =>
      this.ended.reject(link.brokenBy ?? new Error('the connection to the leader is lost'))
  }

  // --- the course of following -----------------------------------------------------------------

  /** Rejects when following ends, with the reason. */
  async follow(): Promise<never> {
    const { trace, leader } = this.parts
    const joining = this.join()
    try {
      await Promise.race([joining, this.ended.promise])
      trace({ type: 'following', leader, epoch: this.epoch })
      return await this.ended.promise
    } finally {
      this.link.close()
      this.observers?.end()
      // What was begun on disk comes to its end before another role touches the disk.
      await joining.catch(() => {})
    }
  }

  /** The leader must be heard of within the limit, as long as it is we who wait. */
  tick(): void {
    const { tickMs, initLimit, syncLimit } = this.options
    const nowMs = this.parts.nowMs()
    if (!this.isServing && !this.link.isWaiting) {
      this.lastBusyMs = nowMs
      return
    }
    const sinceMs = Math.max(this.link.lastHeardMs, this.lastBusyMs)
    if (nowMs - sinceMs > tickMs * (this.isServing ? syncLimit : initLimit)) {
      this.end(new TimeoutError('the leader has not been heard of in time'))
    }
  }

  end(reason: Error): void {
    this.ended.reject(reason)
    this.link.close()
  }

  /** Discovery and synchronisation: resolves when this server is up to date and serves. */
  private async join(): Promise<void> {
    await this.agreeOnEpoch()
    const operation = await this.link.next()
    const kind = expectPacket(operation, 'diff', 'trunc', 'snap')
    this.parts.trace({ type: 'takingOver', leader: this.parts.leader, plan: kind })
    if (kind === 'snap') {
      await this.parts.loadFrom(this.link, this.nameOfSnapshot(operation.zxid))
      this.isTorn = true
      this.parts.db.isExact = false
      this.parts.committedLog.clear()
    } else if (kind === 'trunc') {
      this.isTorn = true
      await this.parts.truncate(operation.zxid)
      this.isTorn = false
    }
    this.base = this.lastProposed = this.parts.db.lastZxid
    await this.takeHistory(kind === 'snap')
    await this.awaitUpToDate()
  }

  /**
   * A snapshot that ends before our own history does is stored under the start of the new epoch:
   * there it lies beyond everything we have, none of which may be replayed on top of it.
   */
  private nameOfSnapshot(zxid: bigint): bigint {
    const { lastZxid } = this.parts.db
    const start = epochStart(this.epoch)
    return zxid < lastZxid && start > lastZxid ? start : zxid
  }

  private async agreeOnEpoch(): Promise<void> {
    const { epochs, self, isObserver, db, wantsEverything, configs } = this.parts
    const info = new Writer(20)
    LearnerInfo.write(info, {
      serverId: self,
      protocolVersion: quorumProtocolVersion,
      configVersion: configs.committed.version,
    })
    // -1 lies before every history, so that nothing but a snapshot can answer it.
    const lastLogged = wantsEverything ? -1n : db.lastZxid
    const hello = isObserver ? 'observerInfo' : 'followerInfo'
    this.link.send(hello, epochStart(epochs.accepted), info.written())
    const answer = await this.link.next()
    expectPacket(answer, 'leaderInfo')
    this.epoch = epochOf(answer.zxid)
    if (this.epoch < epochs.accepted) {
      throw new OlderEpochError(
        `epoch ${this.epoch} is older than ${epochs.accepted}, promised before`,
      )
    }
    const isNew = this.epoch > epochs.accepted
    if (isNew) await epochs.setAccepted(this.epoch)
    this.link.send('ackEpoch', lastLogged, this.promiseOf(isNew))
  }

  /**
   * The epoch of our history. With -1 we are brought up and count for nothing: if we have promised
   * the epoch before, or ask for everything, since then the zxid does not say what we have. What we
   * have follows in that case, behind all that Apache reads: a leader may need us for its quorum.
   */
  private promiseOf(isNew: boolean): Uint8Array {
    const { epochs, db, wantsEverything, lacksData } = this.parts
    const counts = isNew && !lacksData
    const data = new Writer(16)
    data.int(counts && !wantsEverything ? Number(epochs.current) : -1)
    if (counts && wantsEverything) {
      data.int(Number(epochs.current))
      data.long(db.lastZxid)
    }
    return data.written()
  }

  /** Everything up to NEWLEADER: what is committed of it is durable before we say so. */
  private async takeHistory(isSnapshot: boolean): Promise<void> {
    const { epochs, flush, takeSnapshot, abandonSnapshot, isObserver, configs } = this.parts
    const committed: bigint[] = []
    let config: Membership | undefined
    for (;;) {
      const packet = await this.link.next()
      const { type, zxid } = packet
      if (type === packetTypes.newLeader) {
        config = readConfig(packet.data ?? new Uint8Array(0))
        break
      }
      if (type === packetTypes.proposal) this.propose(packet)
      else if (type === packetTypes.commit || type === packetTypes.commitAndActivate) {
        // A configuration among them counts from UPTODATE on: that of NEWLEADER is no older.
        committed.push(zxid)
      } else if (type === packetTypes.inform || type === packetTypes.informAndActivate) {
        this.propose(type === packetTypes.inform ? packet : withoutLeader(packet))
        committed.push(zxid)
      }
    }
    const history = committed.filter((zxid) => zxid > this.base)
    if (isSnapshot) {
      // What was sent may contain what follows it, or parts of it. With all of that applied it is
      // exact, and that is what is stored: digests say nothing before.
      for (const zxid of history) this.commit(this.nextPending(zxid))
      this.parts.db.isExact = true
      await takeSnapshot()
      this.isTorn = false
    } else {
      // Without a quorum for it, this history may be cut off again: a snapshot that was begun before
      // must not contain it.
      if (history.length > 0) abandonSnapshot()
      for (const zxid of history) {
        const txn = this.nextPending(zxid)
        this.append(txn)
        this.commit(txn)
      }
    }
    if (isObserver && this.pending.length > 0) {
      throw new ProtocolError('an observer is told only of what is committed')
    }
    await flush()
    // Also where we have seen a newer one: what we were proposed with it is not in this history.
    configs.setLogged(config)
    await configs.saved
    await epochs.setCurrent(this.epoch)
    this.lastAcked = this.parts.db.lastZxid
    this.link.send('ack', epochStart(this.epoch))
  }

  /** Live packets may come before UPTODATE; they count from then on. */
  private async awaitUpToDate(): Promise<void> {
    const early: QuorumPacket[] = []
    for (;;) {
      const packet = await this.link.next()
      if (packet.type === packetTypes.upToDate) break
      // A sign of life is answered only once we serve: the leader waits for our acknowledgement.
      if (packet.type !== packetTypes.ping) early.push(packet)
    }
    this.enterConfig()
    this.link.send('ack', epochStart(this.epoch))
    this.isServing = true
    // Clients of the leader have seen the start of the epoch: they must be able to come here.
    this.parts.db.advance(epochStart(this.epoch))
    this.parts.serving(this.epoch)
    for (const id of this.parts.db.sessions.keys()) this.sessionOf(id)
    this.parts.pipeline.upstream = this.parts.behind?.(this) ?? this
    for (const txn of this.pending.all()) this.append(txn)
    for (const packet of early) this.receive(packet)
    this.link.onPacket(
      (packet) => this.receive(packet),
      () => this.parts.pipeline.readOn(),
    )
  }

  /**
   * The configuration of NEWLEADER is committed, unless it is one that its leader has proposed to
   * others and not yet to us: an Apache leader sends such a one, too.
   */
  private enterConfig(): void {
    const { configs, db } = this.parts
    const { newest } = configs
    if (counterOf(newest.version) !== 0n && newest.version > db.lastZxid) return
    const change = this.activate(newest, undefined)
    if (change !== undefined) throw change
  }

  /** Why we cannot go on like this under a configuration that is committed, if so. */
  private activate(
    config: Membership | undefined,
    successor: ServerId | undefined,
  ): Error | undefined {
    const { configs, self, elected: leader, isObserver } = this.parts
    const before = configs.committed
    if (config === undefined || !configs.commit(config)) return undefined
    return changeForLearner(before, config, { self, leader, isObserver, successor })
  }

  private commitAndActivate(zxid: bigint, successor: ServerId): void {
    const txn = this.nextPending(zxid)
    const change = this.activate(configOf(txn), successor)
    this.commit(txn, successor)
    if (change !== undefined) this.end(change)
  }

  // --- broadcast -------------------------------------------------------------------------------

  private receive(packet: QuorumPacket): void {
    switch (packet.type) {
      case packetTypes.proposal:
        this.propose(packet)
        this.append(this.pending.last!)
        return
      case packetTypes.commit:
        this.commit(this.nextPending(packet.zxid))
        return
      case packetTypes.inform:
        this.propose(packet)
        this.append(this.pending.last!)
        this.commit(this.nextPending(packet.zxid))
        return
      case packetTypes.commitAndActivate:
        this.commitAndActivate(packet.zxid, leaderNamedBy(packet))
        return
      case packetTypes.informAndActivate:
        this.propose(withoutLeader(packet))
        this.append(this.pending.last!)
        this.commitAndActivate(packet.zxid, leaderNamedBy(packet))
        return
      case packetTypes.ping:
        this.answerPing(packet.zxid)
        return
      case packetTypes.sync:
        this.synced()
        return
      case packetTypes.revalidate:
        this.revalidated(packet.data)
        return
      default:
    }
  }

  private append(txn: DecodedTxn): void {
    this.lastAppended = txn.zxid
    if (txn.txn.type === codes.reconfig) this.see(txn)
    this.parts.append(txn)
  }

  private see(txn: DecodedTxn): void {
    const config = configOf(txn)
    if (config !== undefined) this.parts.configs.seeLogged(config)
  }

  /** In the log, or on the way there, but not known to be committed. */
  get uncommitted(): readonly LoggedTxn[] {
    return this.pending.all().filter(({ zxid }) => zxid <= this.lastAppended)
  }

  private propose({ zxid, data }: QuorumPacket): void {
    if (data === null) throw new MalformedError('a proposal without a transaction')
    // Apache repeats behind a snapshot what the snapshot contains.
    if (zxid <= this.base && !this.isServing) return
    if (!follows(this.lastProposed, zxid)) {
      throw new ProtocolError(
        `after ${this.lastProposed.toString(16)} comes ${zxid.toString(16)}: something is missing`,
      )
    }
    this.pending.push(decodeTxn(zxid, data))
    this.lastProposed = zxid
  }

  private nextPending(zxid: bigint): DecodedTxn {
    const txn = this.pending.first
    if (txn?.zxid !== zxid) {
      throw new ProtocolError(`a commit of ${zxid.toString(16)}, which is not the next proposal`)
    }
    return txn
  }

  /** Applies the oldest pending transaction. Where it changes the members, `successor` leads them. */
  private commit({ zxid, payload, header, txn, digest }: DecodedTxn, successor?: ServerId): void {
    this.pending.shift()
    const { pipeline, db, committedLog } = this.parts
    pipeline.commit(this.takeTicket(header), header, txn)
    committedLog.add({ zxid, payload })
    this.observers?.committed({ zxid, payload }, successor)
    if (digest !== undefined) db.checkDigest(zxid, digest)
  }

  /** Our log holds everything up to here. */
  logged(zxid: bigint): void {
    if (this.parts.isObserver) return
    while (this.isServing && this.lastAcked < zxid) {
      const next = this.nextToAck()
      if (next === undefined || next > zxid) return
      this.link.send('ack', next)
      this.lastAcked = next
    }
  }

  /** One acknowledgement for each, also for what was committed before our own log had it. */
  private nextToAck(): bigint | undefined {
    if (this.lastAcked >= this.lastProposed) return undefined
    return epochOf(this.lastAcked) < this.epoch ? epochStart(this.epoch) + 1n : this.lastAcked + 1n
  }

  private answerPing(zxid: bigint): void {
    const writer = new Writer(12 * this.touched.size + 1)
    for (const [id, timeoutMs] of this.touched) {
      writer.long(id)
      writer.int(timeoutMs)
    }
    this.touched = new Map()
    this.link.send('ping', zxid, writer.written())
  }

  // --- what our clients want -------------------------------------------------------------------

  write(ticket: WriteTicket, body: Reader): void {
    const { sessionId, identities } = ticket.connection
    const writer = this.request(sessionId, ticket.xid, ticket.type)
    writer.rawRange(body.bytes, body.position, body.end)
    this.link.send('request', -1n, writer.written(), [...identities])
    this.remember(sessionId, ticket)
  }

  createSession(ticket: WriteTicket): void {
    const { sessionId, timeoutMs } = ticket.connection
    this.requestSession(sessionId, timeoutMs)
    this.remember(sessionId, ticket)
  }

  makeGlobal({ id, firstTimeoutMs }: Session): Session {
    this.requestSession(id, firstTimeoutMs)
    return this.know(id, firstTimeoutMs)
  }

  private requestSession(sessionId: bigint, timeoutMs: number): void {
    const writer = this.request(sessionId, 0, codes.createSession)
    writer.int(timeoutMs)
    this.link.send('request', -1n, writer.written())
  }

  closeSession(ticket: WriteTicket): void {
    const { sessionId } = ticket.connection
    const session = this.sessions.get(sessionId)
    if (session !== undefined) session.isClosing = true
    const writer = this.request(sessionId, ticket.xid, codes.closeSession)
    this.link.send('request', -1n, writer.written())
    this.remember(sessionId, ticket)
  }

  sync(ticket: WriteTicket): void {
    const { sessionId } = ticket.connection
    const writer = this.request(sessionId, ticket.xid, ticket.type)
    writer.raw(ticket.body!)
    this.link.send('request', -1n, writer.written())
    this.syncs.push(() => this.parts.pipeline.synced(ticket))
  }

  resumeSession(connection: ClientConnection, sessionId: bigint): void {
    this.observers?.sessionCame(sessionId)
    const { timeoutMs } = connection
    this.relayRevalidation({ id: sessionId, timeoutMs }, (isValid) => {
      const session = isValid ? this.sessionOf(sessionId) : undefined
      this.parts.pipeline.resumed(connection, sessionId, session)
    })
  }

  /** Only the leader decides which sessions live; here one is known as long as it is global. */
  sessionOf(sessionId: bigint): Session | undefined {
    const known = this.sessions.get(sessionId)
    if (known !== undefined) return known
    const timeoutMs = this.parts.db.sessions.get(sessionId)
    return timeoutMs === undefined ? undefined : this.know(sessionId, timeoutMs)
  }

  private know(sessionId: bigint, timeoutMs: number): Session {
    const session = newSession(sessionId, timeoutMs, false)
    this.sessions.set(sessionId, session)
    return session
  }

  touch({ sessionId, timeoutMs }: ClientConnection): void {
    this.touched.set(sessionId, timeoutMs)
  }

  applied(header: TxnHeader, txn: Txn): void {
    if (txn.type === codes.createSession) {
      this.touched.set(header.clientId, txn.body.timeOut)
    } else if (txn.type === codes.closeSession) {
      this.sessions.delete(header.clientId)
      this.touched.delete(header.clientId)
      this.observers?.sessionEnded(header.clientId)
    }
  }

  private request(sessionId: bigint, xid: number, type: number): Writer {
    const writer = this.requestBody
    writer.reset()
    writer.long(sessionId)
    writer.int(xid)
    writer.int(type)
    return writer
  }

  private remember(sessionId: bigint, ticket: WriteTicket): void {
    const queue = this.forwarded.get(sessionId)
    const forwarded = { ticket, after: this.lastProposed }
    if (queue === undefined) this.forwarded.set(sessionId, [forwarded])
    else queue.push(forwarded)
  }

  /** Whose write a transaction is, if it is one of ours. */
  private takeTicket({ clientId, cxid, type, zxid }: TxnHeader): WriteTicket | undefined {
    const queue = this.forwarded.get(clientId)
    const first = queue?.[0]
    if (queue === undefined || first?.ticket.xid !== cxid) return undefined
    const { ticket, after } = first
    // Proposed before we asked: it was asked for where the session came from, by a client that
    // counts anew on each connection.
    if (zxid <= after) return undefined
    // The end of a session by the leader is no answer to a request of its client, nor is its
    // becoming global.
    const isOfSession = type === codes.closeSession || type === codes.createSession
    if (isOfSession && ticket.type !== type) return undefined
    queue.shift()
    if (queue.length === 0) this.forwarded.delete(clientId)
    return ticket
  }

  /** Answers come in the order of the questions. */
  private synced(): void {
    this.syncs.shift()?.()
  }

  private revalidated(data: Uint8Array | null): void {
    const reader = new Reader(data ?? new Uint8Array(0))
    const sessionId = reader.long()
    const isValid = reader.bool()
    const waiting = this.revalidating.get(sessionId)
    const answered = waiting?.shift()
    if (waiting?.length === 0) this.revalidating.delete(sessionId)
    answered?.(isValid)
  }

  // --- what our observers want -----------------------------------------------------------------

  get lastPending(): bigint | undefined {
    return this.pending.last?.zxid
  }

  relay({ zxid, data, authinfo }: QuorumPacket): void {
    this.link.send('request', zxid, data, authinfo)
  }

  relaySync(packet: QuorumPacket, answered: () => void): void {
    this.relay(packet)
    this.syncs.push(answered)
  }

  relayRevalidation(
    { id, timeoutMs }: { readonly id: bigint; readonly timeoutMs: number },
    answered: (isValid: boolean) => void,
  ): void {
    const writer = new Writer(12)
    writer.long(id)
    writer.int(timeoutMs)
    this.link.send('revalidate', -1n, writer.written())
    const waiting = this.revalidating.get(id)
    if (waiting === undefined) this.revalidating.set(id, [answered])
    else waiting.push(answered)
  }

  relayTouch(sessionId: bigint, timeoutMs: number): void {
    this.touched.set(sessionId, timeoutMs)
  }
}

/** The leader that a change of configuration names. */
function leaderNamedBy({ data }: QuorumPacket): ServerId {
  return new Reader(data ?? new Uint8Array(0)).long()
}

/** What an observer is told of a change, without that. */
function withoutLeader(packet: QuorumPacket): QuorumPacket {
  return { ...packet, data: packet.data?.subarray(8) ?? null }
}
