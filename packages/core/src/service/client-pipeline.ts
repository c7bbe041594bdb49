import {
  codes,
  errorCodes,
  MalformedError,
  Reader,
  requestHeaderBytes,
  Writer,
  xids,
  type MultiTxn,
  type Txn,
  type TxnHeader,
} from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import type { Database } from '../state/database.ts'
import { applyTxn, isClientWrite, multi, readOperation, writeResult } from '../operations/index.ts'
import type { Auditor, Authenticator } from '../ports.ts'
import type { SessionIds } from './sessions/session-ids.ts'
import type { Session } from './sessions/tracker.ts'
import type { Trace } from './trace.ts'
import { Admission, type AdmissionHost } from './admission.ts'
import { Authentication } from './authentication.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import { ClientConnection, type ClientLink, type Queued } from './connection.ts'
import { ConnectionThrottle, type ConnectionThrottleOptions } from './connection-throttle.ts'
import { Replies, replyErrorAt } from './replies.ts'
import { ServerStats } from './server-stats.ts'
import type { Upstream } from './upstream.ts'
import type { WriteTicket } from './write-ticket.ts'

export interface PipelineOptions {
  readonly sessionTimeoutMsMin: number
  readonly sessionTimeoutMsMax: number
  /** Requests in flight beyond which connections that have some are not read from. */
  readonly outstandingMax: number
  readonly frameBytesMax: number
  /** How long a connection may take to introduce itself. */
  readonly handshakeMsMax: number
  /** Schemes of which a connection must prove one before anything else; empty asks for none. */
  readonly requiredSchemes: readonly string[]
  readonly connectionThrottle?: ConnectionThrottleOptions | undefined
  /** Requests longer than `threshold` may be so many bytes together, while they are in flight. */
  readonly largeRequests?: { readonly threshold: number; readonly bytesMax: number } | undefined
  /** What becomes of requests that have waited because too many were in flight. */
  readonly waiting?: WaitingOptions | undefined
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

const { ok, unimplemented, marshallingError } = errorCodes
/** Who does not read its answers gets no more of them: what waits for it is bounded. */
const unsentBytesMax = 1024 * 1024

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
  readonly connections = new Set<ClientConnection>()
  /** Undefined while this server does not serve: then it takes no handshake. */
  upstream: Upstream | undefined
  readonly connectionThrottle: ConnectionThrottle | undefined
  /** False: this server has better things to do than to serve clients. */
  takesClients = true
  private largeBytes = 0
  private readonly options: PipelineOptions
  private readonly clock: Clock
  private readonly authentication: Authentication
  private readonly auditor: Auditor | undefined
  private readonly trace: Trace
  private readonly replies: Replies
  private readonly admission: Admission
  private readonly reader = new Reader()
  private readonly keeper = new ByteKeeper()
  private readonly multiBody = new Writer()
  private readonly throttled = new Set<ClientConnection>()
  private outstanding = 0

  constructor(
    parts: {
      db: Database
      clock: Clock
      authenticator: Authenticator
      auditor?: Auditor | undefined
      trace: Trace
      sessionIds: SessionIds
    },
    options: PipelineOptions,
  ) {
    const { stats } = this
    this.db = parts.db
    this.clock = parts.clock
    this.auditor = parts.auditor
    this.trace = parts.trace
    this.options = options
    this.replies = new Replies(parts.db, parts.clock, stats)
    const { connectionThrottle } = options
    const throttle =
      connectionThrottle && new ConnectionThrottle(connectionThrottle, parts.clock.nowMs)
    this.connectionThrottle = throttle
    const { replies } = this
    this.authentication = new Authentication({ ...parts, stats, replies }, options.requiredSchemes)
    this.admission = new Admission({ ...parts, stats, replies, throttle }, options, this)
  }

  get outstandingRequests(): number {
    return this.outstanding
  }

  // --- connections -----------------------------------------------------------------------------

  open(link: ClientLink): ClientConnection {
    const { frameBytesMax } = this.options
    const { nowMs, wallMs } = this.clock
    const connection = new ClientConnection(link, { frameBytesMax, nowMs, wallMs }, this.onFrame)
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
    // What comes behind a handshake has to wait, and not all of it in our memory.
    if (connection.state === 'connecting') connection.link.pause()
    try {
      connection.cutter.push(bytes, length, connection)
    } catch (error) {
      this.refuseFrame(connection, error)
    }
    this.upstream?.settle?.()
  }

  /** The socket is gone. The session lives on until it is resumed or expires. */
  closed(connection: ClientConnection): void {
    connection.state = 'closed'
    this.connections.delete(connection)
    this.throttled.delete(connection)
    this.db.watches.dropWatcher(connection)
    this.admission.left(connection)
    // Writes in flight go on without anybody to answer; reads that waited are not needed.
    this.outstanding -= connection.queue.length
    this.releaseLarge(connection, connection.queue.length)
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
  }

  /** A malformed frame costs the connection it came on, nothing else. */
  private refuseFrame(connection: ClientConnection, error: unknown): void {
    if (!(error instanceof MalformedError)) throw error
    const { address } = connection.link
    this.trace({ type: 'badFrame', address, reason: error.message })
    this.close(connection)
  }

  private readonly onFrame = (
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean => {
    const { largeRequests } = this.options
    if (connection.state === 'open') {
      return largeRequests === undefined || end - start <= largeRequests.threshold
        ? this.request(connection, bytes, start, end)
        : this.largeRequest(connection, bytes, start, end)
    }
    if (connection.state === 'greeting') return this.greet(connection, bytes, start, end)
    return false
  }

  /** Connections that do not introduce themselves in time are closed. */
  closeSilent(): void {
    for (const connection of this.connections) {
      if (connection.state !== 'greeting' && connection.state !== 'connecting') continue
      if (this.clock.nowMs - connection.openedMs <= this.options.handshakeMsMax) continue
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
    if (type === codes.auth || type === codes.sasl) return this.inline(connection, xid, type)
    if (!this.authentication.isPermitted(connection)) {
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
        if (connection.out.position <= unsentBytesMax) return true
        this.throttle(connection)
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

  /** Counts against what large requests may take together, from its arrival to its answer. */
  private largeRequest(
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const length = end - start
    this.refuseLarge(length)
    const before = connection.queue.length
    const goesOn = this.request(connection, bytes, start, end)
    if (connection.queue.length > before) {
      connection.queue.last!.largeBytes = length
      this.largeBytes += length
    }
    return goesOn
  }

  private refuseLarge(length: number): void {
    const { threshold, bytesMax } = this.options.largeRequests!
    if (length <= threshold || this.largeBytes + length <= bytesMax) return
    this.stats.largeRequestsRejected++
    throw new MalformedError(`a request of ${length} bytes, while ${this.largeBytes} are in flight`)
  }

  private releaseLarge({ queue }: ClientConnection, count: number): void {
    if (this.largeBytes === 0) return
    for (let i = 0; i < count; i++) this.largeBytes -= queue.at(i)!.largeBytes ?? 0
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
    this.outstanding++
    if (this.outstanding <= this.options.outstandingMax) return true
    this.throttle(connection)
    return false
  }

  private throttle(connection: ClientConnection): void {
    if (connection.isThrottled) return
    connection.isThrottled = true
    connection.waitingSinceMs ??= this.clock.nowMs
    this.stats.throttleWaits++
    this.throttled.add(connection)
    connection.link.pause()
  }

  // --- what comes back -------------------------------------------------------------------------

  /** A transaction is committed: it is applied, told to watchers, and answered if it was ours. */
  commit(ticket: WriteTicket | undefined, header: TxnHeader, txn: Txn): void {
    const { db } = this
    const connection = ticket?.connection
    const isAnswered = connection !== undefined && connection.state !== 'closed'
    let error: number = ok
    if (this.auditor !== undefined && txn.type === codes.closeSession) {
      this.auditSessionEnd(header, this.auditor)
    }
    if (txn.type === codes.multi) this.applyMulti(header, txn.body, isAnswered)
    else error = applyTxn(db, header, txn)
    db.advance(header.zxid)
    this.stats.commits++
    this.upstream?.applied(header, txn)
    if (ticket?.audited !== undefined) this.auditAnswer(ticket, header.zxid, txn, error)
    if (header.type === codes.createSession) this.sessionCreated(header.clientId, ticket)
    else if (header.type === codes.closeSession) this.sessionEnded(header.clientId, ticket)
    else if (isAnswered) this.answerWrite(ticket!, txn, error)
    if (isAnswered) this.drain(connection)
  }

  /** Applies a multi, and keeps the results of its parts for the reply. */
  private applyMulti(header: TxnHeader, txn: MultiTxn, isAnswered: boolean): void {
    const { multiBody } = this
    multiBody.reset()
    multi.applyParts(this.db, header, txn, isAnswered ? multiBody : undefined)
  }

  /** A sync that was asked of another server: everything before it is applied here. */
  synced({ connection, xid, type, body, receivedMs }: WriteTicket): void {
    if (connection.state === 'closed') return
    this.reader.reset(body!, 0, body!.length)
    this.answerRead(connection, xid, type, this.reader, receivedMs)
    this.drain(connection)
    this.readOn()
  }

  /** This server stops serving: its clients go elsewhere. */
  stopServing(): void {
    this.upstream = undefined
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
    this.stats.writeLatency.add(this.clock.nowMs - receivedMs)
  }

  private sessionCreated(sessionId: bigint, ticket: WriteTicket | undefined): void {
    const connection = ticket?.connection
    if (connection === undefined || connection.state === 'closed') return
    const session = this.upstream?.sessionOf(sessionId)
    assert(session !== undefined, 'a session is known once its transaction is applied')
    this.admission.created(connection, session)
  }

  private sessionEnded(sessionId: bigint, ticket: WriteTicket | undefined): void {
    this.trace({ type: 'sessionClosed', sessionId })
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
    const { queue } = connection
    if (connection.state === 'closed') return
    let done = 1
    assert(queue.first?.kind === 'write', 'the oldest request in flight is the write just applied')
    for (; done < queue.length; done++) {
      const next: Queued = queue.at(done)!
      if (next.kind === 'write') break
      if (next.body === undefined) {
        this.replies.bare(connection, next.xid, next.type, next.error, next.receivedMs)
        if (next.type === codes.closeSession) {
          this.endLocalSession(connection.sessionId)
          return
        }
      } else {
        const present = connection.identities
        connection.identities = next.identities
        this.reader.reset(next.body, 0, next.body.length)
        this.answerRead(connection, next.xid, next.type, this.reader, next.receivedMs)
        connection.identities = present
      }
    }
    this.releaseLarge(connection, done)
    for (let left = done; left > 0; left--) queue.shift()
    this.outstanding -= done
    this.goOn(connection)
  }

  /** What came behind the handshake, or behind too many requests, may go on. */
  private goOn(connection: ClientConnection): void {
    if (!connection.cutter.isHeld || connection.isThrottled) return
    this.resume(connection)
    if (!connection.isThrottled && connection.state === 'open') connection.link.resume()
  }

  /** There is room again: connections that were stopped are read from, each in its turn. */
  readOn(): void {
    for (const connection of this.throttled) {
      if (this.outstanding > this.options.outstandingMax) return
      if (connection.out.position + connection.link.unsentBytes > unsentBytesMax) continue
      this.throttled.delete(connection)
      connection.isThrottled = false
      if (this.isStale(connection)) continue
      this.resume(connection)
      connection.isLate = false
      if (!connection.isThrottled) connection.waitingSinceMs = undefined
      if (!connection.isThrottled && connection.state !== 'closed') connection.link.resume()
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
    if (error !== ok) out.intAt(frameAt + replyErrorAt, error)
    this.replies.end(connection, frameAt, xid, type, receivedMs)
    this.stats.readLatency.add(this.clock.nowMs - receivedMs)
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
    this.replies.bare(connection, xid, type, error, receivedMs)
  }

  // --- what is answered the moment it is read --------------------------------------------------

  private inline(connection: ClientConnection, xid: number, type: number): boolean {
    const { reader } = this
    // Requests before it are decided by whom they were sent.
    this.upstream?.settle?.()
    // Proving who one is, is a sign of life too.
    this.upstream?.touch(connection)
    if (this.authentication.accept(connection, xid, type, reader)) return true
    this.close(connection)
    return false
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
