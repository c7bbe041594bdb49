import {
  AuthPacket,
  codes,
  errorCodes,
  FrameLengthError,
  MalformedError,
  Reader,
  requestHeaderBytes,
  Writer,
  xids,
  type Id,
  type MultiTxn,
  type Txn,
  type TxnHeader,
  type TypeOf,
} from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import type { Database } from '../state/database.ts'
import { identityBytes } from '../state/acl/permission.ts'
import { applyTxn, isClientWrite, multi, readOperation, writeResult } from '../operations/index.ts'
import type { Auditor, Authenticator } from '../ports.ts'
import type { SessionPasswords } from './sessions/password.ts'
import type { SessionIds } from './sessions/session-ids.ts'
import { SessionEnds } from './sessions/session-ends.ts'
import type { Session } from './sessions/tracker.ts'
import type { Trace } from './trace.ts'
import { Admission, type AdmissionHost } from './admission.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import { ClientConnection, type ClientLink, type Queued, type QueuedRead } from './connection.ts'
import { ConnectionThrottle, type ConnectionThrottleOptions } from './connection-throttle.ts'
import { Replies, replyErrorAt } from './replies.ts'
import { ServerStats } from './server-stats.ts'
import { Guesses } from './guesses.ts'
import { Load } from './load/load.ts'
import { defaultLimits, weighedBytesMin, type LimitName, type ServiceLimits } from './limits.ts'
import type { Upstream } from './upstream.ts'
import type { WriteTicket } from './write-ticket.ts'

export interface PipelineOptions {
  readonly sessionTimeoutMsMin: number
  readonly sessionTimeoutMsMax: number
  /** Requests in flight beyond which connections that have some are not read from. */
  readonly outstandingMax: number
  readonly frameBytesMax: number
  /** How long a connection may take to introduce itself. */
  readonly sessionlessTimeoutMs: number
  /** Schemes of which a connection must prove one before anything else; empty asks for none. */
  readonly requiredSchemes: readonly string[]
  readonly connectionThrottle?: ConnectionThrottleOptions | undefined
  /** Requests longer than `threshold` may be so many bytes together, while they are in flight. */
  readonly largeRequests?: { readonly threshold: number; readonly bytesMax: number } | undefined
  /** What becomes of requests that have waited because too many were in flight. */
  readonly waiting?: WaitingOptions | undefined
  readonly limits?: Partial<ServiceLimits> | undefined
}

export interface WaitingOptions {
  /** After the time that its session has, a request is stale. */
  readonly staleAfterTimeout: boolean
  /** What is stale costs its connection; otherwise it is only counted. */
  readonly dropStale: boolean
  /** After this long a request is refused instead; 0: never. */
  readonly refuseAfterMs: number
}

/** The time, as the host last told it. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  nowMs: number
  /** Milliseconds since 1970, as transactions are stamped. */
  wallMs: number
}

/** A write that meets so many watches takes a good part of a millisecond. */
const manyWatches = 200
/** Writes in flight while each of them meets that many. */
const fewWrites = 50
const averagedWrites = 8

type Credentials = Pick<TypeOf<typeof AuthPacket>, 'scheme' | 'auth'>

const { ok, unimplemented, marshallingError } = errorCodes
/**
 * The clients of one server, and the order of their requests.
 *
 * A write goes upstream the moment it is read; it is answered when it comes back as a committed
 * transaction. A read is answered at once from the applied state, or waits behind the writes of
 * its own connection. Replies leave in the order of the requests.
 */
export class ClientPipeline implements AdmissionHost {
  readonly db: Database
  readonly stats = new ServerStats()
  readonly load: Load
  readonly connections = new Set<ClientConnection>()
  /** Undefined while this server does not serve: then it takes no handshake. */
  upstream: Upstream | undefined
  readonly sessionEnds: SessionEnds
  /** Called with each transaction right before it is applied; it must not change anything. */
  onCommit: ((header: TxnHeader, txn: Txn) => void) | undefined
  readonly connectionThrottle: ConnectionThrottle | undefined
  /** False: this server has better things to do than to serve clients. */
  takesClients = true
  private isHeld = false
  private largeBytes = 0
  /** Bytes of the requests in flight that are weighed. */
  private heldBytes = 0
  private readonly limits: ServiceLimits
  private readonly unweighedBytesMax: number
  private readonly options: PipelineOptions
  private readonly clock: Clock
  private readonly authenticator: Authenticator
  private readonly auditor: Auditor | undefined
  private readonly trace: Trace
  private readonly replies: Replies
  private readonly admission: Admission
  private readonly reader = new Reader()
  private readonly keeper = new ByteKeeper()
  private readonly multiBody = new Writer()
  private readonly throttled = new Set<ClientConnection>()
  /** They wait until their password is looked at. */
  private readonly delayed = new Set<ClientConnection>()
  private readonly guesses = new Guesses()
  private outstanding = 0
  private watchesMet = 0
  private watchesPerWrite = 0

  constructor(
    parts: {
      db: Database
      clock: Clock
      authenticator: Authenticator
      auditor?: Auditor | undefined
      trace: Trace
      sessionIds: SessionIds
      passwords: SessionPasswords
    },
    options: PipelineOptions,
  ) {
    const { stats } = this
    this.db = parts.db
    this.clock = parts.clock
    this.load = new Load(parts.clock)
    this.sessionEnds = new SessionEnds(parts.clock)
    this.sessionEnds.onEnd = (end) => this.trace({ type: 'sessionEnded', end })
    this.auditor = parts.auditor
    this.authenticator = parts.authenticator
    this.trace = parts.trace
    this.options = options
    this.limits = { ...defaultLimits, ...options.limits }
    const { watchesPerSession: perWatcher, watches: total } = this.limits
    parts.db.watches.limits = { perWatcher, total }
    this.unweighedBytesMax = Math.min(
      weighedBytesMin,
      options.largeRequests?.threshold ?? weighedBytesMin,
    )
    this.replies = new Replies(parts.db, parts.clock, stats)
    const { connectionThrottle } = options
    const throttle =
      connectionThrottle && new ConnectionThrottle(connectionThrottle, parts.clock.nowMs)
    this.connectionThrottle = throttle
    const { replies, sessionEnds } = this
    const admissionParts = { ...parts, stats, replies, throttle, sessionEnds }
    this.admission = new Admission(admissionParts, options, this)
  }

  get outstandingRequests(): number {
    return this.outstanding
  }

  // --- connections -----------------------------------------------------------------------------

  open(link: ClientLink): ClientConnection {
    const { frameBytesMax } = this.options
    const { multiReadBytes: multiReadBytesMax } = this.limits
    const times = this.clock
    const options = { frameBytesMax, multiReadBytesMax, nowMs: times.nowMs, wallMs: times.wallMs }
    const connection = new ClientConnection(link, options, this.onFrame)
    if (this.options.largeRequests !== undefined) {
      connection.announce = (bytes) => this.refuseLarge(bytes)
    }
    this.connections.add(connection)
    return connection
  }

  /** Bytes from a client; the host may reuse the array afterwards. */
  receive(connection: ClientConnection, bytes: Uint8Array, length: number): void {
    if (connection.state === 'closed') return
    this.stats.bytesReceived += length
    const { nowMs } = this.clock
    const gapMs = nowMs - connection.lastHeardMs
    if (gapMs > connection.longestGapMs) connection.longestGapMs = gapMs
    connection.lastHeardMs = nowMs
    // What comes behind a handshake has to wait, and not all of it in our memory.
    if (connection.state === 'connecting') connection.link.pause()
    if (this.isHeld) this.holdBack(connection)
    try {
      connection.cutter.push(bytes, length, connection)
    } catch (error) {
      this.refuseFrame(connection, error)
    }
    this.upstream?.settle?.()
    this.upstream?.allRead?.()
  }

  /** While this is on nobody is read from: what is sent meanwhile waits. */
  hold(isOn: boolean): void {
    this.isHeld = isOn
    if (!isOn) this.readOn()
  }

  private holdBack(connection: ClientConnection): void {
    connection.cutter.hold()
    this.stopReading(connection)
  }

  /** The socket is gone. The session lives on until it is resumed or expires. */
  closed(connection: ClientConnection): void {
    if (connection.session !== undefined) this.sessionEnds.disconnected(connection, connection.end)
    connection.state = 'closed'
    this.connections.delete(connection)
    this.throttled.delete(connection)
    this.delayed.delete(connection)
    this.db.watches.dropWatcher(connection)
    this.admission.left(connection)
    // Writes in flight go on without anybody to answer; reads that waited are not needed.
    if (!connection.isParked) this.outstanding -= connection.queue.length
    if (connection.heldBytes > 0) this.releaseAll(connection)
    connection.queue.clear()
  }

  /** Ends it from our side: what it is owed in `out` still leaves. */
  close(connection: ClientConnection): void {
    if (connection.state === 'closed') return
    this.closed(connection)
    connection.link.close()
  }

  /** Goes on with what a connection has sent and was not read yet. */
  private resume(connection: ClientConnection): void {
    try {
      connection.cutter.resume(connection)
    } catch (error) {
      this.refuseFrame(connection, error)
    }
    this.upstream?.settle?.()
    this.upstream?.allRead?.()
  }

  /** A malformed frame costs the connection it came on, nothing else. */
  private refuseFrame(connection: ClientConnection, error: unknown): void {
    if (!(error instanceof MalformedError)) throw error
    const { address } = connection.link
    if (error instanceof FrameLengthError) this.stats.limitsReached.request_bytes++
    this.trace({ type: 'badFrame', address, reason: error.message })
    this.close(connection)
  }

  private readonly onFrame = (
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean => {
    if (connection.state === 'open') {
      return end - start <= this.unweighedBytesMax
        ? this.request(connection, bytes, start, end)
        : this.weighedRequest(connection, bytes, start, end)
    }
    if (connection.state === 'greeting') return this.greet(connection, bytes, start, end)
    return false
  }

  /** Connections that do not introduce themselves in time are closed. */
  closeSilent(): void {
    for (const connection of this.connections) {
      if (connection.state !== 'greeting' && connection.state !== 'connecting') continue
      if (this.clock.nowMs - connection.openedMs <= this.options.sessionlessTimeoutMs) continue
      this.stats.sessionlessExpired++
      this.close(connection)
    }
  }

  // --- sessions --------------------------------------------------------------------------------

  private greet(
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    return this.admission.greet(connection, this.reader.reset(bytes, start, end))
  }

  proposeSession(connection: ClientConnection, upstream: Upstream): void {
    const ticket = this.ticket(connection, 0, codes.createSession)
    upstream.createSession(ticket)
    this.enqueueWrite(ticket)
  }

  /** The answer to `resumeSession`; the session is undefined where it may not go on. */
  resumed(connection: ClientConnection, sessionId: bigint, session: Session | undefined): void {
    if (connection.state !== 'connecting') return
    if (session === undefined) {
      this.admission.refuse(connection, sessionId, 'unknown')
      return
    }
    this.admission.resumed(connection, session)
    this.goOn(connection)
  }

  // --- requests --------------------------------------------------------------------------------

  /** One request; false to read no further from this connection for the moment. */
  private request(
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    if (end - start < requestHeaderBytes) throw new MalformedError('a frame without a header')
    const { reader, stats, upstream } = this
    reader.reset(bytes, start, end)
    const xid = reader.int()
    const type = reader.int()
    stats.packetsReceived++
    connection.packetsReceived++
    if (--this.load.untilSample <= 0) this.load.sample(connection, type, reader)
    if (type === codes.auth || type === codes.sasl) return this.inline(connection, xid, type)
    if (!this.isPermitted(connection)) {
      this.auditRefusal(connection, type, errorCodes.sessionClosedRequireSaslAuth)
      return this.refuseUnauthenticated(connection, xid)
    }
    assert(upstream !== undefined, 'a connection is open only while this server serves')
    if (connection.session!.isClosing) return true
    upstream.touch(connection)
    if (connection.isLate && type !== codes.ping && type !== codes.closeSession) {
      stats.throttledOps++
      this.auditRefusal(connection, type, errorCodes.throttledOp)
      return this.enqueueRead(connection, xid, type, undefined, errorCodes.throttledOp)
    }
    if (upstream.isReadOnly === true && (type === codes.sync || isClientWrite(type))) {
      this.auditRefusal(connection, type, errorCodes.notReadOnly)
      return this.enqueueRead(connection, xid, type, undefined, errorCodes.notReadOnly)
    }
    if (type === codes.sync && upstream.sync !== undefined) {
      const body = this.keeper.keep(reader.view, reader.position, end)
      const ticket = { ...this.ticket(connection, xid, type), body }
      upstream.sync(ticket)
      return this.enqueueWrite(ticket)
    }
    if (readOperation(type) !== undefined) {
      if (connection.queue.length === 0) {
        this.answerRead(connection, xid, type, reader, this.clock.nowMs)
        if (connection.out.position <= this.limits.unreadBytes) return true
        this.throttle(connection, 'unread_replies')
        return false
      }
      const body = this.keeper.keep(reader.view, reader.position, end)
      return this.enqueueRead(connection, xid, type, body, ok)
    }
    if (type === codes.closeSession) {
      if (connection.session!.isLocal) return this.closeLocalSession(connection, xid)
      const ticket = this.ticket(connection, xid, type)
      upstream.closeSession(ticket)
      this.enqueueWrite(ticket)
      return true
    }
    if (isClientWrite(type)) return this.write(connection, upstream, xid, type)
    return this.refuseUnknown(connection, xid, type)
  }

  /** Counts against the bytes that may be in flight, from its arrival to its answer. */
  private weighedRequest(
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const length = end - start
    if (this.isLarge(length)) this.refuseLarge(length)
    const before = connection.queue.length
    const goesOn = this.request(connection, bytes, start, end)
    if (connection.queue.length <= before) return goesOn
    connection.queue.last!.weighedBytes = length
    connection.heldBytes += length
    this.heldBytes += length
    if (this.isLarge(length)) this.largeBytes += length
    if (connection.heldBytes > this.limits.outstandingBytesPerConnection) {
      this.throttle(connection, 'outstanding_bytes_per_connection')
      return false
    }
    if (this.heldBytes > this.limits.outstandingBytes) this.shedParked()
    if (this.heldBytes > this.limits.outstandingBytes && !isAdministrator(connection)) {
      this.throttle(connection, 'outstanding_bytes')
      return false
    }
    return goesOn
  }

  private isLarge(length: number): boolean {
    const { largeRequests } = this.options
    return largeRequests !== undefined && length > largeRequests.threshold
  }

  private refuseLarge(length: number): void {
    const { threshold, bytesMax } = this.options.largeRequests!
    if (length <= threshold || this.largeBytes + length <= bytesMax) return
    this.stats.largeRequestsRejected++
    throw new MalformedError(`a request of ${length} bytes, while ${this.largeBytes} are in flight`)
  }

  private releaseAll(connection: ClientConnection): void {
    const { queue } = connection
    for (let i = 0; i < queue.length; i++) this.release(connection, queue.at(i)!)
  }

  private release(connection: ClientConnection, { weighedBytes }: Queued): void {
    if (weighedBytes === undefined) return
    connection.heldBytes -= weighedBytes
    this.heldBytes -= weighedBytes
    if (this.isLarge(weighedBytes)) this.largeBytes -= weighedBytes
  }

  /** Nobody else knows it: that it ends is said in its turn, and is no transaction. */
  private closeLocalSession(connection: ClientConnection, xid: number): boolean {
    connection.session!.isClosing = true
    if (connection.queue.length > 0) {
      return this.enqueueRead(connection, xid, codes.closeSession, undefined, ok)
    }
    this.replies.bare(connection, xid, codes.closeSession, ok, this.clock.nowMs)
    this.endLocalSession(connection.sessionId)
    return false
  }

  /** It goes on with another server: its client has left the connection it had here. */
  sessionLeft(sessionId: bigint): void {
    const bound = this.admission.connectionOf(sessionId)
    if (bound !== undefined) this.close(bound)
  }

  /** It is closed, or has expired: its client's connection ends. */
  endLocalSession(sessionId: bigint): void {
    this.trace({ type: 'sessionClosed', sessionId })
    this.upstream?.localSessions?.remove(sessionId)
    const bound = this.admission.connectionOf(sessionId)
    if (bound !== undefined) this.close(bound)
  }

  private write(
    connection: ClientConnection,
    upstream: Upstream,
    xid: number,
    type: number,
  ): boolean {
    if (!upstream.acceptsWrites) {
      this.auditRefusal(connection, type, errorCodes.systemError)
      return this.enqueueRead(connection, xid, type, undefined, errorCodes.systemError)
    }
    const ticket = this.ticket(connection, xid, type)
    if (this.auditor !== undefined) {
      ticket.audited = { request: this.restOfRequest(), identities: connection.identities }
    }
    try {
      upstream.write(ticket, this.reader)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      if (ticket.audited !== undefined) this.auditAnswer(ticket, 0n, undefined, marshallingError)
      return this.enqueueRead(connection, xid, type, undefined, marshallingError)
    }
    return this.enqueueWrite(ticket)
  }

  private ticket(connection: ClientConnection, xid: number, type: number): WriteTicket {
    const receivedMs = this.clock.nowMs
    return {
      kind: 'write',
      connection,
      xid,
      type,
      receivedMs,
      request: undefined,
      audited: undefined,
    }
  }

  private enqueueWrite(ticket: WriteTicket): boolean {
    ticket.connection.queue.push(ticket)
    return this.admitMore(ticket.connection)
  }

  private enqueueRead(
    connection: ClientConnection,
    xid: number,
    type: number,
    body: Uint8Array | undefined,
    error: number,
  ): boolean {
    const receivedMs = this.clock.nowMs
    if (connection.queue.length === 0) {
      assert(body === undefined, 'a read waits only behind something')
      this.replies.bare(connection, xid, type, error, receivedMs)
      return true
    }
    const { identities } = connection
    connection.queue.push({ kind: 'read', xid, type, body, error, receivedMs, identities })
    return this.admitMore(connection)
  }

  /** Counts one more in flight, and stops reading from its connection when there are too many. */
  private admitMore(connection: ClientConnection): boolean {
    if (!connection.isParked) this.outstanding++
    if (connection.queue.length > this.limits.outstandingPerConnection) {
      this.throttle(connection, 'outstanding_requests_per_connection')
      return false
    }
    if (this.outstanding <= this.outstandingMax || isAdministrator(connection)) return true
    this.throttle(connection, 'outstanding_requests')
    return false
  }

  /** Reads no further from a connection that has reached a limit, until there is room again. */
  private throttle(connection: ClientConnection, limit: LimitName): void {
    if (connection.isThrottled) return
    this.stopReading(connection)
    this.limitReached(limit, connection.link.address)
  }

  private stopReading(connection: ClientConnection): void {
    if (connection.isThrottled) return
    connection.isThrottled = true
    connection.waitingSinceMs ??= this.clock.nowMs
    this.stats.throttleWaits++
    this.throttled.add(connection)
    connection.link.pause()
  }

  /** A client has asked for more than it can have. */
  limitReached(limit: LimitName, address: string): void {
    this.stats.limitsReached[limit]++
    this.trace({ type: 'limitReached', limit, address })
  }

  // --- what comes back -------------------------------------------------------------------------

  /** A transaction is committed: it is applied, told to watchers, and answered if it was ours. */
  commit(ticket: WriteTicket | undefined, header: TxnHeader, txn: Txn): void {
    const { db } = this
    const connection = ticket?.connection
    if (connection !== undefined && connection.queue.first !== ticket) this.answerAhead(ticket!)
    const isAnswered = connection !== undefined && connection.state !== 'closed'
    let error: number = ok
    if (this.auditor !== undefined && txn.type === codes.closeSession) {
      this.auditSessionEnd(header, this.auditor)
    }
    if (this.onCommit !== undefined) this.onCommit(header, txn)
    if (txn.type === codes.multi) this.applyMulti(header, txn.body, isAnswered)
    else error = applyTxn(db, header, txn)
    db.advance(header.zxid)
    this.stats.commits++
    this.countWatches()
    this.upstream?.applied(header, txn)
    if (ticket?.audited !== undefined) this.auditAnswer(ticket, header.zxid, txn, error)
    if (header.type === codes.createSession) this.sessionCreated(header.clientId, ticket)
    else if (header.type === codes.closeSession) this.sessionEnded(header, ticket)
    else if (isAnswered) this.answerWrite(ticket!, txn, error)
    if (isAnswered) this.drain(connection)
  }

  /** Applies a multi, and keeps the results of its parts for the reply. */
  private applyMulti(header: TxnHeader, txn: MultiTxn, isAnswered: boolean): void {
    const { multiBody } = this
    multiBody.reset()
    multi.applyParts(this.db, header, txn, isAnswered ? multiBody : undefined)
  }

  /** Keeps an average of the watches that a write meets. */
  private countWatches(): void {
    const { met } = this.db.watches
    this.watchesPerWrite += (met - this.watchesMet - this.watchesPerWrite) / averagedWrites
    this.watchesMet = met
  }

  /** Where each write is told to many, few are in flight: those that commit together are one step. */
  private get outstandingMax(): number {
    const { outstandingMax } = this.options
    return this.watchesPerWrite < manyWatches ? outstandingMax : Math.min(outstandingMax, fewWrites)
  }

  /** A sync that was asked of another server: everything before it is applied here. */
  synced(ticket: WriteTicket): void {
    const { connection, xid, type, body, receivedMs } = ticket
    if (connection.queue.first !== ticket) this.answerAhead(ticket)
    if (connection.state === 'closed') return
    this.reader.reset(body!, 0, body!.length)
    this.answerRead(connection, xid, type, this.reader, receivedMs)
    this.drain(connection)
    this.readOn()
  }

  /** This server stops serving: its clients go elsewhere. */
  stopServing(): void {
    this.upstream = undefined
    this.isHeld = false
    for (const connection of this.connections) {
      if (connection.state !== 'greeting') this.close(connection)
    }
  }

  private answerWrite(ticket: WriteTicket, txn: Txn, error: number): void {
    const { connection, xid, type, receivedMs, refusal } = ticket
    if (txn.type === codes.error && refusal !== undefined) {
      this.replies.bare(connection, xid, type, refusal, receivedMs)
      return
    }
    if (error === errorCodes.sessionMoved) {
      // The session lives on with another server; this connection is not told why it ends.
      this.close(connection)
      return
    }
    const { out } = connection
    const frameAt = this.replies.begin(out, xid)
    if (error !== ok) {
      out.intAt(frameAt + replyErrorAt, error)
    } else if (txn.type === codes.multi) {
      out.rawRange(this.multiBody.bytes, 0, this.multiBody.position)
    } else {
      writeResult(this.db.tree, txn, out)
    }
    this.replies.end(connection, frameAt, xid, type, receivedMs)
    const tookMs = this.clock.nowMs - receivedMs
    this.stats.writeLatency.add(tookMs)
    if (tookMs >= this.load.slowMs) this.load.slowWrite(connection, type, txn, tookMs)
  }

  private sessionCreated(sessionId: bigint, ticket: WriteTicket | undefined): void {
    const connection = ticket?.connection
    if (connection === undefined || connection.state === 'closed') return
    const session = this.upstream?.sessionOf(sessionId)
    assert(session !== undefined, 'a session is known once its transaction is applied')
    this.admission.created(connection, session)
  }

  private sessionEnded(header: TxnHeader, ticket: WriteTicket | undefined): void {
    const { clientId: sessionId } = header
    this.trace({ type: 'sessionClosed', sessionId })
    // Clients number their requests from 1.
    this.sessionEnds.ended(sessionId, header.zxid, header.cxid === 0)
    const bound = this.admission.connectionOf(sessionId)
    const connection = ticket?.connection
    if (connection !== undefined && connection.state !== 'closed') {
      this.replies.bare(connection, ticket!.xid, ticket!.type, ok, ticket!.receivedMs)
      this.close(connection)
    }
    // An expired client is told nothing: its connection ends.
    if (bound !== undefined && bound !== connection) this.close(bound)
  }

  /** The head of the queue was answered: so are the reads behind it, up to the next write. */
  private drain(connection: ClientConnection): void {
    if (connection.state === 'closed') return
    assert(
      connection.queue.first?.kind === 'write',
      'the oldest request in flight is the write just applied',
    )
    this.leaveQueue(connection)
    this.answerQueued(connection)
    this.goOn(connection)
  }

  private leaveQueue(connection: ClientConnection): void {
    const left = connection.queue.shift()!
    if (!connection.isParked) this.outstanding--
    if (connection.heldBytes > 0) this.release(connection, left)
  }

  /** Answers the reads at the head of the queue, as far as their client reads the answers. */
  private answerQueued(connection: ClientConnection): void {
    const { queue, out } = connection
    if (queue.first?.kind !== 'read') return
    const room = this.limits.unreadBytes - connection.link.unsentBytes
    for (let next = queue.first; next?.kind === 'read'; next = queue.first) {
      if (out.position > room) {
        this.throttle(connection, 'unread_replies')
        this.park(connection)
        return
      }
      if (!this.answerFirst(connection, next)) return
    }
  }

  /** What waits for a client that does not read must not count against those that do. */
  private park(connection: ClientConnection): void {
    if (connection.isParked) return
    connection.isParked = true
    this.outstanding -= connection.queue.length
  }

  private unpark(connection: ClientConnection): void {
    if (!connection.isParked) return
    connection.isParked = false
    this.outstanding += connection.queue.length
  }

  /** Large requests of clients that do not read their answers make room for those of others. */
  private shedParked(): void {
    for (const connection of this.throttled) {
      if (this.heldBytes <= this.limits.outstandingBytes) return
      if (!connection.isParked || connection.heldBytes === 0) continue
      this.limitReached('unread_replies', connection.link.address)
      this.close(connection)
    }
  }

  /**
   * Answers the reads that a client has not made room for, because the write behind them is about
   * to be applied: they must not see it. A client that reads nothing for long enough is closed.
   */
  private answerAhead(ticket: WriteTicket): void {
    const { connection } = ticket
    const { queue, out, link } = connection
    for (let next = queue.first; next?.kind === 'read'; next = queue.first) {
      if (out.position + link.unsentBytes > this.limits.unreadBytesMax) {
        this.limitReached('unread_bytes', link.address)
        this.close(connection)
        return
      }
      if (!this.answerFirst(connection, next)) return
    }
  }

  /** Answers the read at the head of the queue; false where that ended its connection. */
  private answerFirst(connection: ClientConnection, read: QueuedRead): boolean {
    if (read.body === undefined) {
      this.replies.bare(connection, read.xid, read.type, read.error, read.receivedMs)
      if (read.type === codes.closeSession) {
        this.endLocalSession(connection.sessionId)
        return false
      }
    } else {
      const present = connection.identities
      connection.identities = read.identities
      this.reader.reset(read.body, 0, read.body.length)
      this.answerRead(connection, read.xid, read.type, this.reader, read.receivedMs)
      connection.identities = present
    }
    if (connection.state === 'closed') return false
    this.leaveQueue(connection)
    return true
  }

  /** What came behind the handshake, or behind too many requests, may go on. */
  private goOn(connection: ClientConnection): void {
    if (!connection.cutter.isHeld || connection.isThrottled) return
    if (connection.delayedAuth !== undefined) return
    this.resume(connection)
    if (!connection.isThrottled && connection.state === 'open') connection.link.resume()
  }

  /** There is room again: connections that were stopped are read from, each in its turn. */
  readOn(): void {
    if (this.isHeld) return
    for (const connection of this.throttled) {
      if (this.isFull && !isAdministrator(connection)) return
      this.readOnFrom(connection)
    }
  }

  private get isFull(): boolean {
    return this.outstanding > this.outstandingMax || this.heldBytes > this.limits.outstandingBytes
  }

  private readOnFrom(connection: ClientConnection): void {
    const { limits } = this
    const { out, link, queue } = connection
    if (out.position + link.unsentBytes > limits.unreadBytes) return
    if (queue.length > limits.outstandingPerConnection) return
    if (connection.heldBytes > limits.outstandingBytesPerConnection) return
    this.throttled.delete(connection)
    connection.isThrottled = false
    this.unpark(connection)
    this.answerQueued(connection)
    if (connection.isThrottled || connection.state === 'closed') return
    if (connection.delayedAuth !== undefined) return
    if (this.isStale(connection)) return
    this.resume(connection)
    connection.isLate = false
    if (connection.isThrottled) return
    connection.waitingSinceMs = undefined
    if (this.connections.has(connection)) link.resume()
  }

  /** What was sent to a client has left: it may be read from again, if that is why it was not. */
  drained(connection: ClientConnection): void {
    if (!connection.isThrottled) return
    // A client that takes its answers is alive, though its heartbeats are not read meanwhile.
    if (connection.state === 'open') this.upstream?.touch(connection)
    this.readOn()
  }

  /** Sessions do not expire while it is this server that does not read their heartbeats. */
  touchHeld(): void {
    const { upstream } = this
    if (upstream === undefined) return
    for (const connection of this.throttled) {
      const { state, out, link } = connection
      if (state !== 'open' || connection.session?.isClosing !== false) continue
      if (out.position + link.unsentBytes <= this.limits.unreadBytes) upstream.touch(connection)
    }
  }

  /** Looks at how long what comes next from a connection has waited; true where it is dropped. */
  private isStale(connection: ClientConnection): boolean {
    const { waiting } = this.options
    if (waiting === undefined || connection.cutter.keptBytes === 0) return false
    const waitedMs = this.clock.nowMs - (connection.waitingSinceMs ?? this.clock.nowMs)
    connection.isLate = waiting.refuseAfterMs > 0 && waitedMs > waiting.refuseAfterMs
    if (!waiting.staleAfterTimeout || waitedMs <= connection.timeoutMs) return false
    if (!waiting.dropStale) {
      this.stats.staleRequests++
      return false
    }
    this.stats.staleRequestsDropped++
    this.close(connection)
    return true
  }

  // --- the audit log ---------------------------------------------------------------------------

  /** The part of the request that is not read yet, to keep. */
  private restOfRequest(): Uint8Array {
    const { view, position, end } = this.reader
    return this.keeper.keep(view, position, end)
  }

  private auditAnswer(
    ticket: WriteTicket,
    zxid: bigint,
    txn: Txn | undefined,
    error: number,
  ): void {
    const { connection, type, audited, refusal } = ticket
    const { sessionId, link } = connection
    this.auditor!.answered({
      ...audited!,
      sessionId,
      address: link.address,
      type,
      error: error === ok ? ok : (refusal ?? error),
      txn,
      zxid,
    })
  }

  /** A write that is refused before it is one. */
  private auditRefusal(connection: ClientConnection, type: number, error: number): void {
    if (this.auditor === undefined || !isClientWrite(type)) return
    const { identities, sessionId, link } = connection
    const { address } = link
    const request = this.restOfRequest()
    const refused = { identities, sessionId, address, type, request, error }
    this.auditor.answered({ ...refused, txn: undefined, zxid: 0n })
  }

  private auditSessionEnd({ clientId, zxid }: TxnHeader, auditor: Auditor): void {
    const { tree } = this.db
    const paths = [...tree.ephemeralsOf(clientId)].map((id) => tree.pathOf(id))
    if (paths.length > 0) auditor.ephemeralsDeleted(clientId, paths, zxid)
  }

  // --- replies ---------------------------------------------------------------------------------

  private answerRead(
    connection: ClientConnection,
    xid: number,
    type: number,
    request: Reader,
    receivedMs: number,
  ): void {
    const operation = readOperation(type)!
    if (operation.notifiesFirst === true) {
      this.answerAfterNotifications(connection, xid, type, request, receivedMs)
      return
    }
    const { out } = connection
    const requestAt = request.position
    const frameAt = this.replies.begin(out, type === codes.ping ? xids.ping : xid)
    const bodyAt = out.position
    let error: number
    try {
      error = operation.answer(this.db, connection, request, out)
      if (error !== ok && operation.keepsBodyOnError !== true) out.position = bodyAt
    } catch (fault) {
      if (!(fault instanceof MalformedError)) throw fault
      error = marshallingError
      out.position = bodyAt
    }
    if (error !== ok) {
      out.intAt(frameAt + replyErrorAt, error)
      if (error === errorCodes.quotaExceeded) this.watchLimitReached(connection)
      else if (type === codes.multiRead && error === errorCodes.badArguments) {
        this.limitReached('multi_read_bytes', connection.link.address)
      }
    }
    this.replies.end(connection, frameAt, xid, type, receivedMs)
    const tookMs = this.clock.nowMs - receivedMs
    this.stats.readLatency.add(tookMs)
    if (tookMs < this.load.slowMs) return
    request.position = requestAt
    this.load.slowRead(connection, type, request, tookMs)
  }

  /** The reply says that the client has caught up, so it comes behind the notifications. */
  private answerAfterNotifications(
    connection: ClientConnection,
    xid: number,
    type: number,
    request: Reader,
    receivedMs: number,
  ): void {
    let error: number
    try {
      error = readOperation(type)!.answer(this.db, connection, request, connection.out)
    } catch (fault) {
      if (!(fault instanceof MalformedError)) throw fault
      error = marshallingError
    }
    if (error === errorCodes.quotaExceeded) {
      // Clients do not look at this reply: they would go on without the watches.
      this.watchLimitReached(connection)
      this.close(connection)
      return
    }
    this.replies.bare(connection, xid, type, error, receivedMs)
  }

  private watchLimitReached(connection: ClientConnection): void {
    const limit = this.db.watches.isFull ? 'watches' : 'watches_per_session'
    this.limitReached(limit, connection.link.address)
  }

  // --- what is answered the moment it is read --------------------------------------------------

  private inline(connection: ClientConnection, xid: number, type: number): boolean {
    const { reader } = this
    // Requests before it are decided by whom they were sent.
    this.upstream?.settle?.()
    if (type === codes.sasl) return this.acceptSasl(connection, xid, reader.buffer())
    const bodyAt = reader.position
    const { scheme, auth } = AuthPacket.read(reader)
    const isGuarded = scheme !== null && this.authenticator.isGuarded?.(scheme, auth) === true
    if (!isGuarded) return this.authenticate(connection, xid, { scheme, auth })
    const { address } = connection.link
    const waitMs = this.guesses.waitMs(address, this.clock.nowMs)
    if (waitMs === 0) return this.authenticateGuarded(connection, xid, { scheme, auth }, false)
    this.limitReached('password_guesses', address)
    if (waitMs === undefined) return this.refuseAuth(connection, xid, scheme)
    const body = this.keeper.keep(reader.view, bodyAt, reader.end)
    connection.delayedAuth = { xid, body, atMs: this.clock.nowMs + waitMs }
    this.delayed.add(connection)
    connection.link.pause()
    return false
  }

  /** Looks at the passwords whose time has come. */
  lookAtDelayed(): void {
    for (const connection of this.delayed) {
      const { xid, body, atMs } = connection.delayedAuth!
      if (this.clock.nowMs < atMs) continue
      this.delayed.delete(connection)
      connection.delayedAuth = undefined
      const packet = AuthPacket.read(this.reader.reset(body, 0, body.length))
      if (this.authenticateGuarded(connection, xid, packet, true)) this.goOn(connection)
    }
  }

  private authenticateGuarded(
    connection: ClientConnection,
    xid: number,
    packet: Credentials,
    hasWaited: boolean,
  ): boolean {
    const goesOn = this.authenticate(connection, xid, packet)
    if (!goesOn || !connection.identities.some(({ scheme }) => scheme === 'super')) {
      this.stats.failedGuesses++
      this.guesses.failed(connection.link.address, this.clock.nowMs, hasWaited)
    }
    return goesOn
  }

  private refuseAuth(connection: ClientConnection, xid: number, scheme: string | null): false {
    this.stats.authFailures++
    this.trace({ type: 'authFailed', address: connection.link.address, scheme })
    this.replies.inline(connection, xid, errorCodes.authFailed)
    this.close(connection)
    return false
  }

  private authenticate(
    connection: ClientConnection,
    xid: number,
    { scheme, auth }: Credentials,
  ): boolean {
    const { address } = connection.link
    const proven =
      scheme === null ? undefined : this.authenticator.authenticate(scheme, auth, address)
    if (proven === undefined) return this.refuseAuth(connection, xid, scheme)
    if (!this.addIdentities(connection, proven)) return this.refuseIdentities(connection, xid)
    this.replies.inline(connection, xid, ok)
    return true
  }

  /** One step of a SASL exchange, which the first token begins. */
  private acceptSasl(connection: ClientConnection, xid: number, token: Uint8Array | null): boolean {
    const { address } = connection.link
    connection.sasl ??= this.authenticator.startSasl?.()
    if (connection.sasl === undefined) {
      // No SASL here: success with nothing to say, as Apache answers without a login section.
      this.replies.inline(connection, xid, ok, (out) => out.buffer(null))
      return true
    }
    // Every proof is a guess at a password until it is right.
    const mayGuess = this.guesses.waitMs(address, this.clock.nowMs) !== undefined
    if (!mayGuess) this.limitReached('password_guesses', address)
    const answer = mayGuess ? connection.sasl.answer(token ?? new Uint8Array(0)) : undefined
    if (answer === undefined) return this.refuseSasl(connection, xid, mayGuess)
    const { identities = [] } = answer
    if (!this.addIdentities(connection, identities)) return this.refuseIdentities(connection, xid)
    this.replies.inline(connection, xid, ok, (out) => out.buffer(answer.token))
    return true
  }

  private refuseSasl(connection: ClientConnection, xid: number, wasGuess: boolean): boolean {
    const { address } = connection.link
    if (wasGuess) {
      this.stats.failedGuesses++
      this.guesses.failed(address, this.clock.nowMs)
    }
    this.stats.authFailures++
    this.trace({ type: 'authFailed', address, scheme: 'sasl' })
    const isRequired = this.options.requiredSchemes.includes('sasl')
    const stays = this.authenticator.keepsSaslFailed === true && !isRequired
    const { authFailed, sessionClosedRequireSaslAuth } = errorCodes
    const refusal = isRequired ? sessionClosedRequireSaslAuth : authFailed
    this.replies.inline(connection, xid, stays ? ok : refusal, (out) => out.buffer(null))
    if (!stays) this.close(connection)
    return stays
  }

  /** False where the connection would have more identities than it may. */
  private addIdentities(connection: ClientConnection, proven: readonly Id[]): boolean {
    const known = connection.identities
    const isNew = (id: Id): boolean =>
      !known.some((other) => other.scheme === id.scheme && other.id === id.id)
    const added = proven.filter(isNew)
    if (added.length === 0) return true
    // A new list: requests already prepared keep the identities they were read with.
    const all = [...known, ...added]
    if (!this.mayHave(all)) return false
    connection.identities = all
    return true
  }

  private refuseIdentities(connection: ClientConnection, xid: number): false {
    this.limitReached('identities', connection.link.address)
    this.replies.inline(connection, xid, errorCodes.authFailed)
    this.close(connection)
    return false
  }

  /** They travel with each write, and other servers take only so many of them. */
  private mayHave(identities: readonly Id[]): boolean {
    return (
      identities.length <= this.limits.identities &&
      identityBytes(identities) <= this.limits.identityBytes
    )
  }

  private isPermitted(connection: ClientConnection): boolean {
    const { requiredSchemes } = this.options
    if (requiredSchemes.length === 0) return true
    return connection.identities.some(({ scheme }) => requiredSchemes.includes(scheme ?? ''))
  }

  private refuseUnauthenticated(connection: ClientConnection, xid: number): boolean {
    this.replies.inline(connection, xid, errorCodes.sessionClosedRequireSaslAuth)
    this.close(connection)
    return false
  }

  private refuseUnknown(connection: ClientConnection, xid: number, operation: number): boolean {
    const { address } = connection.link
    this.trace({ type: 'unknownOperation', address, operation })
    this.replies.inline(connection, xid, unimplemented, undefined, -1)
    this.close(connection)
    return false
  }
}

/** The super user gets through where others wait. */
function isAdministrator({ identities }: ClientConnection): boolean {
  return identities.length > 1 && identities.some(({ scheme }) => scheme === 'super')
}
