import { snapshotsAmong, listIfThere } from '../storage/files.ts'
import { readLogs } from '../storage/log-reader.ts'
import type { Disk } from '../ports.ts'
import type { LoggedTxn } from './committed-log.ts'
import { follows } from './epochs.ts'

/** So much of the last snapshot's size may be sent as transactions instead of it. */
const snapshotSizeFactor = 0.33

/**
 * The logged transactions after one zxid and before another, for a learner that was away for so
 * long that memory does not reach back to it. Undefined where the logs do not either, or where
 * the snapshot would be shorter.
 */
export async function readHistory(
  disk: Disk,
  { snapshotDir, logDir }: { snapshotDir: string; logDir: string },
  after: bigint,
  before: bigint,
): Promise<LoggedTxn[] | undefined> {
  const snapshot = snapshotsAmong(await listIfThere(disk, snapshotDir)).at(-1)
  const bytesMax = (snapshot?.bytes ?? Infinity) * snapshotSizeFactor
  const txns: LoggedTxn[] = []
  let bytes = 0
  let reachesBack = false
  for await (const { records } of readLogs(disk, logDir, after)) {
    while (records.next()) {
      const { zxid, reader } = records
      reachesBack ||= zxid <= after
      if (!reachesBack) return undefined
      if (zxid >= before) return txns
      // The transaction the learner has is kept too: it proves that its history is ours.
      if (zxid < after) continue
      const last = txns.at(-1)
      if (last !== undefined && !follows(last.zxid, zxid)) return undefined
      const payload = new Uint8Array(reader.bytes.subarray(reader.position, reader.end))
      bytes += payload.length
      if (bytes > bytesMax) return undefined
      txns.push({ zxid, payload })
    }
  }
  return reachesBack ? txns : undefined
}
