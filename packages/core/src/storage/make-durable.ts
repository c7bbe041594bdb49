import { endOfRecord } from '@zabra/protocol'
import type { Disk } from '../ports.ts'
import { endMarkBytes, readEndMark } from './end-mark.ts'
import { recordBytesOver } from './log-batch.ts'
import { checksumHolds, intAt, type LogFileReader } from './log-reader.ts'

/**
 * What was read may be in the system's cache only: a process that was killed, or that stopped
 * because a sync failed, leaves a write behind that no disk may ever have seen. It counts from now
 * on, so it is written again, which a sync alone after a failed one would not do, and synced, the
 * name of the file with it. What came before the last write was durable when that one began.
 */
export async function makeDurable(disk: Disk, log: LogFileReader): Promise<void> {
  const { path, end } = log
  const file = await disk.openWrite(path)
  try {
    const mark = await log.peek(end.position, endMarkBytes)
    const start = readEndMark(mark, 0, mark.length)
    if (start !== undefined && start < end.position) {
      const lastWrite = await log.peek(start, end.position + endMarkBytes - start)
      // It is read a second time here: what cannot be vouched for is not written back.
      if (isSound(lastWrite)) await file.write(lastWrite, start)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.syncDirectory(path.slice(0, path.lastIndexOf('/')))
}

/** Whole records, each with its checksum, and the mark behind them. */
function isSound(bytes: Uint8Array): boolean {
  const recordsEnd = bytes.length - endMarkBytes
  let at = 0
  while (at < recordsEnd) {
    const length = intAt(bytes, at + 8)
    const next = at + length + recordBytesOver
    if (length < 0 || next > recordsEnd || bytes[next - 1] !== endOfRecord) return false
    if (!checksumHolds(bytes, at, length)) return false
    at = next
  }
  return at === recordsEnd && readEndMark(bytes, at, bytes.length) !== undefined
}
