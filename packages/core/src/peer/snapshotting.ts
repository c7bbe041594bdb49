import type { Disk, Host } from '../ports.ts'
import type { SnapshotSource } from '../state/snapshot-source.ts'
import {
  sliceBytesDefault,
  writeSnapshot,
  type SnapshotOptions,
} from '../storage/snapshot/snapshot.ts'
import type {
  BatchSource,
  DiskStats,
  JournalEvent,
  JournalOptions,
  TakenSnapshot,
} from './journal-options.ts'

/** A turn with more writes than this counts as busy. */
const busyWrites = 200
const busySliceBytes = 3 * sliceBytesDefault

export interface SnapshottingParts {
  readonly disk: Disk
  readonly host: Host
  readonly stats: DiskStats
  readonly trace: (event: JournalEvent) => void
  readonly onTaken: () => void
}

/** Takes snapshots of the database, one at a time, while everything else goes on. */
export class Snapshotting {
  private readonly source: BatchSource
  private readonly parts: SnapshottingParts
  private readonly options: JournalOptions
  private running: Promise<void> | undefined
  private abandonment: { isAbandoned: boolean } = { isAbandoned: false }

  constructor(source: BatchSource, parts: SnapshottingParts, options: JournalOptions) {
    this.source = source
    this.parts = parts
    this.options = options
  }

  /** Resolves when no snapshot is under way. */
  get done(): Promise<void> {
    return this.running ?? Promise.resolve()
  }

  /** Takes a snapshot, or waits for the one under way. */
  snapshot(): Promise<void> {
    if (this.running === undefined) void this.start()
    return this.done
  }

  /** Takes a snapshot that starts now; undefined when it failed. */
  async snapshotNow(): Promise<TakenSnapshot | undefined> {
    while (this.running !== undefined) await this.running
    return this.start()
  }

  /** The snapshot under way, if any, fails: the database is about to change in a way it must not hold. */
  abandon(): void {
    this.abandonment.isAbandoned = true
  }

  /** Does something while no snapshot is taken: the one under way is abandoned, others wait. */
  async exclude<T>(work: () => Promise<T>): Promise<T> {
    while (this.running !== undefined) {
      this.abandon()
      await this.running
    }
    const working = work()
    this.running = working
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        this.running = undefined
      })
    return working
  }

  private start(): Promise<TakenSnapshot | undefined> {
    const taking = this.take()
    this.running = taking.then(() => {
      this.running = undefined
    })
    return taking
  }

  /** Takes a snapshot now, next to nothing else; undefined when it failed. */
  async take(): Promise<TakenSnapshot | undefined> {
    const { options } = this
    const { stats, disk, host, trace, onTaken } = this.parts
    if (!this.source.db.isExact) {
      trace({ type: 'snapshotFailed', message: 'the leader is still sending the database' })
      return undefined
    }
    const abandonment = (this.abandonment = { isAbandoned: false })
    const source = unlessAbandoned(this.source.db.snapshotSource(), abandonment)
    const started = host.monotonicMs()
    try {
      const { file, bytes } = await writeSnapshot(disk, options.snapshotDir, source, {
        ...this.form,
        // A learner applies what a quorum has logged; a snapshot ahead of its own log is useless.
        logged: async () => this.source.flush?.(),
      })
      stats.snapshots++
      stats.lastSnapshotZxid = source.zxid
      stats.lastSnapshotWallMs = host.wallMs()
      const tookMs = host.monotonicMs() - started
      stats.snapshotMs.add(tookMs)
      trace({ type: 'snapshotTaken', file, bytes, ms: tookMs })
      onTaken()
      return { file, bytes, zxid: source.zxid }
    } catch (error) {
      // The logs still hold everything; the next one may succeed.
      stats.snapshotFailures++
      trace({ type: 'snapshotFailed', message: (error as Error).message })
      return undefined
    }
  }

  get form(): SnapshotOptions {
    const { compression, snapshotMethod: method, tellsLastZxid = true } = this.options
    const { snapshotSliceBytes } = this.options
    const sliceBytes = snapshotSliceBytes === undefined ? this.pace() : () => snapshotSliceBytes
    return {
      method,
      tellsLastZxid,
      sliceBytes,
      ...(compression === undefined ? {} : { compression }),
    }
  }

  /**
   * When hundreds of writes share a turn of the event loop, a longer turn is hardly noticed, and a
   * snapshot that is complete sooner leaves a restart less to replay.
   */
  private pace(): () => number {
    const { batchSize } = this.parts.stats
    let before = batchSize.sum
    return () => {
      const written = batchSize.sum - before
      before = batchSize.sum
      return written > busyWrites ? busySliceBytes : sliceBytesDefault
    }
  }
}

function unlessAbandoned(
  source: SnapshotSource,
  abandonment: { readonly isAbandoned: boolean },
): SnapshotSource {
  const check = (): void => {
    if (abandonment.isAbandoned) throw new Error('the database was replaced in the meantime')
  }
  return {
    ...source,
    writeNodes(writer, bytesMax) {
      check()
      return source.writeNodes(writer, bytesMax)
    },
    finish() {
      check()
      return source.finish()
    },
  }
}
