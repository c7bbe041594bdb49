import { Summary } from '../base/statistics.ts'
import type { HistoryRetention } from '../history/retention.ts'
import type { SnapshotSource } from '../state/snapshot-source.ts'
import type { ServerStats } from '../service/server-stats.ts'
import type { Batches, LogBatch } from '../storage/log/log-batch.ts'
import type { Compression } from '../storage/snapshot/snapshot-output.ts'

/** Whose batches are logged: the peer. */
export interface BatchSource {
  readonly batches: Pick<Batches, 'next' | 'take'>
  /** The batch is durable; gives it back. */
  logged(batch: LogBatch): void
  /** The requests of clients, which are more than the writes in the batches. */
  readonly stats: Pick<ServerStats, 'packetsReceived'>
  suspendWrites(): void
  resumeWrites(): void
  readonly db: {
    snapshotSource(): SnapshotSource
    /** False while the tree may hold parts of later transactions: no snapshot may be made of it. */
    readonly isExact: boolean
  }
  /** Resolves when the log holds, durably, everything that is applied; at once if left out. */
  flush?(): Promise<void>
}

/** The events of the journal, for log lines. */
export type JournalEvent =
  | { readonly type: 'diskFull'; readonly message: string }
  | { readonly type: 'diskFree' }
  | { readonly type: 'slowSync'; readonly ms: number }
  | {
      readonly type: 'snapshotTaken'
      readonly file: string
      readonly bytes: number
      readonly ms: number
    }
  | { readonly type: 'snapshotFailed'; readonly message: string }
  | { readonly type: 'purged'; readonly files: readonly string[] }
  | { readonly type: 'purgeFailed'; readonly message: string }

export interface JournalOptions {
  readonly snapshotDir: string
  readonly logDir: string
  readonly snapCount: number
  readonly snapBytes: number | undefined
  readonly logBytesMax: number | undefined
  readonly slowSyncMs: number
  readonly retainCount: number
  readonly retainBytes: number
  /** Whether old files are removed after each snapshot. */
  readonly purges: boolean
  readonly snapshotMethod: 'plain' | 'gz' | 'snappy'
  readonly compression: Compression | undefined
  /** Bytes of a snapshot encoded in one turn of the event loop; by default it depends on the load. */
  readonly snapshotSliceBytes?: number
  /** Whether snapshots end with their last zxid; the default is true. */
  readonly tellsLastZxid?: boolean
  /** How long files that recovery does not need any more are kept; without it they are removed. */
  readonly history?: HistoryRetention | undefined
}

/** Durations and counts of work on disk, for monitoring. */
export interface DiskStats {
  readonly syncMs: Summary
  /** Transactions made durable together. */
  readonly batchSize: Summary
  slowSyncs: number
  snapshots: number
  snapshotFailures: number
  lastSnapshotZxid: bigint
  lastSnapshotWallMs: number
  readonly snapshotMs: Summary
}

export interface TakenSnapshot {
  readonly file: string
  readonly bytes: number
  readonly zxid: bigint
}

export function noDiskStats(): DiskStats {
  return {
    syncMs: new Summary(),
    batchSize: new Summary(),
    slowSyncs: 0,
    snapshots: 0,
    snapshotFailures: 0,
    lastSnapshotZxid: -1n,
    lastSnapshotWallMs: 0,
    snapshotMs: new Summary(),
  }
}
