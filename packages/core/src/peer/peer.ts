import type { SessionTracker } from '../service/sessions/tracker.ts'
import { Proposer, type ProposerHost } from '../service/proposer.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import type { Clock } from '../service/pipeline-options.ts'
import type { Database } from '../state/database.ts'
import type { RestoredDatabase } from '../storage/recovery/restored.ts'
import type { Journal } from './journal.ts'
import { PeerBase, renamed, RestoreRefusal, type PeerOptions, type PeerPorts } from './peer-base.ts'

/** Records in a batch at which an idle log starts, while more requests are being read. */
const recordsToStartWith = 64

/**
 * A standalone server: a quorum of one. Everything in its log is committed.
 */
export class Peer extends PeerBase implements ProposerHost<object> {
  private proposer: Proposer
  private readonly makeProposer: () => Proposer
  private readonly startLog: (() => void) | undefined
  private isRestoring = false

  constructor(db: Database, options: PeerOptions, ports: PeerPorts, start: Clock) {
    super(db, options, ports, start)
    const { pipeline, clock, batches } = this
    const { trace, startLog } = ports
    this.startLog = startLog
    const parts = { pipeline, clock, trace, batches, host: this }
    this.makeProposer = () => new Proposer(parts, options)
    this.proposer = this.makeProposer()
    pipeline.upstream = this.proposer
  }

  override get sessions(): SessionTracker {
    return this.proposer.sessions
  }

  override tick(): void {
    super.tick()
    this.proposer.tick()
  }

  /** Removes ephemeral nodes whose session is unknown. Call it once, before serving. */
  dropOrphans(): void {
    this.proposer.dropOrphans()
  }

  mayPropose(): boolean {
    return !this.isRestoring
  }

  proposed(_zxid: bigint, { records }: LogBatch): void {
    if (records === recordsToStartWith) this.startLog?.()
  }

  /** A batch is durable: its transactions are committed, in order. */
  override logged(batch: LogBatch): void {
    const upTo = batch.lastZxid
    this.batches.giveBack(batch)
    this.proposer.commitUpTo(upTo)
  }

  override get canWrite(): boolean {
    return this.proposer.acceptsWrites
  }

  protected override setCanWrite(canWrite: boolean): void {
    this.proposer.acceptsWrites = canWrite
  }

  override async restore(restored: RestoredDatabase, journal: Journal): Promise<void> {
    if (!this.canWrite) throw new RestoreRefusal('there is no room on the disk')
    this.isRestoring = true
    this.pipeline.stopServing()
    try {
      const replacement = (): Database => renamed(restored, this.proposer.lastProposedZxid)
      await journal.replaceBy(
        () => replacement().snapshotSource(),
        () => this.db.adopt(restored.db),
      )
    } finally {
      // If it could not be stored, the server continues with its old database.
      this.isRestoring = false
      this.proposer = this.makeProposer()
      this.pipeline.upstream = this.proposer
      this.proposer.dropOrphans()
    }
  }
}
