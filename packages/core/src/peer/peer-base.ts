import type { Txn, TxnHeader } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import { ClientPipeline } from '../service/client-pipeline.ts'
import type { Clock, PipelineOptions } from '../service/pipeline-options.ts'
import type { ClientConnection, ClientLink } from '../service/connection.ts'
import type { ProposerOptions } from '../service/proposer.ts'
import type { Load } from '../service/load/load.ts'
import type { ServerStats } from '../service/server-stats.ts'
import type { Auditor, Authenticator } from '../ports.ts'
import { apachePasswords, type SessionPasswords } from '../service/sessions/password.ts'
import type { ConnectionEnd, SessionEnds } from '../service/sessions/session-ends.ts'
import { SessionIds } from '../service/sessions/session-ids.ts'
import type { SessionTracker } from '../service/sessions/tracker.ts'
import { Batches, type LogBatch } from '../storage/log/log-batch.ts'
import type { RestoredDatabase } from '../storage/recovery/restored.ts'
import type { Trace } from '../service/trace.ts'
import type { Journal } from './journal.ts'
import type { BatchSource } from './journal-options.ts'

export interface PeerOptions extends PipelineOptions, ProposerOptions {
  /** The top byte of the session ids given out here. */
  readonly serverId: number
}

export interface PeerPorts {
  readonly authenticator: Authenticator
  /** Without one there is no audit log. */
  readonly auditor?: Auditor | undefined
  readonly trace: Trace
  /** Apache's by default. */
  readonly passwords?: SessionPasswords | undefined
  /**
   * There is a full batch while more requests are still being read. An idle log may take it now, so
   * that a client that sends many writes at once and the disk do not wait for each other.
   */
  readonly startLog?: () => void
}

/**
 * The whole server as one machine, without sockets, files or clocks.
 *
 * In: received bytes, the time, and "this batch is durable". Out: bytes in each connection's
 * `out`, and batches for the log. The host calls `setTime` before anything else in each turn.
 */
export abstract class PeerBase implements BatchSource {
  readonly db: Database
  protected readonly clock: Clock
  protected readonly pipeline: ClientPipeline
  readonly stats: ServerStats
  /** The next transactions to log. */
  readonly batches: Batches
  private readonly trace: Trace

  constructor(db: Database, options: PeerOptions, ports: PeerPorts, start: Clock) {
    const { trace, passwords = apachePasswords } = ports
    this.db = db
    this.batches = new Batches(db.memory)
    this.trace = trace
    this.clock = { ...start }
    const { clock } = this
    // By the wall clock, because the monotonic clock would give the same ids again after a restart.
    const sessionIds = new SessionIds(options.serverId, start.wallMs)
    for (const id of db.sessions.keys()) sessionIds.skip(id)
    const parts = { ...ports, db, clock, sessionIds, passwords }
    this.pipeline = new ClientPipeline(parts, options)
    this.stats = this.pipeline.stats
    db.onQuotaExceeded = (excess) => trace({ type: 'quotaExceeded', ...excess })
    db.digests.onMismatch = (mismatch) => {
      this.stats.digestMismatches++
      trace({ type: 'digestMismatch', ...mismatch })
    }
    if (db.digests.unreported !== undefined) db.digests.onMismatch(db.digests.unreported)
  }

  setTime(nowMs: number, wallMs: number): void {
    const { clock } = this
    const beforeMs = clock.nowMs
    clock.nowMs = nowMs
    clock.wallMs = wallMs
    if (nowMs !== beforeMs) this.passed(beforeMs, nowMs)
  }

  /** Time has passed in one turn of the host. */
  protected passed(_beforeMs: number, _nowMs: number): void {}

  get nowMs(): number {
    return this.clock.nowMs
  }

  /** Resolves when the log holds, durably, everything that is applied. */
  flush(): Promise<void> {
    return Promise.resolve()
  }

  /** The paths and clients of the requests, and which requests were slow. */
  get load(): Load {
    return this.pipeline.load
  }

  get connections(): ReadonlySet<ClientConnection> {
    return this.pipeline.connections
  }

  /** Why sessions ended, as far as this server knows. */
  get sessionEnds(): SessionEnds {
    return this.pipeline.sessionEnds
  }

  /** The listener is called with each transaction right before it is applied. There is only one. */
  set onCommit(listener: ((header: TxnHeader, txn: Txn) => void) | undefined) {
    this.pipeline.onCommit = listener
  }

  /** The probability that a new connection is refused. */
  get dropProbability(): number {
    return this.pipeline.connectionThrottle?.dropProbability ?? 0
  }

  get outstandingRequests(): number {
    return this.pipeline.flow.outstanding
  }

  /** Whether clients are served. In an ensemble this needs a leader and its history. */
  get isServing(): boolean {
    return this.pipeline.upstream !== undefined
  }

  /** Whether only reads are served, because there is no quorum. */
  get isReadOnly(): boolean {
    return this.pipeline.upstream?.isReadOnly === true
  }

  /** The sessions that no other server knows; undefined if there are no local sessions. */
  get localSessions(): SessionTracker | undefined {
    return this.pipeline.upstream?.localSessions
  }

  get lastZxid(): bigint {
    return this.db.lastZxid
  }

  /** The sessions this server decides about. */
  abstract get sessions(): SessionTracker

  // --- clients -----------------------------------------------------------------------------------

  open(link: ClientLink): ClientConnection {
    return this.pipeline.open(link)
  }

  /** Bytes from a client; the host may reuse the array afterwards. */
  receive(connection: ClientConnection, bytes: Uint8Array, length: number): void {
    this.pipeline.receive(connection, bytes, length)
  }

  /** The client has taken what it was sent: a throttled connection may be read from again. */
  drained(connection: ClientConnection): void {
    this.pipeline.flow.drained(connection)
  }

  /** The socket is gone. The session lives on until it is resumed or expires. */
  closed(connection: ClientConnection, end?: ConnectionEnd): void {
    if (end !== undefined) connection.end = end
    const { state } = connection
    if (state === 'open' || state === 'connecting') this.stats.connectionsDropped++
    this.pipeline.closed(connection)
  }

  /** Time passed: silent connections are closed, sessions expire, old nodes are reclaimed. */
  tick(): void {
    this.stats.tick(this.clock.nowMs)
    this.load.tick(this.clock.nowMs)
    this.pipeline.tick()
    this.db.watches.tick()
  }

  // --- the log -----------------------------------------------------------------------------------

  /** Whether there is anything to log. */
  get hasBatch(): boolean {
    return this.batches.next.records > 0
  }

  abstract logged(batch: LogBatch): void

  abstract get canWrite(): boolean
  protected abstract setCanWrite(canWrite: boolean): void

  /** The disk is full: reads and sessions go on, writes are refused until there is room. */
  suspendWrites(): void {
    if (!this.canWrite) return
    this.setCanWrite(false)
    this.trace({ type: 'writesSuspended' })
  }

  resumeWrites(): void {
    if (this.canWrite) return
    this.setCanWrite(true)
    this.trace({ type: 'writesResumed' })
  }

  /**
   * Becomes what a snapshot holds, durably, under a zxid beyond all that were given out: no client
   * has seen a later one, and nothing that is logged is ever replayed on top. Clients have to
   * connect again; the sessions that the snapshot knows go on. One at a time; a RestoreRefusal says
   * why not.
   */
  abstract restore(restored: RestoredDatabase, journal: Journal): Promise<void>
}

/** Nothing was restored, and nothing has changed. */
export class RestoreRefusal extends Error {
  override readonly name = 'RestoreRefusal'
}

/** The database under the zxid it gets here: after the last one of ours, and of its own. */
export function renamed({ db, reached }: RestoredDatabase, lastZxid: bigint): Database {
  db.advance(reached > lastZxid ? reached : lastZxid + 1n)
  return db
}
