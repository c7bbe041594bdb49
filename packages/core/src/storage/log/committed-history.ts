import {
  indexCovering,
  listIfThere,
  logsAmong,
  snapshotsAmong,
  type StoredFile,
} from '../disk/files.ts'
import { LogFileReader, type LogRecords } from './log-reader.ts'
import type { Disk } from '../../ports.ts'
import type { LoggedTxn } from './committed-log.ts'
import { follows } from '../zxid.ts'

/** The part of the last snapshot's size that may be sent as transactions instead. */
const snapshotSizeFactorDefault = 0.33
/** Limits memory, because transactions that were read wait until the learner takes them. */
const historyBytesMax = 256 * 1024 * 1024

/**
 * The logged transactions after one zxid and before another, for a learner that was away for so
 * long that memory does not reach back to it. Undefined where the logs do not either, where one
 * of them cannot be read to its end, or where the snapshot would be shorter or it is too much.
 */
export async function readHistory(
  disk: Disk,
  { snapshotDir, logDir }: { snapshotDir: string; logDir: string },
  after: bigint,
  before: bigint,
  /** Negative: never. 0: any amount, within limits. */
  snapshotSizeFactor = snapshotSizeFactorDefault,
  limitBytes: number = historyBytesMax,
): Promise<LoggedTxn[] | undefined> {
  if (snapshotSizeFactor < 0) return undefined
  const snapshots = snapshotsAmong(await listIfThere(disk, snapshotDir))
  const partMax = (snapshots.at(-1)?.bytes ?? Infinity) * snapshotSizeFactor || Infinity
  const bytesMax = Math.min(partMax, limitBytes)
  const wanted = new Wanted(after, before, bytesMax, snapshots)
  const files = logsAmong(await listIfThere(disk, logDir))
  // Older logs than any snapshot needs are about to be purged, and a snapshot that would show that
  // they are of another history may be gone before them.
  const firstKept = indexCovering(files, snapshots[0]?.zxid ?? 0n)
  for (const { name } of files.slice(Math.max(firstKept, indexCovering(files, after)))) {
    const log = await LogFileReader.open(disk, `${logDir}/${name}`)
    try {
      for await (const records of log) {
        const verdict = wanted.take(records)
        if (verdict === 'no') return undefined
        if (verdict === 'complete') return wanted.txns
      }
    } finally {
      await log.close()
    }
    // The next record may begin a new epoch, which may follow anything, so a gap would go unnoticed.
    if (log.end.reason !== 'end' && log.end.reason !== 'endMark') return undefined
  }
  return wanted.leadsUpTo() ? wanted.txns : undefined
}

/** Collects the transactions of the range, as long as none is missing. */
class Wanted {
  readonly txns: LoggedTxn[] = []
  reachesBack = false
  private readonly after: bigint
  private readonly before: bigint
  private readonly bytesMax: number
  private readonly snapshots: readonly StoredFile[]
  private bytes = 0

  constructor(after: bigint, before: bigint, bytesMax: number, snapshots: readonly StoredFile[]) {
    this.after = after
    this.before = before
    this.bytesMax = bytesMax
    this.snapshots = snapshots
  }

  take(records: LogRecords): 'more' | 'complete' | 'no' {
    while (records.next()) {
      const { zxid, reader } = records
      this.reachesBack ||= zxid <= this.after
      if (!this.reachesBack) return 'no'
      if (zxid >= this.before) return this.leadsUpTo(zxid) ? 'complete' : 'no'
      // The learner's last transaction is kept too: it proves that the histories are the same.
      if (zxid < this.after) continue
      const last = this.txns.at(-1)
      if (last !== undefined && this.lacksBetween(last.zxid, zxid)) return 'no'
      const payload = new Uint8Array(reader.bytes.subarray(reader.position, reader.end))
      this.bytes += payload.length
      if (this.bytes > this.bytesMax) return 'no'
      this.txns.push({ zxid, payload })
    }
    return 'more'
  }

  /**
   * Whether nothing is missing between the last and the one before which to end, given what was
   * found next. That one itself may not be logged here yet, and then a new epoch proves nothing.
   */
  leadsUpTo(found?: bigint): boolean {
    const { before } = this
    const last = this.txns.at(-1)
    if (last === undefined) return false
    return before === last.zxid + 1n || (found === before && !this.lacksBetween(last.zxid, before))
  }

  /**
   * A snapshot named after a transaction that no log holds is one that was restored, or came from
   * a leader: what is logged before it is of another history. One named after the start of an epoch
   * may be our own, but a crash may also have come between storing it and removing such logs.
   */
  private lacksBetween(last: bigint, next: bigint): boolean {
    if (!follows(last, next)) return true
    return this.snapshots.some(({ zxid }) => zxid > last && zxid < next)
  }
}
