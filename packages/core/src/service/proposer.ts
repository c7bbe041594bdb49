import {
  codes,
  defaultPacketFieldBytesMax,
  digestVersion,
  errorCodes,
  MalformedError,
  TxnHeader,
  writeTxnBody,
  type Id,
  type Reader,
  type Txn,
  type Writer,
} from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import type { Growth } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import { Fifo } from '../base/fifo.ts'
import { closeSession } from '../operations/close-session.ts'
import { createSession } from '../operations/create-session.ts'
import { deleteContainer } from '../operations/delete-container.ts'
import { decodeWrite, prepareWrite, refusal } from '../operations/index.ts'
import type { Caller, OperationRules, Preparation, PreparedTxn } from '../operations/preparation.ts'
import type { Reconfiguring } from '../operations/reconfig.ts'
import type { EndedSessions } from './sessions/ended-sessions.ts'
import { SessionTracker, type Session } from './sessions/tracker.ts'
import type { Batches, LogBatch } from '../storage/log/log-batch.ts'
import type { Trace } from './trace.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import type { ClientPipeline } from './client-pipeline.ts'
import type { Clock } from './pipeline-options.ts'
import type { ClientConnection } from './connection.ts'
import { digestOf } from '../state/tree/digest.ts'
import { Projection } from '../state/projection/projection.ts'
import { Reclaimer, type ReclaimOptions } from './reclaimer.ts'
import type { GlobalUpstream } from './sessions/local-sessions.ts'
import type { WriteTicket } from './write-ticket.ts'

export interface ProposerOptions {
  readonly tickMs: number
  readonly rules: OperationRules
  readonly reclaim: ReclaimOptions
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

const { sessionExpired, sessionMoved } = errorCodes
/** The most identities of one request. */
const identitiesMax = 4096
/** The most writes that are decided together, so that the log need not wait for all of them. */
const undecidedMax = 64
/** The most sessions that end in one tick: a new leader may find that many are over at once. */
const expiredAtOnceMax = 2000
/** The part of the longest transaction by which a request may grow; the request may be half of it. */
const growthPart = 4
const expiredSession = refusal(sessionExpired)
const movedSession = refusal(sessionMoved)

/** The server whose proposer this is, as the leader of an ensemble or alone. */
export interface ProposerHost<Learner> {
  /** Asked before each transaction. One that is refused waits for the next leader. */
  mayPropose(zxid: bigint): boolean
  /**
   * A transaction is the last one in a batch of the log. `from` is the learner whose client asked
   * for it, if it did not come from this server.
   */
  proposed(zxid: bigint, batch: LogBatch, from: Learner | undefined): void
}

/** A transaction in flight: logged or being logged, not yet committed. It is its own header. */
export interface Proposal<Learner = object> extends TxnHeader {
  readonly txn: Txn
  /** The client of this server to answer; undefined for other servers' clients and the server itself. */
  readonly ticket: WriteTicket | undefined
  /** The learner whose client asked for it; undefined for this server and its clients. */
  readonly from: Learner | undefined
  /** The digest the tree must have afterwards. */
  readonly digestHigh: number
  readonly digestLow: number
  /** How many nodes it has in the projection. */
  readonly staged: number
}

/** Local sessions, which only the servers of their clients know. */
export interface SessionsElsewhere {
  /** Whether a session that is unknown here may be a local one of another server. */
  mayBe(sessionId: bigint): boolean
  readonly ended: EndedSessions
}

/**
 * Makes transactions of requests: decides each against the projected state, in the order in which
 * they were read, gives it its zxid, and puts it into the batch that is logged next. Keeps the
 * sessions, because only the server that decides may end one.
 *
 * Several writes are read, then decided, then encoded. The code for all three steps does not fit
 * into the processor's instruction cache; going through all of it for each write costs a tenth more.
 */
export class Proposer<Learner extends object = object> implements GlobalUpstream {
  readonly sessions: SessionTracker
  acceptsWrites = true
  /** Where another server may lead by now, a sync needs a confirmation first. */
  readonly sync?: (ticket: WriteTicket) => void
  readonly allRead: (() => void) | undefined
  private readonly db: Database
  private readonly pipeline: ClientPipeline
  private readonly options: ProposerOptions
  private readonly clock: Clock
  private readonly trace: Trace
  private readonly projection: Projection
  private readonly reclaimer: Reclaimer
  private readonly keeper = new ByteKeeper()
  private readonly batches: Batches
  private readonly inFlight = new Fifo<Proposal<Learner>>()
  /** Writes that were read and are not decided yet. */
  private readonly undecided = new Fifo<WriteTicket>()
  /** Number of in-flight proposals not yet encoded. */
  private unencoded = 0
  private nextZxid: bigint
  /** The time of the clock as transactions hold it. */
  private time = 0n
  private timeMs = 0
  private readonly growthMax: number
  /** Shared by all requests, because each is proposed before the next one is prepared. */
  private readonly prepared: Mutable<Omit<Preparation, 'caller'>> & {
    caller: Mutable<Caller> & { growth: Growth }
  }
  private readonly elsewhere: SessionsElsewhere | undefined
  private readonly host: ProposerHost<Learner>

  constructor(
    parts: {
      pipeline: ClientPipeline
      clock: Clock
      trace: Trace
      /** Where the records go. */
      batches: Batches
      host: ProposerHost<Learner>
      /** The zxid before the first transaction; by default the last applied one. */
      lastZxid?: bigint
      /** Undefined where all sessions are global. */
      elsewhere?: SessionsElsewhere | undefined
      /** Takes a sync, and answers it once this server is confirmed as the leader. */
      confirm?: ((ticket: WriteTicket) => void) | undefined
      /** Called when everything that clients have sent is read. */
      allRead?: (() => void) | undefined
      /** How the members of the ensemble are changed. */
      reconfiguring?: Reconfiguring
    },
    options: ProposerOptions,
  ) {
    this.pipeline = parts.pipeline
    this.db = parts.pipeline.db
    this.clock = parts.clock
    this.trace = parts.trace
    this.batches = parts.batches
    this.host = parts.host
    this.options = options
    this.projection = new Projection(this.db)
    const { txnBytesMax = defaultPacketFieldBytesMax } = options.rules
    this.growthMax = txnBytesMax / growthPart
    this.nextZxid = (parts.lastZxid ?? this.db.lastZxid) + 1n
    this.prepared = {
      db: this.db,
      projection: this.projection,
      rules: options.rules,
      caller: {
        sessionId: 0n,
        identities: [],
        ephemeralError: undefined,
        growth: { bytesLeft: 0 },
      },
      zxid: 0n,
      time: 0n,
      keeper: this.keeper,
      reconfiguring: parts.reconfiguring,
    }
    this.elsewhere = parts.elsewhere
    const { confirm, allRead } = parts
    this.allRead = allRead
    if (confirm !== undefined) {
      this.sync = (ticket) => {
        // Earlier writes of its client come first.
        this.decidePending()
        if (!this.host.mayPropose(this.nextZxid)) return
        confirm(ticket)
      }
    }
    this.reclaimer = new Reclaimer(this.db.tree, options.reclaim)
    this.sessions = new SessionTracker(options.tickMs)
    for (const [id, timeoutMs] of this.db.sessions) {
      this.sessions.add(id, timeoutMs, this.clock.nowMs)
    }
  }

  // --- asked by the pipeline -------------------------------------------------------------------

  write(ticket: WriteTicket, body: Reader): void {
    ticket.request = decodeWrite(ticket.type, body, this.db.tree, this.keeper)
    this.undecided.push(ticket)
    if (this.undecided.length === undecidedMax) this.decidePending()
  }

  decidePending(): void {
    const { undecided } = this
    for (let left = undecided.length; left > 0; left--) this.decideOne(undecided.shift()!)
    this.encodeAll()
  }

  private decideOne(ticket: WriteTicket): void {
    const { sessionId, identities, session } = ticket.connection
    const isLocal = session?.isLocal === true
    const problem = isLocal ? undefined : this.sessionProblem(this.sessions.get(sessionId), this)
    const ephemeralError = isLocal ? (ticket.refusal ?? sessionExpired) : undefined
    const p = this.preparation(sessionId, identities, ephemeralError)
    const txn = problem ?? prepareWrite(ticket.type, ticket.request, p)
    if (txn.type === codes.error && ticket.type === codes.multi) this.countLongMulti(ticket)
    ticket.request = undefined
    this.admit(ticket, undefined, sessionId, ticket.xid, txn)
  }

  private countLongMulti({ request, connection }: WriteTicket): void {
    const { multiOperationsMax = Infinity } = this.options.rules
    if (!Array.isArray(request) || request.length <= multiOperationsMax) return
    this.pipeline.flow.limitReached('multi_operations', connection.link.address)
  }

  createSession(ticket: WriteTicket): void {
    const { sessionId, timeoutMs } = ticket.connection
    this.startSession(ticket, undefined, sessionId, timeoutMs)
  }

  makeGlobal({ id, firstTimeoutMs }: Session): Session {
    return this.startSession(undefined, undefined, id, firstTimeoutMs)
  }

  closeSession(ticket: WriteTicket): void {
    this.endSession(ticket, undefined, ticket.connection.sessionId, ticket.xid)
  }

  resumeSession(connection: ClientConnection, sessionId: bigint): void {
    const session = this.takeSession(sessionId, connection.timeoutMs, this)
    this.pipeline.resumed(connection, sessionId, session)
  }

  sessionOf(sessionId: bigint): Session | undefined {
    return this.sessions.get(sessionId)
  }

  touch({ session, timeoutMs }: ClientConnection): void {
    this.sessions.touch(session!, timeoutMs, this.clock.nowMs)
  }

  /** Everything applied while this proposer is upstream was proposed by it. */
  applied(header: Proposal<Learner>, txn: Txn): void {
    this.projection.retire(header.staged)
    if (txn.type === codes.createSession) {
      this.sessions.add(header.clientId, txn.body.timeOut, this.clock.nowMs)
    } else if (txn.type === codes.closeSession) {
      this.sessions.remove(header.clientId)
      this.elsewhere?.ended.add(header.clientId, this.clock.nowMs)
    }
  }

  // --- asked by other servers, for their clients -----------------------------------------------

  /** A write of another server's client; a malformed one becomes a refusal. */
  remoteWrite(
    from: Learner,
    request: { sessionId: bigint; xid: number; type: number; identities: readonly Id[] },
    body: Reader,
  ): void {
    const { sessionId, xid, type, identities } = request
    this.decidePending()
    body.memory = this.db.memory
    const session = this.sessions.get(sessionId)
    const isLocal = session === undefined && this.isElsewhere(sessionId)
    let txn = isLocal ? undefined : this.sessionProblem(session, from)
    // An Apache follower accepts any number of identities from its client.
    if (identities.length > identitiesMax) txn ??= refusal(errorCodes.authFailed)
    const p = this.preparation(sessionId, identities, isLocal ? sessionExpired : undefined)
    try {
      txn ??= prepareWrite(type, decodeWrite(type, body, this.db.tree, this.keeper), p)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      txn = refusal(errorCodes.marshallingError)
    }
    this.propose(undefined, from, sessionId, xid, txn)
  }

  remoteCreateSession(from: Learner, sessionId: bigint, timeoutMs: number): void {
    this.startSession(undefined, from, sessionId, timeoutMs)
  }

  remoteCloseSession(from: Learner, sessionId: bigint, xid: number): void {
    this.endSession(undefined, from, sessionId, xid)
  }

  /** A client moves to another server: from now on its writes are accepted only from there. */
  takeSession(sessionId: bigint, timeoutMs: number, owner: object): Session | undefined {
    const session = this.sessions.get(sessionId)
    if (session === undefined || session.isClosing) return undefined
    if (session.owner !== undefined && session.owner !== owner) session.moves++
    session.owner = owner
    this.sessions.touch(session, timeoutMs, this.clock.nowMs)
    return session
  }

  touchRemote(sessionId: bigint, timeoutMs: number): void {
    const session = this.sessions.get(sessionId)
    if (session !== undefined && !session.isClosing) {
      this.sessions.touch(session, timeoutMs, this.clock.nowMs)
    }
  }

  private startSession(
    ticket: WriteTicket | undefined,
    from: Learner | undefined,
    sessionId: bigint,
    timeoutMs: number,
  ): Session {
    this.decidePending()
    const txn = createSession.prepare({ timeoutMs }, this.preparation(sessionId, []))
    assert(typeof txn !== 'number', 'a session can always be created')
    // Added before it is committed, because its client may send writes before that.
    const session = this.sessions.add(sessionId, timeoutMs, this.clock.nowMs)
    session.owner = from ?? this
    this.propose(ticket, from, sessionId, 0, txn)
    return session
  }

  private isElsewhere(sessionId: bigint): boolean {
    const { elsewhere } = this
    return elsewhere?.mayBe(sessionId) === true && !elsewhere.ended.has(sessionId)
  }

  private sessionProblem(session: Session | undefined, owner: object): Txn | undefined {
    if (session === undefined || session.isClosing) return expiredSession
    session.owner ??= owner
    return session.owner === owner ? undefined : movedSession
  }

  // --- asked by the clock ----------------------------------------------------------------------

  /** Time passed: sessions expire, containers and TTL nodes are reclaimed. */
  tick(): void {
    if (!this.acceptsWrites) return
    for (const session of this.sessions.expire(this.clock.nowMs, expiredAtOnceMax)) {
      if (session.isClosing) continue
      this.pipeline.stats.sessionsExpired++
      const { id: sessionId, timeoutMs, expiresAtMs, moves, owner } = session
      this.trace({ type: 'sessionExpired', sessionId, timeoutMs })
      const lastHeardMs = Math.min(expiresAtMs - timeoutMs, this.clock.nowMs)
      this.pipeline.sessionEnds.decided(sessionId, {
        timeoutMs,
        lastHeardMs,
        moves,
        heldBy: serverOf(owner),
      })
      this.endSession(undefined, undefined, session.id, 0)
    }
    this.reclaim()
  }

  /** Removes ephemeral nodes whose session is unknown. */
  dropOrphans(): void {
    for (const id of this.db.tree.sessionsWithEphemerals()) {
      if (!this.db.sessions.has(id)) this.endSession(undefined, undefined, id, 0)
    }
  }

  private reclaim(): void {
    const paths = this.reclaimer.due(this.clock.nowMs, this.clock.wallMs)
    for (const path of paths) {
      const { neverUsedMsMax } = this.options.reclaim
      const prepared = deleteContainer.prepare({ path, neverUsedMsMax }, this.preparation(0n, []))
      if (typeof prepared !== 'number') this.propose(undefined, undefined, 0n, 0, prepared)
    }
    if (paths.length > 0) this.trace({ type: 'reclaimed', paths: paths.length })
  }

  private endSession(
    ticket: WriteTicket | undefined,
    from: Learner | undefined,
    sessionId: bigint,
    xid: number,
  ): void {
    this.decidePending()
    const session = this.sessions.get(sessionId)
    if (session !== undefined) session.isClosing = true
    const txn = closeSession.prepare({ sessionId }, this.preparation(sessionId, []))
    assert(typeof txn !== 'number', 'a session can always be closed')
    this.propose(ticket, from, sessionId, xid, txn)
  }

  // --- proposing and committing ----------------------------------------------------------------

  private preparation(
    sessionId: bigint,
    identities: readonly Id[],
    ephemeralError?: number,
  ): Preparation {
    const { prepared } = this
    prepared.caller.sessionId = sessionId
    prepared.caller.identities = identities
    prepared.caller.ephemeralError = ephemeralError
    prepared.caller.growth.bytesLeft = this.growthMax
    prepared.zxid = this.nextZxid
    prepared.time = this.now()
    return prepared
  }

  private now(): bigint {
    const { wallMs } = this.clock
    if (this.timeMs !== wallMs) {
      this.timeMs = wallMs
      this.time = BigInt(wallMs)
    }
    return this.time
  }

  private propose(
    ticket: WriteTicket | undefined,
    from: Learner | undefined,
    sessionId: bigint,
    xid: number,
    txn: Txn,
  ): void {
    this.admit(ticket, from, sessionId, xid, txn)
    this.encodeAll()
  }

  /** Gives a transaction its zxid; from now on it is in flight. */
  private admit(
    ticket: WriteTicket | undefined,
    from: Learner | undefined,
    sessionId: bigint,
    xid: number,
    txn: Txn,
  ): void {
    const zxid = this.nextZxid
    if (!this.host.mayPropose(zxid)) return
    this.nextZxid = zxid + 1n
    const { high: digestHigh, low: digestLow } = this.projection.digest
    const proposal: Proposal<Learner> = {
      clientId: sessionId,
      cxid: xid,
      zxid,
      time: this.now(),
      type: txn.type,
      txn,
      ticket,
      from,
      digestHigh,
      digestLow,
      staged: this.projection.countStaged(),
    }
    this.inFlight.push(proposal)
    this.unencoded++
  }

  /** Appends the admitted transactions to the log's next batch. */
  private encodeAll(): void {
    const { inFlight } = this
    while (this.unencoded > 0) this.encode(inFlight.at(inFlight.length - this.unencoded--)!)
  }

  private encode(proposal: Proposal<Learner>): void {
    const { txn, zxid, from, digestHigh, digestLow } = proposal
    const batch = this.batches.next
    batch.begin()
    TxnHeader.write(batch.writer, proposal)
    this.encodeBody(batch.writer, txn as PreparedTxn)
    if (txn.type !== codes.error && this.db.options.digests && !this.isCutShort(txn)) {
      batch.writer.int(digestVersion)
      batch.writer.longHalves(digestHigh, digestLow)
    }
    batch.end(zxid)
    this.host.proposed(zxid, batch, from)
  }

  private encodeBody(writer: Writer, txn: PreparedTxn): void {
    const { type, bytes } = txn
    if (bytes?.hasBody === true && (type === codes.create || type === codes.create2)) {
      const { ephemeral, parentCVersion } = txn.body
      bytes.writeBody(writer)
      writer.bool(ephemeral)
      writer.int(parentCVersion)
      return
    }
    if (bytes !== undefined) {
      // Writing the path does not encode it again.
      const { text, view, start, end } = bytes.path
      this.db.memory.text.remember(text, view, start, end - start)
    }
    writeTxnBody(writer, txn)
  }

  /**
   * Whether this is a closeSession without its list, which was too long: Apache would read a digest
   * as the list.
   */
  private isCutShort(txn: Txn): boolean {
    if (txn.type !== codes.closeSession || txn.body.paths2Delete !== undefined) return false
    return this.options.rules.closeSessionPaths
  }

  get lastProposedZxid(): bigint {
    return this.nextZxid - 1n
  }

  /** Everything up to here is committed: applied and answered, in order. */
  commitUpTo(zxid: bigint): void {
    const { inFlight } = this
    for (
      let next = inFlight.first;
      next !== undefined && next.zxid <= zxid;
      next = inFlight.first
    ) {
      inFlight.shift()
      this.pipeline.commit(next.ticket, next, next.txn)
      if (this.db.options.digests) this.verifyDigest(next)
    }
    this.pipeline.flow.resumeReading()
  }

  /** The tree must have the digest that was predicted when the transaction was made. */
  private verifyDigest({ zxid, digestHigh, digestLow }: Proposal<Learner>): void {
    const { digest } = this.db.tree
    if (digest.high === digestHigh && digest.low === digestLow) return
    const expected = digestOf(digestHigh, digestLow)
    this.db.digests.onMismatch?.({ zxid, expected, actual: digest.value })
  }
}

/** The number of the server whose client has a session; undefined for one of our own. */
function serverOf(owner: object | undefined): bigint | undefined {
  return owner !== undefined && 'sid' in owner && typeof owner.sid === 'bigint'
    ? owner.sid
    : undefined
}
