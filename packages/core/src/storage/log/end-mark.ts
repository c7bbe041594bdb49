/**
 * The mark that zabra writes after the last record of a log, over preallocated zeros.
 *
 *     long  a constant            where a record has its checksum
 *     int   0                     where a record has its length: the end of the file for any reader
 *     long  start                 where the write that this mark closes began
 *     int   Adler-32 of the above
 *
 * Each append ends with one and overwrites the previous one. After a crash it distinguishes two things
 * that look alike: a write that never finished, which was never acknowledged, and the loss of durable
 * data. Pages of one write reach the disk in any order, so records after a hole prove nothing by
 * themselves. But a write at `start` begins only when everything before it is durable, so a hole
 * before `start` is damage.
 */
import { Reader, type Writer } from '@zabra/protocol'
import { adler32 } from '../../base/checksum.ts'

export const endMarkBytes = 24
const high = 0x7a616272 // 'zabr'
const low = 0x61656e64 // 'aend'

export function writeEndMark(writer: Writer, start: number): void {
  const at = writer.position
  writer.longHalves(high, low)
  writer.int(0)
  writer.longHalves(Math.floor(start / 2 ** 32), start | 0)
  writer.int(adler32(writer.bytes, at, writer.position))
}

/** The `start` of the mark at a position, if there is one. */
export function readEndMark(bytes: Uint8Array, at: number, end: number): number | undefined {
  // Called for every offset of a damaged stretch: one comparison decides nearly always.
  if (bytes[at] !== 0x7a || at + endMarkBytes > end) return undefined
  const reader = new Reader(bytes, at, at + endMarkBytes)
  if (reader.int() !== high || reader.int() !== low || reader.int() !== 0) return undefined
  const start = Number(reader.long())
  return reader.int() === adler32(bytes, at, at + endMarkBytes - 4) ? start : undefined
}

/** Whether bytes begin with as much of a mark as fits before `end`. No record begins like that. */
export function startsLikeEndMark(bytes: Uint8Array, end: number): boolean {
  const count = Math.min(end, 8)
  for (let i = 0; i < count; i++) {
    const half = i < 4 ? high : low
    if (bytes[i] !== ((half >>> (24 - 8 * (i % 4))) & 0xff)) return false
  }
  return count > 0
}
