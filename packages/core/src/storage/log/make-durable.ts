import { endOfRecord } from '@zabra/protocol'
import type { Disk } from '../../ports.ts'
import { adler32 } from '../../base/checksum.ts'
import { endMarkBytes, readEndMark } from './end-mark.ts'
import { recordBytesOver } from './log-batch.ts'
import { checksumHolds, intAt, type LogFileReader } from './log-reader.ts'
import { RecoveryError } from '../recovery/recovery-error.ts'

/** The assumed maximum size of the last write, if there is no end mark. */
const unmarkedBytes = 16 * 1024 * 1024

/**
 * Makes everything that was read durable. The last write may exist only in the cache of the system,
 * because its process was killed, or stopped when a sync failed. From now on it counts, so it is
 * written again and synced, with the name of the file: after a failed sync, another sync alone would
 * not write it. Everything before the last write was durable when that write began. The last change may
 * also have been a truncation, which a power failure would otherwise undo.
 */
export async function makeDurable(disk: Disk, log: LogFileReader): Promise<void> {
  const isMarked = log.end.reason === 'endMark'
  await rewrite(disk, log, isMarked ? await markedWrite(log) : await unmarkedEnd(log), log.bytes)
}

/** The same, and cuts off everything after the last intact record. */
export async function cutOff(disk: Disk, log: LogFileReader): Promise<void> {
  await rewrite(disk, log, await unmarkedEnd(log), log.end.position)
}

interface Stretch {
  readonly start: number
  readonly bytes: Uint8Array
}

async function rewrite(
  disk: Disk,
  { path }: LogFileReader,
  { start, bytes }: Stretch,
  size: number,
): Promise<void> {
  const file = await disk.openWrite(path)
  try {
    // Setting the current length would change nothing, and the sync would not write it.
    await file.setSize(size + 1)
    await file.setSize(size)
    await file.write(bytes, start)
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.syncDirectory(path.slice(0, path.lastIndexOf('/')))
}

// The bytes are read a second time here, so they are checked again.

async function markedWrite(log: LogFileReader): Promise<Stretch> {
  const { position } = log.end
  const mark = await log.peek(position, endMarkBytes)
  const start = readEndMark(mark, 0, mark.length) ?? position
  const bytes = await log.peek(start, position + endMarkBytes - start)
  if (start === position || !isSound(bytes)) throw fickle(log.path)
  return { start, bytes }
}

async function unmarkedEnd(log: LogFileReader): Promise<Stretch> {
  const { position } = log.end
  const start = Math.max(0, position - unmarkedBytes)
  const bytes = await log.peek(start, position - start)
  const again = await log.peek(start, position - start)
  if (adler32(bytes, 0, bytes.length) !== adler32(again, 0, again.length)) throw fickle(log.path)
  return { start, bytes }
}

function fickle(path: string): RecoveryError {
  return new RecoveryError(
    path,
    'two reads of its last bytes gave different data',
    'check the disk and the memory, and start again',
  )
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
