import { indexCovering, listIfThere, logsAmong, snapshotsAmong } from '../storage/files.ts'
import { LogFileReader, type LogRecords } from '../storage/log-reader.ts'
import type { Disk } from '../ports.ts'
import type { LoggedTxn } from './committed-log.ts'
import { follows } from './epochs.ts'

/** So much of the last snapshot's size may be sent as transactions instead of it. */
const snapshotSizeFactor = 0.33

/**
 * The logged transactions after one zxid and before another, for a learner that was away for so
 * long that memory does not reach back to it. Undefined where the logs do not either, where one
 * of them cannot be read to its end, or where the snapshot would be shorter.
 */
export async function readHistory(
  disk: Disk,
  { snapshotDir, logDir }: { snapshotDir: string; logDir: string },
  after: bigint,
  before: bigint,
): Promise<LoggedTxn[] | undefined> {
  const snapshot = snapshotsAmong(await listIfThere(disk, snapshotDir)).at(-1)
  const bytesMax = (snapshot?.bytes ?? Infinity) * snapshotSizeFactor
  const wanted = new Wanted(after, before, bytesMax)
  const files = logsAmong(await listIfThere(disk, logDir))
  for (const { name } of files.slice(indexCovering(files, after))) {
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
    // What comes next may begin a new epoch, and that follows on anything: nobody would notice.
    if (log.end.reason !== 'end' && log.end.reason !== 'endMark') return undefined
  }
  return wanted.reachesBack ? wanted.txns : undefined
}

/** Collects what is asked for, as long as nothing is missing. */
class Wanted {
  readonly txns: LoggedTxn[] = []
  reachesBack = false
  private readonly after: bigint
  private readonly before: bigint
  private readonly bytesMax: number
  private bytes = 0

  constructor(after: bigint, before: bigint, bytesMax: number) {
    this.after = after
    this.before = before
    this.bytesMax = bytesMax
  }

  take(records: LogRecords): 'more' | 'complete' | 'no' {
    while (records.next()) {
      const { zxid, reader } = records
      this.reachesBack ||= zxid <= this.after
      if (!this.reachesBack) return 'no'
      if (zxid >= this.before) return 'complete'
      // The transaction the learner has is kept too: it proves that its history is ours.
      if (zxid < this.after) continue
      const last = this.txns.at(-1)
      if (last !== undefined && !follows(last.zxid, zxid)) return 'no'
      const payload = new Uint8Array(reader.bytes.subarray(reader.position, reader.end))
      this.bytes += payload.length
      if (this.bytes > this.bytesMax) return 'no'
      this.txns.push({ zxid, payload })
    }
    return 'more'
  }
}
