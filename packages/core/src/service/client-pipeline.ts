import {
  codes,
  errorCodes,
  FrameLengthError,
  MalformedError,
  Reader,
  requestHeaderBytes,
  Writer,
  type MultiTxn,
  type Txn,
  type TxnHeader,
} from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import type { Database } from '../state/database.ts'
import { applyTxn, isClientWrite, multi, readOperation, writeResult } from '../operations/index.ts'
import type { Auditor, Authenticator } from '../ports.ts'
import { Admission, type AdmissionHost } from './admission.ts'
import { Auditing } from './auditing.ts'
import { Authentication } from './authentication.ts'
import { ConnectionThrottle } from './connection-throttle.ts'
import { ClientConnection, type ClientLink, type QueuedRead } from './connection.ts'
import { FlowControl, type FlowHost } from './flow-control.ts'
import { defaultLimits, type ServiceLimits } from './limits.ts'
import { Load } from './load/load.ts'
import type { Clock, PipelineOptions } from './pipeline-options.ts'
import { Reading } from './reading.ts'
import { Replies, replyErrorAt } from './replies.ts'
import { ServerStats } from './server-stats.ts'
import type { SessionPasswords } from './sessions/password.ts'
import { SessionEnds } from './sessions/session-ends.ts'
import type { SessionIds } from './sessions/session-ids.ts'
import type { Session } from './sessions/tracker.ts'
import type { Trace } from './trace.ts'
import type { Upstream } from './upstream.ts'
import type { WriteTicket } from './write-ticket.ts'

const { ok, unimplemented, marshallingError } = errorCodes

export interface PipelineParts {
  readonly db: Database
  readonly clock: Clock
  readonly authenticator: Authenticator
  /** Without one there is no audit log. */
  readonly auditor?: Auditor | undefined
  readonly trace: Trace
  readonly sessionIds: SessionIds
  readonly passwords: SessionPasswords
}

/**
 * The clients of one server, and the order of their requests.
 *
 * A write goes upstream the moment it is read; it is answered when it comes back as a committed
 * transaction. A read is answered at once from the applied state, or waits behind the writes of
 * its own connection. Replies leave in the order of the requests.
 */
export class ClientPipeline implements AdmissionHost, FlowHost {
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
  /** Counts requests, and decides which connections are read from. */
  readonly flow: FlowControl
  /** False: this server refuses handshakes, because it only leads. */
  takesClients = true
  private readonly limits: ServiceLimits
  private readonly options: PipelineOptions
  private readonly clock: Clock
  private readonly trace: Trace
  private readonly replies: Replies
  private readonly reading: Reading
  private readonly admission: Admission
  private readonly authentication: Authentication
  /** Clients must prove an identity first. */
  private readonly isRestricted: boolean
  private readonly auditing: Auditing | undefined
  private readonly reader = new Reader()
  private readonly keeper = new ByteKeeper()
  private readonly multiBody: Writer

  constructor(parts: PipelineParts, options: PipelineOptions) {
    const { stats, keeper } = this
    const { db, clock, auditor } = parts
    this.db = db
    this.reader.memory = db.memory
    this.multiBody = new Writer(256, db.memory)
    this.clock = clock
    this.trace = parts.trace
    this.options = options
    const limits = (this.limits = { ...defaultLimits, ...options.limits })
    db.watches.limits = { perWatcher: limits.watchesPerSession, total: limits.watches }
    const load = (this.load = new Load(clock))
    const sessionEnds = (this.sessionEnds = new SessionEnds(clock))
    sessionEnds.onEnd = (end) => this.trace({ type: 'sessionEnded', end })
    const replies = (this.replies = new Replies(db, clock, stats))
    const { connectionThrottle } = options
    const throttle = connectionThrottle && new ConnectionThrottle(connectionThrottle, clock.nowMs)
    this.connectionThrottle = throttle
    this.reading = new Reading({ db, clock, replies, stats, load }, this)
    this.flow = new FlowControl({ ...parts, stats, watches: db.watches }, options, limits, this)
    this.admission = new Admission(
      { ...parts, stats, replies, throttle, sessionEnds },
      options,
      this,
    )
    this.auditing = auditor && new Auditing({ auditor, db, keeper })
    const { requiredSchemes } = options
    this.isRestricted = requiredSchemes.length > 0
    this.authentication = new Authentication(
      { ...parts, replies, stats, keeper },
      { requiredSchemes, limits },
      this,
    )
  }

  // --- connections -------------------------------------------------------------------------------

  open(link: ClientLink): ClientConnection {
    const { frameBytesMax } = this.options
    const { multiReadBytes: multiReadBytesMax } = this.limits
    const { nowMs, wallMs } = this.clock
    const { memory } = this.db
    const options = { frameBytesMax, multiReadBytesMax, memory, nowMs, wallMs }
    const connection = new ClientConnection(link, options, this.onFrame)
    if (this.options.largeRequests !== undefined) {
      connection.announce = (bytes) => this.flow.checkLarge(bytes)
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
    // Data after a handshake must wait, and not all of it in this server's memory.
    if (connection.state === 'connecting') connection.link.pause()
    if (this.flow.isHeld) this.flow.keepUnread(connection)
    try {
      connection.cutter.push(bytes, length, connection)
    } catch (error) {
      this.refuseFrame(connection, error)
    }
    this.upstream?.decidePending?.()
    this.upstream?.allRead?.()
  }

  /** Reads what a connection has sent and was not read yet. */
  readKept(connection: ClientConnection): void {
    try {
      connection.cutter.resume(connection)
    } catch (error) {
      this.refuseFrame(connection, error)
    }
    this.upstream?.decidePending?.()
    this.upstream?.allRead?.()
  }

  /** The socket is gone. The session lives on until it is resumed or expires. */
  closed(connection: ClientConnection): void {
    if (connection.session !== undefined) this.sessionEnds.disconnected(connection, connection.end)
    connection.state = 'closed'
    this.connections.delete(connection)
    this.authentication.left(connection)
    this.db.watches.dropWatcher(connection)
    this.admission.left(connection)
    this.flow.left(connection)
  }

  /** Closes a connection from this side; what is in `out` is still sent. */
  close(connection: ClientConnection): void {
    if (connection.state === 'closed') return
    this.closed(connection)
    connection.link.close()
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
      return end - start <= this.flow.unweighedBytesMax
        ? this.request(connection, bytes, start, end)
        : this.weighedRequest(connection, bytes, start, end)
    }
    if (connection.state !== 'greeting') return false
    return this.admission.greet(connection, this.reader.reset(bytes, start, end))
  }

  /** Time passed: connections that have not introduced themselves in time are closed. */
  tick(): void {
    for (const connection of this.connections) {
      if (connection.state !== 'greeting' && connection.state !== 'connecting') continue
      if (this.clock.nowMs - connection.openedMs <= this.options.sessionlessTimeoutMs) continue
      this.stats.sessionlessExpired++
      this.close(connection)
    }
    this.flow.touchThrottled()
    this.authentication.tick()
  }

  /** This server stops serving: its clients go elsewhere. */
  stopServing(): void {
    this.upstream = undefined
    this.flow.stopServing()
    for (const connection of this.connections) {
      if (connection.state !== 'greeting') this.close(connection)
    }
  }

  // --- sessions ----------------------------------------------------------------------------------

  proposeSession(connection: ClientConnection, upstream: Upstream): void {
    const ticket = this.ticket(connection, 0, codes.createSession)
    upstream.createSession(ticket)
    this.enqueueWrite(ticket)
  }

  /** The answer to `resumeSession`; the session is undefined if it must not go on. */
  resumed(connection: ClientConnection, sessionId: bigint, session: Session | undefined): void {
    if (connection.state !== 'connecting') return
    if (session === undefined) {
      this.admission.refuse(connection, sessionId, 'unknown')
      return
    }
    this.admission.resumed(connection, session)
    this.flow.resumeReadingFrom(connection)
  }

  /** The session goes on with another server: its client has left the connection it had here. */
  sessionLeft(sessionId: bigint): void {
    const bound = this.admission.connectionOf(sessionId)
    if (bound !== undefined) this.close(bound)
  }

  /** A local session was closed, or has expired: its client's connection ends. */
  endLocalSession(sessionId: bigint): void {
    this.trace({ type: 'sessionClosed', sessionId })
    this.upstream?.localSessions?.remove(sessionId)
    const bound = this.admission.connectionOf(sessionId)
    if (bound !== undefined) this.close(bound)
  }

  /** No other server knows the session: its end is answered in its turn, without a transaction. */
  private closeLocalSession(connection: ClientConnection, xid: number): boolean {
    connection.session!.isClosing = true
    if (connection.queue.length > 0) {
      return this.enqueueRead(connection, xid, codes.closeSession, undefined, ok)
    }
    this.replies.bare(connection, xid, codes.closeSession, ok, this.clock.nowMs)
    this.endLocalSession(connection.sessionId)
    return false
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
    // The client of an expired session gets no reply: its connection ends.
    if (bound !== undefined && bound !== connection) this.close(bound)
  }

  // --- requests ----------------------------------------------------------------------------------

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
    if (type === codes.auth || type === codes.sasl) {
      // Writes before this one are decided by the identities they were sent with.
      this.upstream?.decidePending?.()
      return this.authentication.receive(connection, xid, type, reader)
    }
    if (this.isRestricted && !this.authentication.isPermitted(connection)) {
      this.auditing?.refused(connection, type, errorCodes.sessionClosedRequireSaslAuth, reader)
      return this.authentication.refuseUnpermitted(connection, xid)
    }
    assert(upstream !== undefined, 'a connection is open only while this server serves')
    if (connection.session!.isClosing) return true
    upstream.touch(connection)
    if (connection.isLate && type !== codes.ping && type !== codes.closeSession) {
      stats.throttledOps++
      return this.refuse(connection, xid, type, errorCodes.throttledOp)
    }
    if (upstream.isReadOnly === true && (type === codes.sync || isClientWrite(type))) {
      return this.refuse(connection, xid, type, errorCodes.notReadOnly)
    }
    if (type === codes.sync && upstream.sync !== undefined) {
      const body = this.keeper.keep(reader.view, reader.position, end)
      const ticket = { ...this.ticket(connection, xid, type), body }
      upstream.sync(ticket)
      return this.enqueueWrite(ticket)
    }
    if (readOperation(type) !== undefined) {
      if (connection.queue.length === 0) {
        this.reading.answer(connection, xid, type, reader, this.clock.nowMs)
        if (connection.out.position <= this.limits.unreadBytes) return true
        this.flow.throttle(connection, 'unread_replies')
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
    this.flow.checkLarge(length)
    const before = connection.queue.length
    const goesOn = this.request(connection, bytes, start, end)
    if (connection.queue.length <= before) return goesOn
    return this.flow.weigh(connection, length) && goesOn
  }

  private write(
    connection: ClientConnection,
    upstream: Upstream,
    xid: number,
    type: number,
  ): boolean {
    const { auditing, reader } = this
    if (!upstream.acceptsWrites) return this.refuse(connection, xid, type, errorCodes.systemError)
    const ticket = this.ticket(connection, xid, type)
    if (auditing !== undefined) ticket.audited = auditing.begin(connection, reader)
    try {
      upstream.write(ticket, reader)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      auditing?.answered(ticket, 0n, undefined, marshallingError)
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
    return this.flow.admit(ticket.connection)
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
    return this.flow.admit(connection)
  }

  /** Answers with an error, in the order of the requests. */
  private refuse(connection: ClientConnection, xid: number, type: number, error: number): boolean {
    this.auditing?.refused(connection, type, error, this.reader)
    return this.enqueueRead(connection, xid, type, undefined, error)
  }

  private refuseUnknown(connection: ClientConnection, xid: number, operation: number): boolean {
    const { address } = connection.link
    this.trace({ type: 'unknownOperation', address, operation })
    this.replies.inline(connection, xid, unimplemented, undefined, -1)
    this.close(connection)
    return false
  }

  // --- committed transactions --------------------------------------------------------------------

  /** A transaction is committed: applies it, fires watches, and answers if a client here asked. */
  commit(ticket: WriteTicket | undefined, header: TxnHeader, txn: Txn): void {
    const { db, auditing } = this
    const connection = ticket?.connection
    if (connection !== undefined && connection.queue.first !== ticket) this.answerAhead(ticket!)
    const isAnswered = connection !== undefined && connection.state !== 'closed'
    let error: number = ok
    if (auditing !== undefined && txn.type === codes.closeSession) auditing.sessionEnds(header)
    if (this.onCommit !== undefined) this.onCommit(header, txn)
    if (txn.type === codes.multi) this.applyMulti(header, txn.body, isAnswered)
    else error = applyTxn(db, header, txn)
    db.advance(header.zxid)
    this.stats.commits++
    this.flow.countWatches()
    this.upstream?.applied(header, txn)
    if (ticket?.audited !== undefined) auditing!.answered(ticket, header.zxid, txn, error)
    if (header.type === codes.createSession) this.sessionCreated(header.clientId, ticket)
    else if (header.type === codes.closeSession) this.sessionEnded(header, ticket)
    else if (isAnswered) this.answerWrite(ticket!, txn, error)
    if (isAnswered) this.leaveQueue(connection)
  }

  /** Applies a multi, and keeps the results of its parts for the reply. */
  private applyMulti(header: TxnHeader, txn: MultiTxn, isAnswered: boolean): void {
    const { multiBody } = this
    multiBody.reset()
    multi.applyParts(this.db, header, txn, isAnswered ? multiBody : undefined)
  }

  /** The answer to a sync that was sent upstream: everything before it is applied here. */
  synced(ticket: WriteTicket): void {
    const { connection, xid, type, body, receivedMs } = ticket
    if (connection.queue.first !== ticket) this.answerAhead(ticket)
    if (connection.state === 'closed') return
    this.reader.reset(body!, 0, body!.length)
    this.reading.answer(connection, xid, type, this.reader, receivedMs)
    this.leaveQueue(connection)
    this.flow.resumeReading()
  }

  private answerWrite(ticket: WriteTicket, txn: Txn, error: number): void {
    const { connection, xid, type, receivedMs, refusal } = ticket
    if (txn.type === codes.error && refusal !== undefined) {
      this.replies.bare(connection, xid, type, refusal, receivedMs)
      return
    }
    if (error === errorCodes.sessionMoved) {
      // The session lives on with another server; this connection ends without a reply.
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

  /** The head of the queue was answered: so are the reads behind it, up to the next write. */
  private leaveQueue(connection: ClientConnection): void {
    if (connection.state === 'closed') return
    assert(
      connection.queue.first?.kind === 'write',
      'the oldest request in flight is the write just applied',
    )
    this.flow.leaveQueue(connection)
    if (connection.queue.length > 0) this.answerQueued(connection)
    this.flow.resumeReadingFrom(connection)
  }

  /** Answers the reads at the head of the queue, as long as their client reads the answers. */
  answerQueued(connection: ClientConnection): void {
    const { queue, out } = connection
    if (queue.first?.kind !== 'read') return
    const room = this.limits.unreadBytes - connection.link.unsentBytes
    for (let next = queue.first; next?.kind === 'read'; next = queue.first) {
      if (out.position > room) {
        this.flow.throttle(connection, 'unread_replies')
        this.flow.park(connection)
        return
      }
      if (!this.answerFirst(connection, next)) return
    }
  }

  /**
   * Answers reads for whose replies the client has not made room, because the write behind them is
   * about to be applied, and they must not see it. A client that reads nothing is closed in time.
   */
  private answerAhead(ticket: WriteTicket): void {
    const { connection } = ticket
    const { queue, out, link } = connection
    for (let next = queue.first; next?.kind === 'read'; next = queue.first) {
      if (out.position + link.unsentBytes > this.limits.unreadBytesMax) {
        this.flow.limitReached('unread_bytes', link.address)
        this.close(connection)
        return
      }
      if (!this.answerFirst(connection, next)) return
    }
  }

  /** Answers the read at the head of the queue; false if that ended its connection. */
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
      this.reading.answer(connection, read.xid, read.type, this.reader, read.receivedMs)
      connection.identities = present
    }
    if (connection.state === 'closed') return false
    this.flow.leaveQueue(connection)
    return true
  }
}
