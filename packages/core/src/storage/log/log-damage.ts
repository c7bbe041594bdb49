/**
 * Judges a newest log that does not end properly.
 *
 * A crash in the middle of a write leaves each sector of it old or new, in any order. Old means
 * zeros, or the mark that the previous append left at that place. That is a torn tail, which was never
 * acknowledged, and it is dropped. Everything else has lost something durable and is damage: bytes
 * that are neither old nor new, or a hole before the start of the last write.
 */
import { endOfRecord, txnHeaderBytes } from '@zabra/protocol'
import { endMarkBytes, readEndMark, startsLikeEndMark } from './end-mark.ts'
import { recordBytesOver, recordPrefixBytes } from './log-batch.ts'
import { adler32 } from '../../base/checksum.ts'
import { checksumHolds, intAt, type LogFileReader } from './log-reader.ts'
import { allZeros, zerosEnd } from './zeros.ts'

const windowBytes = 4 * 1024 * 1024
/** No disk tears a smaller piece. */
const sectorBytes = 512
/** At the start of a record. */
const checksumBytes = 8
/** The assumed maximum size of a write, for logs without end marks. */
const writeBytesMax = 16 * 1024 * 1024

export interface Verdict {
  readonly kind: 'clean' | 'torn' | 'damaged'
  /** The end of the intact records. */
  readonly position: number
  /** Bytes after that, up to the last one that is not zero. */
  readonly restBytes: number
  /** Intact records after the place where reading stopped. */
  readonly intactRecords: number
  readonly lastIntactZxid: bigint
  /** Apart from the unreadable record, the rest is intact records or old bytes. */
  readonly isRestKnown: boolean
  /** Why this is damage, as the end of a sentence. */
  readonly because: string
}

/** Judges the end of the newest log, after it has been read. */
export async function judgeEnd(log: LogFileReader): Promise<Verdict> {
  const { reason, position } = log.end
  const noRest = { restBytes: 0, intactRecords: 0, lastIntactZxid: 0n, isRestKnown: true }
  const clean = { position, ...noRest, because: '' }
  if (reason === 'end' || reason === 'noHeader') return { kind: 'clean', ...clean }
  const rest = await survey(log, position)
  if (reason === 'endMark' && rest.end <= position + endMarkBytes)
    return { kind: 'clean', ...clean }
  const because =
    reason === 'badMagic'
      ? 'it does not start like a transaction log'
      : reason === 'badRecord'
        ? 'an intact record is in a place where it cannot belong'
        : await reasonForDamage(log, rest)
  return {
    kind: because === undefined ? 'torn' : 'damaged',
    position,
    restBytes: Math.max(0, rest.end - position),
    intactRecords: rest.intactRecords,
    lastIntactZxid: rest.lastIntactZxid,
    isRestKnown: isRestKnown(log, rest),
    because: because ?? '',
  }
}

function isRestKnown({ end: { position, claimedBytes } }: LogFileReader, rest: Survey): boolean {
  const unreadableEnd = position + (claimedBytes > 0 ? claimedBytes + recordBytesOver : 0)
  return rest.end <= Math.max(unreadableEnd, rest.lastIntactEnd) + endMarkBytes
}

async function reasonForDamage(log: LogFileReader, rest: Survey): Promise<string | undefined> {
  const { reason, position } = log.end
  if (rest.lastWriteStart !== undefined && rest.lastWriteStart > position) {
    return `a later write began at byte ${rest.lastWriteStart}, so this place was durable`
  }
  if (!(await looksUnfinished(log, rest))) {
    return reason === 'badChecksum'
      ? 'a record does not match its checksum'
      : 'the bytes there are neither a record nor the rest of an unfinished write'
  }
  const unmarked = rest.lastWriteStart === undefined && rest.intactRecords > 0
  if (unmarked && rest.end - position > writeBytesMax) {
    return `${rest.intactRecords} intact records follow`
  }
  return undefined
}

/** Whether old bytes where new ones should be account for the record that cannot be read. */
async function looksUnfinished(log: LogFileReader, rest: Survey): Promise<boolean> {
  const { reason, position, claimedBytes } = log.end
  if (reason === 'endMark') return true
  const recordEnd = position + claimedBytes + recordBytesOver
  const bytes = await log.peek(position, Math.min(recordEnd, rest.firstIntact, rest.end) - position)
  const isLast = rest.intactRecords === 0 && rest.lastWriteStart === undefined
  const isCutShort =
    reason === 'cutOff' ||
    (claimedBytes > 0 ? rest.end < recordEnd : rest.end <= position + endMarkBytes)
  if (isLast && isCutShort) return !isWholeButForItsLength(bytes)
  return hasOldSector(claimedBytes > 0 ? bytes : await upToNext(log, rest), position)
}

/** Without a length the record may reach up to the next one. */
function upToNext(log: LogFileReader, { firstIntact, end }: Survey): Promise<Uint8Array> {
  const { position } = log.end
  return log.peek(position, Math.min(firstIntact, end, position + writeBytesMax) - position)
}

/** The payload is complete, so the write was finished and only the length is wrong. */
function isWholeButForItsLength(bytes: Uint8Array): boolean {
  const payloadBytes = bytes.length - recordBytesOver
  return (
    payloadBytes > 0 &&
    bytes[bytes.length - 1] === endOfRecord &&
    checksumHolds(bytes, 0, payloadBytes)
  )
}

/** Whether the checksum would match, except for its part in the first sector. */
function isChecksumMissing(bytes: Uint8Array, firstSector: number): boolean {
  if (firstSector >= checksumBytes) return true
  // Its upper half is always zero: if the checksum matches, something else is wrong.
  if (checksumHolds(bytes, 0, bytes.length - recordBytesOver)) return false
  const checksum = adler32(bytes, recordPrefixBytes, bytes.length - 1)
  for (let at = firstSector; at < checksumBytes; at++) {
    const expected =
      at < checksumBytes - 4 ? 0 : (checksum >>> (8 * (checksumBytes - 1 - at))) & 0xff
    if (bytes[at] !== expected) return false
  }
  return true
}

/** Whether a sector of the record, which starts at `position`, is as it was before the write. */
function hasOldSector(bytes: Uint8Array, position: number): boolean {
  const firstSector = Math.min(bytes.length, sectorBytes - (position % sectorBytes))
  if (startsLikeEndMark(bytes, firstSector)) return true
  // There is no mark if the disk was full and the partial write was cut off; a checksum is not zero.
  if (allZeros(bytes, 0, firstSector) && isChecksumMissing(bytes, firstSector)) return true
  for (let at = firstSector; at < bytes.length; at += sectorBytes) {
    // The mark of the append before may have reached into the second sector.
    const from = Math.max(at, endMarkBytes)
    const to = Math.min(at + sectorBytes, bytes.length)
    if (to > from && allZeros(bytes, from, to)) return true
  }
  return false
}

interface Survey {
  /** The end of the file without its trailing zeros. */
  end: number
  intactRecords: number
  firstIntact: number
  lastIntactZxid: bigint
  lastIntactEnd: number
  /** From the last end mark found. */
  lastWriteStart: number | undefined
}

/** Looks at everything behind a position for records and marks, at any offset. */
async function survey(log: LogFileReader, position: number): Promise<Survey> {
  const found: Survey = {
    end: position,
    intactRecords: 0,
    firstIntact: Infinity,
    lastIntactZxid: 0n,
    lastIntactEnd: 0,
    lastWriteStart: undefined,
  }
  // The mark at the position itself belongs to the write before.
  let at = position + 1
  const buffer = new Uint8Array(Math.max(0, Math.min(windowBytes, log.bytes - at)))
  while (at < log.bytes) {
    const window = await log.peekInto(at, buffer)
    if (window.length === 0) break
    at += await surveyWindow(log, window, at, found)
  }
  const first = await log.peek(position, 1)
  if (found.end === position && !allZeros(first, 0, first.length)) found.end = position + 1
  return found
}

/** Returns how far the window was looked through. */
async function surveyWindow(
  log: LogFileReader,
  window: Uint8Array,
  base: number,
  found: Survey,
): Promise<number> {
  const isLast = base + window.length >= log.bytes
  // Short of the end, so that no header or mark is cut in two by the window.
  const stop = isLast ? window.length : window.length - endMarkBytes
  let at = 0
  while (at < stop) {
    at = skipZeros(window, at, stop)
    const start = readEndMark(window, at, window.length)
    if (start !== undefined) found.lastWriteStart = start
    const length = mayBeRecord(window, at) ? await intactRecordAt(log, window, at, base, found) : 0
    if (length > 0) {
      at += length
      found.end = Math.max(found.end, base + at)
    } else {
      if (window[at] !== 0) found.end = Math.max(found.end, base + at + 1)
      at++
    }
  }
  return at
}

/**
 * Most of a log's tail is zeros, tens of megabytes of them, and skipping them makes a start quick. A
 * record itself begins with zeros, so the last few before other bytes are not skipped.
 */
function skipZeros(window: Uint8Array, from: number, stop: number): number {
  const at = zerosEnd(window, from, stop)
  return at === stop ? stop - 1 : Math.max(from, at - recordPrefixBytes)
}

/** A quick check: half a checksum of zeros, and a plausible length. */
function mayBeRecord(window: Uint8Array, at: number): boolean {
  if (at + recordPrefixBytes > window.length || intAt(window, at) !== 0) return false
  return intAt(window, at + 8) >= txnHeaderBytes
}

/** The length of the whole record at a place that looks like one; 0 if it is none. */
async function intactRecordAt(
  log: LogFileReader,
  window: Uint8Array,
  at: number,
  base: number,
  found: Survey,
): Promise<number> {
  const length = intAt(window, at + 8)
  const bytesNeeded = length + recordBytesOver
  if (base + at + bytesNeeded > log.bytes) return 0
  const inside = at + bytesNeeded <= window.length
  const mark = inside
    ? window.subarray(at + bytesNeeded - 1, at + bytesNeeded)
    : await log.peek(base + at + bytesNeeded - 1, 1)
  if (mark[0] !== endOfRecord) return 0
  const bytes = inside ? window : await log.peek(base + at, bytesNeeded)
  const start = inside ? at : 0
  if (!checksumHolds(bytes, start, length)) return 0
  const zxidAt = start + recordPrefixBytes + 12
  const zxid = BigInt(intAt(bytes, zxidAt)) * 2n ** 32n + BigInt(intAt(bytes, zxidAt + 4) >>> 0)
  // A smaller zxid proves nothing: data may contain anything, including old records.
  if (zxid <= log.lastZxid) return 0
  found.intactRecords++
  found.firstIntact = Math.min(found.firstIntact, base + at)
  found.lastIntactZxid = zxid
  found.lastIntactEnd = base + at + bytesNeeded
  return bytesNeeded
}
