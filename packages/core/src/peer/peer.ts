import {
  AuthPacket,
  ConnectRequest,
  ConnectResponse,
  CreateRequest,
  CreateTtlRequest,
  DeleteRequest,
  digestVersion,
  errorCodes,
  isMultiWrite,
  MalformedError,
  MultiRequest,
  NullError,
  Reader,
  ReconfigRequest,
  requestHeaderBytes,
  SetAclRequest,
  SetDataRequest,
  statBytes,
  TxnHeader,
  Writer,
  writeMultiEnd,
  writeMultiError,
  writeMultiSuccess,
  writeTxnBody,
  xids,
  type MultiOp,
  type Txn,
} from '@zabra/protocol'
import { assert } from '../assert.ts'
import type { Database } from '../database.ts'
import { applySimple } from '../operations/apply.ts'
import { prepareCreate } from '../operations/create.ts'
import { prepareDelete, prepareDeleteContainer } from '../operations/delete.ts'
import { byFlags, hasBadFlags, isCreate, prepareMulti } from '../operations/multi.ts'
import type { OperationRules, Preparation, Prepared } from '../operations/preparation.ts'
import { answers } from '../operations/reads.ts'
import { prepareCloseSession, prepareCreateSession } from '../operations/sessions.ts'
import { prepareSetAcl } from '../operations/set-acl.ts'
import { prepareSetData } from '../operations/set-data.ts'
import { ByteKeeper } from '../pipeline/byte-keeper.ts'
import { ClientConnection, type ClientLink, type Queued } from '../pipeline/connection.ts'
import { Projection } from '../pipeline/projection.ts'
import { ServerStats } from '../pipeline/stats.ts'
import type { WriteRequest } from '../pipeline/write-request.ts'
import type { Authenticator } from '../ports.ts'
import { isSessionPassword, sessionPassword } from '../session/password.ts'
import { SessionIds } from '../session/session-ids.ts'
import { SessionTracker, type Session } from '../session/tracker.ts'
import { LogBatch } from '../storage/log-batch.ts'
import type { Trace } from '../trace.ts'
import { Reclaimer, type ReclaimOptions } from './reclaimer.ts'

export interface PeerOptions {
  /** The top byte of the session ids given out here. */
  readonly serverId: number
  readonly tickMs: number
  readonly sessionTimeoutMsMin: number
  readonly sessionTimeoutMsMax: number
  /** Requests in flight beyond which connections that have some are not read from. */
  readonly outstandingMax: number
  readonly frameBytesMax: number
  /** How long a connection may take to introduce itself. */
  readonly handshakeMsMax: number
  readonly rules: OperationRules
  readonly reclaim: ReclaimOptions
  /** Schemes of which a connection must prove one before anything else; empty asks for none. */
  readonly requiredSchemes: readonly string[]
}

export interface PeerPorts {
  readonly authenticator: Authenticator
  readonly trace: Trace
}

const { ok, unimplemented, marshallingError } = errorCodes
const op = {
  create: 1,
  delete: 2,
  setData: 5,
  setAcl: 7,
  ping: 11,
  multi: 14,
  create2: 15,
  reconfig: 16,
  createContainer: 19,
  deleteContainer: 20,
  createTtl: 21,
  auth: 100,
  sasl: 102,
  error: -1,
  createSession: -10,
  closeSession: -11,
} as const

/** The operations that become transactions when a client asks for them. */
const clientWrites: ReadonlySet<number> = new Set([
  op.create,
  op.delete,
  op.setData,
  op.setAcl,
  op.multi,
  op.create2,
  op.reconfig,
  op.createContainer,
  op.deleteContainer,
  op.createTtl,
])

/**
 * The whole server as one machine, without sockets, files or clocks.
 *
 * In: received bytes, the time, and "logged up to here". Out: bytes in each connection's `out`,
 * and batches for the log. A write is prepared against the projected state the moment it is read,
 * goes into the current batch, and is applied, told to watchers and answered once it is durable.
 * Reads are answered at once from the applied state, or wait behind writes of their own
 * connection.
 *
 * The host calls `setTime` before anything else in each turn.
 */
export class Peer {
  readonly db: Database
  readonly stats = new ServerStats()
  readonly sessions: SessionTracker
  readonly connections = new Set<ClientConnection>()
  /** Milliseconds of a clock that never goes back. */
  nowMs = 0
  /** Milliseconds since 1970, as transactions are stamped. */
  wallMs = 0
  private readonly options: PeerOptions
  private readonly authenticator: Authenticator
  private readonly trace: Trace
  private readonly projection: Projection
  private readonly sessionIds: SessionIds
  private readonly reclaimer: Reclaimer
  private readonly reader = new Reader()
  private readonly keeper = new ByteKeeper()
  private readonly multiBody = new Writer()
  private readonly bySession = new Map<bigint, ClientConnection>()
  private readonly throttled = new Set<ClientConnection>()
  private batch = new LogBatch()
  private spareBatch = new LogBatch()
  private inFlight: WriteRequest[] = []
  private applied = 0
  private lastProposed: bigint
  private outstanding = 0
  private areWritesSuspended = false

  constructor(db: Database, options: PeerOptions, ports: PeerPorts, start: { nowMs: number }) {
    this.db = db
    this.options = options
    this.authenticator = ports.authenticator
    this.trace = ports.trace
    this.nowMs = start.nowMs
    this.projection = new Projection(db)
    this.lastProposed = db.lastZxid
    this.sessions = new SessionTracker(options.tickMs)
    this.sessionIds = new SessionIds(options.serverId, start.nowMs)
    this.reclaimer = new Reclaimer(db.tree, options.reclaim)
    for (const [id, timeoutMs] of db.sessions) {
      this.sessions.add(id, timeoutMs, start.nowMs)
      this.sessionIds.skip(id)
    }
    db.onDigestMismatch = (mismatch) => {
      this.stats.digestMismatches++
      this.trace({ type: 'digestMismatch', ...mismatch })
    }
  }

  setTime(nowMs: number, wallMs: number): void {
    this.nowMs = nowMs
    this.wallMs = wallMs
  }

  get outstandingRequests(): number {
    return this.outstanding
  }

  get lastZxid(): bigint {
    return this.db.lastZxid
  }

  // --- connections -----------------------------------------------------------------------------

  open(link: ClientLink): ClientConnection {
    const { frameBytesMax } = this.options
    const { nowMs, wallMs } = this
    const connection = new ClientConnection(link, { frameBytesMax, nowMs, wallMs }, this.onFrame)
    this.connections.add(connection)
    return connection
  }

  /** Bytes from a client; the host may reuse the array afterwards. */
  receive(connection: ClientConnection, bytes: Uint8Array, length: number): void {
    if (connection.state === 'closed') return
    this.stats.bytesReceived += length
    this.guard(connection, () => connection.cutter.push(bytes, length, connection))
  }

  /** The socket is gone. The session lives on until it is resumed or expires. */
  closed(connection: ClientConnection): void {
    connection.state = 'closed'
    this.connections.delete(connection)
    this.throttled.delete(connection)
    this.db.watches.dropWatcher(connection)
    if (this.bySession.get(connection.sessionId) === connection) {
      this.bySession.delete(connection.sessionId)
    }
    // Writes in flight go on without anybody to answer; reads that waited are not needed.
    this.outstanding -= connection.queue.length
    connection.queue.length = 0
  }

  private close(connection: ClientConnection): void {
    if (connection.state === 'closed') return
    this.closed(connection)
    connection.link.close()
  }

  /** A malformed frame costs the connection it came on, nothing else. */
  private guard(connection: ClientConnection, work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      const { address } = connection.link
      this.trace({ type: 'badFrame', address, reason: error.message })
      this.close(connection)
    }
  }

  private readonly onFrame = (
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean => {
    if (connection.state === 'open') return this.request(connection, bytes, start, end)
    if (connection.state === 'greeting') return this.greet(connection, bytes, start, end)
    return false
  }

  // --- sessions --------------------------------------------------------------------------------

  private greet(
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const request = ConnectRequest.read(this.reader.reset(bytes, start, end))
    const { address } = connection.link
    this.stats.packetsReceived++
    this.stats.connectionRequests++
    connection.packetsReceived++
    const { lastZxidSeen, sessionId } = request
    if (lastZxidSeen > this.db.lastZxid) {
      // It has seen what we have not: another server must serve it.
      this.trace({ type: 'clientAhead', lastZxidSeen, lastZxid: this.db.lastZxid, address })
      this.close(connection)
      return false
    }
    const { sessionTimeoutMsMin, sessionTimeoutMsMax } = this.options
    connection.timeoutMs = Math.min(
      sessionTimeoutMsMax,
      Math.max(sessionTimeoutMsMin, request.timeOut),
    )
    connection.knowsReadOnly = request.readOnly !== undefined
    connection.state = 'connecting'
    if (sessionId === 0n) return this.createSession(connection)
    if (!isSessionPassword(sessionId, request.passwd)) {
      return this.refuseSession(connection, sessionId, 'password')
    }
    const session = this.sessions.get(sessionId)
    if (session === undefined || session.isClosing) {
      return this.refuseSession(connection, sessionId, 'unknown')
    }
    const older = this.bySession.get(sessionId)
    if (older !== undefined) this.close(older)
    this.trace({ type: 'sessionResumed', sessionId, timeoutMs: connection.timeoutMs, address })
    this.admit(connection, session)
    return true
  }

  private createSession(connection: ClientConnection): boolean {
    if (this.areWritesSuspended) {
      this.close(connection)
      return false
    }
    const sessionId = this.sessionIds.next()
    connection.sessionId = sessionId
    const txn = prepareCreateSession(connection.timeoutMs)
    assert(typeof txn !== 'number', 'a session can always be created')
    // What comes behind the handshake waits for it, and not all of it in our memory.
    connection.link.pause()
    this.propose({ connection, xid: 0, type: op.createSession, sessionId, txn })
    return false
  }

  private refuseSession(
    connection: ClientConnection,
    sessionId: bigint,
    reason: 'unknown' | 'password',
  ): boolean {
    this.trace({ type: 'sessionRefused', sessionId, address: connection.link.address, reason })
    this.respondToConnect(connection, 0, 0n, new Uint8Array(16))
    this.close(connection)
    return false
  }

  private admit(connection: ClientConnection, session: Session): void {
    connection.session = session
    connection.sessionId = session.id
    connection.state = 'open'
    connection.lastOperation = op.createSession
    connection.lastResponseMs = this.nowMs
    this.bySession.set(session.id, connection)
    this.sessions.touch(session, connection.timeoutMs, this.nowMs)
    this.respondToConnect(connection, connection.timeoutMs, session.id, sessionPassword(session.id))
  }

  private respondToConnect(
    connection: ClientConnection,
    timeOut: number,
    sessionId: bigint,
    passwd: Uint8Array,
  ): void {
    const { out } = connection
    const lengthAt = out.position
    out.int(0)
    const readOnly = connection.knowsReadOnly ? false : undefined
    ConnectResponse.write(out, { protocolVersion: 0, timeOut, sessionId, passwd, readOnly })
    out.intAt(lengthAt, out.position - lengthAt - 4)
    this.stats.packetsSent++
    connection.packetsSent++
    connection.link.flushSoon()
  }

  /** Ephemerals whose session nobody knows any more: their owner is gone, and so must they be. */
  dropOrphans(): void {
    for (const id of this.db.tree.sessionsWithEphemerals()) {
      if (!this.db.sessions.has(id)) this.endSession(undefined, 0, id)
    }
  }

  /** Time passed: sessions expire, silent connections are closed, old nodes are reclaimed. */
  tick(): void {
    this.stats.tick(this.nowMs)
    for (const connection of this.connections) {
      if (connection.state !== 'greeting' && connection.state !== 'connecting') continue
      if (this.nowMs - connection.openedMs <= this.options.handshakeMsMax) continue
      this.stats.sessionlessExpired++
      this.close(connection)
    }
    if (this.areWritesSuspended) return
    for (const session of this.sessions.expire(this.nowMs)) {
      if (session.isClosing) continue
      this.stats.sessionsExpired++
      this.trace({ type: 'sessionExpired', sessionId: session.id, timeoutMs: session.timeoutMs })
      this.endSession(undefined, 0, session.id)
    }
    this.reclaim()
  }

  private reclaim(): void {
    const paths = this.reclaimer.due(this.nowMs, this.wallMs)
    for (const path of paths) {
      const prepared = prepareDeleteContainer({ path }, this.preparation(undefined))
      if (typeof prepared === 'number') continue
      const type = op.deleteContainer
      this.propose({ connection: undefined, xid: 0, type, sessionId: 0n, txn: prepared })
    }
    if (paths.length > 0) this.trace({ type: 'reclaimed', paths: paths.length })
  }

  private endSession(connection: ClientConnection | undefined, xid: number, id: bigint): void {
    const session = this.sessions.get(id)
    if (session !== undefined) session.isClosing = true
    const txn = prepareCloseSession(id, this.preparation(connection))
    assert(typeof txn !== 'number', 'a session can always be closed')
    this.propose({ connection, xid, type: op.closeSession, sessionId: id, txn })
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
    const { reader, stats } = this
    reader.reset(bytes, start, end)
    const xid = reader.int()
    const type = reader.int()
    stats.packetsReceived++
    connection.packetsReceived++
    if (type === op.auth || type === op.sasl) return this.inline(connection, xid, type)
    if (!this.isPermitted(connection)) return this.refuseUnauthenticated(connection, xid)
    const session = connection.session!
    if (session.isClosing) return true
    this.sessions.touch(session, connection.timeoutMs, this.nowMs)
    const answer = answers[type]
    if (answer !== undefined) {
      if (connection.queue.length === 0) {
        this.answerRead(connection, xid, type, reader, this.nowMs)
        return true
      }
      const body = this.keeper.keep(bytes.subarray(reader.position, end))
      return this.enqueueRead(connection, xid, type, body, ok)
    }
    if (type === op.closeSession) {
      this.endSession(connection, xid, session.id)
      return true
    }
    if (clientWrites.has(type)) return this.write(connection, xid, type)
    return this.refuseUnknown(connection, xid, type)
  }

  private enqueueRead(
    connection: ClientConnection,
    xid: number,
    type: number,
    body: Uint8Array | undefined,
    error: number,
  ): boolean {
    const { nowMs } = this
    if (connection.queue.length === 0) {
      assert(body === undefined, 'a read waits only behind something')
      this.answerError(connection, xid, type, error, nowMs)
      return true
    }
    connection.queue.push({ kind: 'read', xid, type, body, error, receivedMs: nowMs })
    return this.admitMore(connection)
  }

  /** Counts one more in flight, and stops reading from its connection when there are too many. */
  private admitMore(connection: ClientConnection): boolean {
    this.outstanding++
    if (this.outstanding <= this.options.outstandingMax) return true
    if (!connection.isThrottled) {
      connection.isThrottled = true
      this.throttled.add(connection)
      connection.link.pause()
    }
    return false
  }

  private write(connection: ClientConnection, xid: number, type: number): boolean {
    if (this.areWritesSuspended) {
      return this.enqueueRead(connection, xid, type, undefined, errorCodes.systemError)
    }
    let txn: Txn
    try {
      txn = this.prepare(connection, type)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      // What cannot be decoded is no transaction, not even a failed one; null is decoded.
      if (!(error instanceof NullError)) {
        return this.enqueueRead(connection, xid, type, undefined, marshallingError)
      }
      txn = { type: op.error, body: { err: marshallingError } }
    }
    const { sessionId } = connection
    this.propose({ connection, xid, type, sessionId, txn })
    return this.outstanding <= this.options.outstandingMax
  }

  private preparation(connection: ClientConnection | undefined): Preparation {
    return {
      db: this.db,
      projection: this.projection,
      rules: this.options.rules,
      caller: {
        sessionId: connection?.sessionId ?? 0n,
        identities: connection?.identities ?? [],
      },
      zxid: this.lastProposed + 1n,
      time: BigInt(this.wallMs),
    }
  }

  /** Decodes the request the reader stands at and decides what comes of it. */
  private prepare(connection: ClientConnection, type: number): Txn {
    const p = this.preparation(connection)
    if (type === op.multi) return this.prepareMulti(p)
    const prepared = this.prepareSimple(type, p)
    if (typeof prepared !== 'number') return prepared
    return { type: op.error, body: { err: prepared } }
  }

  /** A multi that cannot be decoded is a failed transaction, unlike any other request. */
  private prepareMulti(p: Preparation): Txn {
    const refused: Txn = { type: op.error, body: { err: marshallingError } }
    let ops: MultiOp[]
    try {
      ops = MultiRequest.read(this.reader)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      return refused
    }
    if (!ops.every(isMultiWrite)) return refused
    for (const part of ops) {
      if (part.request.path === null) return refused
      if (isCreate(part) && part.request.acl === null) throw new MalformedError('no ACL in a multi')
      if (hasBadFlags(part)) return refused
      this.keepData(part.request)
    }
    return { type: op.multi, body: prepareMulti(ops.map(byFlags), p) }
  }

  private prepareSimple(type: number, p: Preparation): Prepared {
    const { reader } = this
    switch (type) {
      case op.create:
      case op.create2:
      case op.createContainer:
        return prepareCreate(type, this.keepData(CreateRequest.read(reader)), p)
      case op.createTtl:
        return prepareCreate(type, this.keepData(CreateTtlRequest.read(reader)), p)
      case op.delete:
        return prepareDelete(DeleteRequest.read(reader), p)
      case op.setData:
        return prepareSetData(this.keepData(SetDataRequest.read(reader)), p)
      case op.setAcl:
        return prepareSetAcl(SetAclRequest.read(reader), p)
      case op.reconfig:
        ReconfigRequest.read(reader)
        return p.rules.reconfigEnabled ? unimplemented : errorCodes.reconfigDisabled
      case op.deleteContainer:
        // Only the server itself removes containers; in Apache anybody can, without permission.
        return errorCodes.badArguments
      default:
        throw new MalformedError(`operation ${type} is no write`)
    }
  }

  /** A request's data, moved out of the received chunk. */
  private keepData<T extends object>(request: T): T {
    if ('data' in request && request.data instanceof Uint8Array) {
      ;(request as { data: Uint8Array }).data = this.keeper.keep(request.data)
    }
    return request
  }

  /** Gives a transaction its zxid and puts it into the log's next batch. */
  private propose(write: {
    connection: ClientConnection | undefined
    xid: number
    type: number
    sessionId: bigint
    txn: Txn
  }): void {
    const { connection, xid, type, sessionId, txn } = write
    const zxid = ++this.lastProposed
    const time = BigInt(this.wallMs)
    const header: TxnHeader = { clientId: sessionId, cxid: xid, zxid, time, type: txn.type }
    const { digest } = this.projection
    const { writer } = this.batch
    this.batch.begin()
    TxnHeader.write(writer, header)
    writeTxnBody(writer, txn)
    if (txn.type !== op.error && this.db.options.digests) {
      writer.int(digestVersion)
      writer.longHalves(digest.high | 0, digest.low | 0)
    }
    this.batch.end(zxid)
    const request: WriteRequest = {
      kind: 'write',
      connection,
      xid,
      type,
      header,
      txn,
      receivedMs: this.nowMs,
      digestHigh: digest.high,
      digestLow: digest.low,
    }
    this.inFlight.push(request)
    if (connection !== undefined) {
      connection.queue.push(request)
      this.admitMore(connection)
    }
  }

  // --- the log ---------------------------------------------------------------------------------

  get hasBatch(): boolean {
    return this.batch.records > 0
  }

  /** What is to be made durable next. One batch at a time: `logged` gives it back. */
  takeBatch(): LogBatch {
    const { batch } = this
    this.batch = this.spareBatch
    return batch
  }

  /** A batch is durable: its transactions are committed, in order. */
  logged(batch: LogBatch): void {
    const upTo = batch.lastZxid
    batch.reset()
    this.spareBatch = batch
    const { inFlight } = this
    while (this.applied < inFlight.length && inFlight[this.applied]!.header.zxid <= upTo) {
      this.commit(inFlight[this.applied++]!)
    }
    if (this.applied === inFlight.length) {
      inFlight.length = this.applied = 0
    } else if (this.applied > 4096) {
      this.inFlight = inFlight.slice(this.applied)
      this.applied = 0
    }
    this.readOn()
  }

  /** The disk is full: reads and sessions go on, writes are refused until there is room. */
  suspendWrites(): void {
    if (this.areWritesSuspended) return
    this.areWritesSuspended = true
    this.trace({ type: 'writesSuspended' })
  }

  resumeWrites(): void {
    if (!this.areWritesSuspended) return
    this.areWritesSuspended = false
    this.trace({ type: 'writesResumed' })
  }

  get canWrite(): boolean {
    return !this.areWritesSuspended
  }

  private commit(write: WriteRequest): void {
    const { db } = this
    const { header, txn, connection } = write
    const isAnswered = connection !== undefined && connection.state !== 'closed'
    let error: number
    if (txn.type === op.multi) {
      this.applyMulti(write)
      error = ok
    } else {
      error = applySimple(db, header, txn)
    }
    db.advance(header.zxid)
    this.projection.retire(header.zxid)
    this.stats.commits++
    if (db.options.digests) this.verifyDigest(write)
    if (header.type === op.createSession) this.sessionCreated(write)
    else if (header.type === op.closeSession) this.sessionEnded(write)
    else if (isAnswered) this.answerWrite(connection, write, error)
    if (isAnswered) this.drain(connection)
  }

  /** What was predicted when the transaction was made is what the tree has become. */
  private verifyDigest(write: WriteRequest): void {
    const { digest } = this.db.tree
    if (digest.high === write.digestHigh && digest.low === write.digestLow) return
    const expected = (BigInt(write.digestHigh) << 32n) | BigInt(write.digestLow)
    const { zxid } = write.header
    this.stats.digestMismatches++
    this.trace({ type: 'digestMismatch', zxid, expected, actual: digest.value })
  }

  /** Applies the parts one after the other; each result is written as the part left the tree. */
  private applyMulti({ header, txn, connection }: WriteRequest): void {
    assert(txn.type === op.multi, 'a multi is applied as one')
    const { multiBody: body, db } = this
    const { txns } = txn.body
    body.reset()
    const isFailed = txns.some(({ type }) => type === op.error)
    for (const part of txns) {
      if (isFailed) {
        writeMultiError(body, part.type === op.error ? part.body.err : ok)
        continue
      }
      applySimple(db, header, part)
      if (connection === undefined || part.type < 0 || part.type === 7 || part.type === 16) continue
      writeMultiSuccess(body, part.type as Parameters<typeof writeMultiSuccess>[1])
      this.writeResult(part, body)
    }
    writeMultiEnd(body)
  }

  /** The response of a write that succeeded, read off the tree right after it. */
  private writeResult(txn: Txn, out: Writer): void {
    const { tree } = this.db
    switch (txn.type) {
      case 1:
        out.ustring(txn.body.path)
        return
      case 15:
      case 19:
      case 21:
        out.ustring(txn.body.path)
        tree.writeStat(tree.find(txn.body.path), out)
        // What was asked for, even where the server put something else: a quota's usage.
        out.intAt(out.position - statBytes + statDataLengthAt, txn.body.data?.length ?? 0)
        return
      case 5:
      case 7:
        tree.writeStat(tree.find(txn.body.path), out)
        return
      default:
    }
  }

  private answerWrite(connection: ClientConnection, write: WriteRequest, error: number): void {
    const { out } = connection
    const frameAt = this.beginReply(out, write.xid)
    if (error !== ok) {
      out.intAt(frameAt + 16, error)
    } else if (write.txn.type === op.multi) {
      out.rawRange(this.multiBody.bytes, 0, this.multiBody.position)
    } else {
      this.writeResult(write.txn, out)
    }
    this.endReply(connection, frameAt, write.xid, write.type, write.receivedMs)
    this.stats.writeLatency.add(this.nowMs - write.receivedMs)
  }

  private sessionCreated({ header, connection, txn }: WriteRequest): void {
    const timeoutMs = txn.type === op.createSession ? txn.body.timeOut : 0
    const session = this.sessions.add(header.clientId, timeoutMs, this.nowMs)
    if (connection === undefined || connection.state === 'closed') return
    const { address } = connection.link
    this.trace({ type: 'sessionCreated', sessionId: session.id, timeoutMs, address })
    this.admit(connection, session)
  }

  private sessionEnded({ header, connection, xid, type, receivedMs }: WriteRequest): void {
    const sessionId = header.clientId
    this.sessions.remove(sessionId)
    this.trace({ type: 'sessionClosed', sessionId })
    const bound = this.bySession.get(sessionId)
    if (connection !== undefined && connection.state !== 'closed') {
      const frameAt = this.beginReply(connection.out, xid)
      this.endReply(connection, frameAt, xid, type, receivedMs)
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
    assert(queue[0]?.kind === 'write', 'the oldest request in flight is the write just applied')
    for (; done < queue.length; done++) {
      const next: Queued = queue[done]!
      if (next.kind === 'write') break
      if (next.body === undefined) {
        this.answerError(connection, next.xid, next.type, next.error, next.receivedMs)
      } else {
        this.reader.reset(next.body, 0, next.body.length)
        this.answerRead(connection, next.xid, next.type, this.reader, next.receivedMs)
      }
    }
    if (done === queue.length) queue.length = 0
    else queue.splice(0, done)
    this.outstanding -= done
    // What came behind the handshake, or behind too many requests, may go on.
    if (connection.cutter.isHeld && !connection.isThrottled) {
      this.guard(connection, () => connection.cutter.resume(connection))
      if (!connection.isThrottled && connection.state === 'open') connection.link.resume()
    }
  }

  /** There is room again: connections that were stopped are read from, each in its turn. */
  private readOn(): void {
    for (const connection of this.throttled) {
      if (this.outstanding > this.options.outstandingMax) return
      this.throttled.delete(connection)
      connection.isThrottled = false
      this.guard(connection, () => connection.cutter.resume(connection))
      if (!connection.isThrottled && connection.state !== 'closed') connection.link.resume()
    }
  }

  // --- replies ---------------------------------------------------------------------------------

  private answerRead(
    connection: ClientConnection,
    xid: number,
    type: number,
    request: Reader,
    receivedMs: number,
  ): void {
    if (isWatchRestore(type)) {
      this.restoreWatches(connection, xid, type, request, receivedMs)
      return
    }
    const { out } = connection
    const frameAt = this.beginReply(out, type === op.ping ? xids.ping : xid)
    const bodyAt = out.position
    let error: number
    try {
      error = answers[type]!(this.db, connection, request, out)
      // A refused multiRead keeps the end of its list, as in Apache.
      if (error !== ok && type !== multiRead) out.position = bodyAt
    } catch (fault) {
      if (!(fault instanceof MalformedError)) throw fault
      error = marshallingError
      out.position = bodyAt
    }
    if (error !== ok) out.intAt(frameAt + 16, error)
    this.endReply(connection, frameAt, xid, type, receivedMs)
    this.stats.readLatency.add(this.nowMs - receivedMs)
  }

  /** Here notifications come first: the reply says that the client has caught up. */
  private restoreWatches(
    connection: ClientConnection,
    xid: number,
    type: number,
    request: Reader,
    receivedMs: number,
  ): void {
    let error: number
    try {
      error = answers[type]!(this.db, connection, request, connection.out)
    } catch (fault) {
      if (!(fault instanceof MalformedError)) throw fault
      error = marshallingError
    }
    this.answerError(connection, xid, type, error, receivedMs)
  }

  private answerError(
    connection: ClientConnection,
    xid: number,
    type: number,
    error: number,
    receivedMs: number,
  ): void {
    const frameAt = this.beginReply(connection.out, xid)
    connection.out.intAt(frameAt + 16, error)
    this.endReply(connection, frameAt, xid, type, receivedMs)
  }

  /** Length (filled in at the end), xid, zxid, and no error so far. */
  private beginReply(out: Writer, xid: number): number {
    const { db } = this
    const frameAt = out.position
    out.ensure(256)
    out.int(0)
    out.int(xid)
    out.longHalves(db.lastZxidHigh, db.lastZxidLow)
    out.int(ok)
    return frameAt
  }

  private endReply(
    connection: ClientConnection,
    frameAt: number,
    xid: number,
    type: number,
    receivedMs: number,
  ): void {
    const { out } = connection
    const { stats, nowMs } = this
    const bytes = out.position - frameAt - 4
    out.intAt(frameAt, bytes)
    const latency = nowMs - receivedMs
    stats.packetsSent++
    stats.operations[type & 0xff]!++
    stats.responded(bytes)
    stats.latency.add(latency)
    connection.packetsSent++
    connection.lastOperation = type
    if (xid >= 0) connection.lastXid = xid
    connection.lastZxid = this.db.lastZxid
    connection.lastResponseMs = nowMs
    connection.lastLatencyMs = latency
    connection.latency.add(latency)
    connection.link.flushSoon()
  }

  // --- what is answered the moment it is read --------------------------------------------------

  private inline(connection: ClientConnection, xid: number, type: number): boolean {
    const { reader } = this
    if (type === op.sasl) {
      // No SASL here: success with nothing to say, as Apache answers without a login section.
      reader.buffer()
      this.answerInline(connection, xid, ok, (out) => out.buffer(null))
      return true
    }
    const { scheme, auth } = AuthPacket.read(reader)
    const { address } = connection.link
    const proven =
      scheme === null ? undefined : this.authenticator.authenticate(scheme, auth, address)
    if (proven === undefined) {
      this.stats.authFailures++
      this.trace({ type: 'authFailed', address, scheme })
      this.answerInline(connection, xid, errorCodes.authFailed)
      this.close(connection)
      return false
    }
    const known = connection.identities
    const isNew = (id: (typeof known)[number]): boolean =>
      !known.some((other) => other.scheme === id.scheme && other.id === id.id)
    // A new list: requests already prepared keep the identities they were read with.
    connection.identities = [...known, ...proven.filter(isNew)]
    this.answerInline(connection, xid, ok)
    return true
  }

  private isPermitted(connection: ClientConnection): boolean {
    const { requiredSchemes } = this.options
    if (requiredSchemes.length === 0) return true
    return connection.identities.some(({ scheme }) => requiredSchemes.includes(scheme ?? ''))
  }

  private refuseUnauthenticated(connection: ClientConnection, xid: number): boolean {
    this.answerInline(connection, xid, errorCodes.sessionClosedRequireSaslAuth)
    this.close(connection)
    return false
  }

  private refuseUnknown(connection: ClientConnection, xid: number, operation: number): boolean {
    const { address } = connection.link
    this.trace({ type: 'unknownOperation', address, operation })
    this.answerInline(connection, xid, unimplemented, undefined, -1)
    this.close(connection)
    return false
  }

  /** Replies outside the order of requests carry no zxid. */
  private answerInline(
    connection: ClientConnection,
    xid: number,
    error: number,
    body?: (out: Writer) => void,
    zxid: 0 | -1 = 0,
  ): void {
    const { out } = connection
    const frameAt = out.position
    out.int(0)
    out.int(xid)
    out.longHalves(zxid, zxid)
    out.int(error)
    body?.(out)
    out.intAt(frameAt, out.position - frameAt - 4)
    this.stats.packetsSent++
    connection.packetsSent++
    connection.link.flushSoon()
  }
}

const multiRead = 22
const statDataLengthAt = 52
const isWatchRestore = (type: number): boolean => type === 101 || type === 105
