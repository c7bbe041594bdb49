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
  /** Everything committed before was copied. */
  readonly takenAt: string
}

/** Where a backup is taken from. */
export interface BackupSource {
  readonly name: string
  /** `fresh`: one that is taken now, where that is possible. */
  openSnapshot(fresh: boolean): Promise<SnapshotCopy>
  /** Copies what is committed behind the position of the collector. */
  copyLog(collector: RecordCollector): Promise<LogCopy>
}

export type BrokenReason = 'purged' | 'otherHistory' | 'gap'

/** The log does not go on from where the last backup ended. */
export class BrokenChainError extends Error {
  override readonly name = 'BrokenChainError'
  readonly reason: BrokenReason

  constructor(reason: BrokenReason, message: string) {
    super(message)
    this.reason = reason
  }
}
