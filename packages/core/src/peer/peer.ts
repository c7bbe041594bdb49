import type { Database } from '../database.ts'
import { ClientPipeline, type Clock, type PipelineOptions } from '../pipeline/client-pipeline.ts'
import type { ClientConnection, ClientLink } from '../pipeline/connection.ts'
import { Proposer, type ProposerOptions } from '../pipeline/proposer.ts'
import type { ServerStats } from '../pipeline/stats.ts'
import type { Authenticator } from '../ports.ts'
import { SessionIds } from '../session/session-ids.ts'
import type { SessionTracker } from '../session/tracker.ts'
import { LogBatch } from '../storage/log-batch.ts'
import type { Trace } from '../trace.ts'

export interface PeerOptions extends PipelineOptions, ProposerOptions {
  /** The top byte of the session ids given out here. */
  readonly serverId: number
}

export interface PeerPorts {
  readonly authenticator: Authenticator
  readonly trace: Trace
}

/**
 * The whole server as one machine, without sockets, files or clocks.
 *
 * In: received bytes, the time, and "this batch is durable". Out: bytes in each connection's
 * `out`, and batches for the log. A server on its own is a quorum of one: what its log holds is
 * committed.
 *
 * The host calls `setTime` before anything else in each turn.
 */
export class Peer {
  readonly db: Database
  private readonly clock: Clock
  private readonly trace: Trace
  private readonly pipeline: ClientPipeline
  private readonly proposer: Proposer
  private batch = new LogBatch()
  private spareBatch = new LogBatch()

  constructor(db: Database, options: PeerOptions, ports: PeerPorts, start: Clock) {
    const { authenticator, trace } = ports
    this.db = db
    this.trace = trace
    this.clock = { ...start }
    const { clock } = this
    const sessionIds = new SessionIds(options.serverId, start.nowMs)
    for (const id of db.sessions.keys()) sessionIds.skip(id)
    this.pipeline = new ClientPipeline({ db, clock, authenticator, trace, sessionIds }, options)
    const { pipeline } = this
    this.proposer = new Proposer({ pipeline, clock, trace, batch: () => this.batch }, options)
    pipeline.upstream = this.proposer
    db.onDigestMismatch = (mismatch) => {
      this.stats.digestMismatches++
      trace({ type: 'digestMismatch', ...mismatch })
    }
  }

  setTime(nowMs: number, wallMs: number): void {
    this.clock.nowMs = nowMs
    this.clock.wallMs = wallMs
  }

  get nowMs(): number {
    return this.clock.nowMs
  }

  get stats(): ServerStats {
    return this.pipeline.stats
  }

  get connections(): ReadonlySet<ClientConnection> {
    return this.pipeline.connections
  }

  get sessions(): SessionTracker {
    return this.proposer.sessions
  }

  get outstandingRequests(): number {
    return this.pipeline.outstandingRequests
  }

  get lastZxid(): bigint {
    return this.db.lastZxid
  }

  // --- clients ---------------------------------------------------------------------------------

  open(link: ClientLink): ClientConnection {
    return this.pipeline.open(link)
  }

  /** Bytes from a client; the host may reuse the array afterwards. */
  receive(connection: ClientConnection, bytes: Uint8Array, length: number): void {
    this.pipeline.receive(connection, bytes, length)
  }

  /** The socket is gone. The session lives on until it is resumed or expires. */
  closed(connection: ClientConnection): void {
    this.pipeline.closed(connection)
  }

  /** Time passed: sessions expire, silent connections are closed, old nodes are reclaimed. */
  tick(): void {
    this.stats.tick(this.clock.nowMs)
    this.pipeline.closeSilent()
    this.proposer.tick()
  }

  /** Ephemerals whose session nobody knows any more: to be called once, before serving. */
  dropOrphans(): void {
    this.proposer.dropOrphans()
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
    this.proposer.commitUpTo(upTo)
  }

  /** The disk is full: reads and sessions go on, writes are refused until there is room. */
  suspendWrites(): void {
    if (!this.canWrite) return
    this.proposer.acceptsWrites = false
    this.trace({ type: 'writesSuspended' })
  }

  resumeWrites(): void {
    if (this.canWrite) return
    this.proposer.acceptsWrites = true
    this.trace({ type: 'writesResumed' })
  }

  get canWrite(): boolean {
    return this.proposer.acceptsWrites
  }
}
