import type { RecordCollector } from './record-collector.ts'

/** A snapshot file, as it is copied. */
export interface SnapshotCopy {
  readonly name: string
  readonly zxid: bigint
  readonly bytes: number
  readonly chunks: AsyncIterable<Uint8Array>
}

export interface LogCopy {
  /** The last transaction that was copied. */
  readonly to: bigint
  /** Everything committed before this time was copied. */
  readonly takenAt: string
}

/** The source of a backup. */
export interface BackupSource {
  readonly name: string
  /** `fresh`: take a new snapshot, if possible. */
  openSnapshot(fresh: boolean): Promise<SnapshotCopy>
  /** Copies what is committed after the position of the collector. */
  copyLog(collector: RecordCollector): Promise<LogCopy>
}

export type BrokenReason = 'purged' | 'otherHistory' | 'gap'

/** The log does not continue from the end of the last backup. */
export class BrokenChainError extends Error {
  override readonly name = 'BrokenChainError'
  readonly reason: BrokenReason

  constructor(reason: BrokenReason, message: string) {
    super(message)
    this.reason = reason
  }
}
