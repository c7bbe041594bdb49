import type { SessionTracker } from '../session/tracker.ts'
import { Proposer } from '../pipeline/proposer.ts'
import type { LogBatch } from '../storage/log-batch.ts'
import type { Clock } from '../pipeline/client-pipeline.ts'
import type { Database } from '../database.ts'
import { PeerBase, type PeerOptions, type PeerPorts } from './peer-base.ts'

/**
 * A server on its own: a quorum of one. What its log holds is committed.
 */
export class Peer extends PeerBase {
  private readonly proposer: Proposer

  constructor(db: Database, options: PeerOptions, ports: PeerPorts, start: Clock) {
    super(db, options, ports, start)
    const { pipeline, clock } = this
    const { trace } = ports
    this.proposer = new Proposer({ pipeline, clock, trace, batch: () => this.batch }, options)
    pipeline.upstream = this.proposer
  }

  override get sessions(): SessionTracker {
    return this.proposer.sessions
  }

  override tick(): void {
    super.tick()
    this.proposer.tick()
  }

  /** Ephemerals whose session nobody knows any more: to be called once, before serving. */
  dropOrphans(): void {
    this.proposer.dropOrphans()
  }

  /** A batch is durable: its transactions are committed, in order. */
  override logged(batch: LogBatch): void {
    const upTo = batch.lastZxid
    this.giveBack(batch)
    this.proposer.commitUpTo(upTo)
  }

  override get canWrite(): boolean {
    return this.proposer.acceptsWrites
  }

  protected override setCanWrite(canWrite: boolean): void {
    this.proposer.acceptsWrites = canWrite
  }
}
