/**
 * Reads transaction logs in stretches of whole records.
 *
 *     const log = await LogFileReader.open(disk, path)
 *     for await (const records of log) while (records.next()) use(records.reader)
 *     log.end  // why it ended there
 */
import { endOfRecord, fileHeaderBytes, logMagic, Reader, txnHeaderBytes } from '@zabra/protocol'
import type { Disk, ReadHandle } from '../../ports.ts'
import { adler32 } from '../../base/checksum.ts'
import { endMarkBytes, readEndMark } from './end-mark.ts'
import { indexCovering, listIfThere, logsAmong } from '../disk/files.ts'
import { recordBytesOver, recordPrefixBytes } from './log-batch.ts'
import { ReadAhead } from '../disk/read-ahead.ts'
import { allZeros } from './zeros.ts'

const stretchBytes = 1024 * 1024
/** The default maximum size of a record. */
const recordBytesMaxLeast = 64 * 1024 * 1024
/** Where clientId and cxid end and the zxid of a payload begins. */
const zxidOffset = 12

/** Why reading stopped: the first two are how a log should end. */
export type LogEndReason =
  /** The file ends, or only zeros follow. */
  | 'end'
  /** Only the mark of the last append follows. */
  | 'endMark'
  /** Too short for a header, or zeros in place of one. */
  | 'noHeader'
  | 'badMagic'
  /** The file ends within the record. */
  | 'cutOff'
  | 'zeroLength'
  | 'badLength'
  | 'noEndOfRecord'
  | 'badChecksum'
  /** A record with a valid checksum that is shorter than a header, or whose zxid does not grow. */
  | 'badRecord'

export interface LogEnd {
  readonly reason: LogEndReason
  /** The end of the last sound record. */
  readonly position: number
  /** The length the next record claims, if it can be read. */
  readonly claimedBytes: number
}

export interface LogReaderOptions {
  /** The maximum size of a record; by default more than any server writes. */
  readonly recordBytesMax?: number
  /** The start of a record, where reading begins; by default the first one. */
  readonly from?: number
  /** Bytes read at a time; a megabyte by default. */
  readonly stretchBytes?: number
}

/** A stretch of records in memory; `next` moves to the next one, and returns false after the last. */
export class LogRecords {
  /** Covers the payload of the current record: header, body, digest. */
  readonly reader = new Reader()
  zxid = 0n
  /** The start of the current record in its file. */
  position = 0
  private bytes = new Uint8Array(0)
  private at = 0
  private stretchEnd = 0
  private base = 0

  /** The end of the current record in its file. */
  get end(): number {
    return this.base + this.at
  }

  next(): boolean {
    if (this.at >= this.stretchEnd) return false
    const { bytes, at } = this
    const length = intAt(bytes, at + 8)
    const payload = at + recordPrefixBytes
    this.reader.reset(bytes, payload + zxidOffset, payload + length)
    this.zxid = this.reader.long()
    this.reader.position = payload
    this.position = this.base + at
    this.at = payload + length + 1
    return true
  }

  /** Of the current record, as the file holds it. */
  get checksum(): number {
    return intAt(this.bytes, this.position - this.base + 4)
  }

  set(bytes: Uint8Array<ArrayBuffer>, start: number, end: number, base: number): void {
    this.bytes = bytes
    this.at = start
    this.stretchEnd = end
    this.base = base
  }
}

/** One log file, read from its start. */
export class LogFileReader {
  readonly path: string
  readonly bytes: number
  /** Set when the last stretch is read. */
  end: LogEnd = { reason: 'end', position: 0, claimedBytes: 0 }
  /** The zxid of the last sound record so far; 0 before there is one. */
  lastZxid = 0n
  private readonly file: ReadHandle
  private readonly recordBytesMax: number
  private readonly from: number
  private readonly ahead: ReadAhead
  private buffer: Uint8Array<ArrayBuffer>

  static async open(
    disk: Pick<Disk, 'openRead'>,
    path: string,
    options: LogReaderOptions = {},
  ): Promise<LogFileReader> {
    return new LogFileReader(await disk.openRead(path), path, options)
  }

  private constructor(file: ReadHandle, path: string, options: LogReaderOptions) {
    this.file = file
    this.path = path
    this.bytes = file.bytes
    this.recordBytesMax = Math.max(recordBytesMaxLeast, options.recordBytesMax ?? 0)
    const stretchMax = options.stretchBytes ?? stretchBytes
    const bufferBytes = Math.min(stretchMax, Math.max(endMarkBytes, file.bytes))
    this.buffer = new Uint8Array(bufferBytes)
    this.from = options.from ?? fileHeaderBytes
    let position = this.from
    const next = async (into: Uint8Array): Promise<number> => {
      const count = await file.read(position, into)
      position += count
      return count
    }
    this.ahead = new ReadAhead(next, bufferBytes)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LogRecords, void, void> {
    if (!(await this.readHeader())) return
    const records = new LogRecords()
    let base = this.from
    let filled = 0
    for (;;) {
      const count = await this.ahead.read(this.buffer.subarray(filled))
      filled += count
      const atEnd = count === 0 || base + filled >= this.bytes
      const sound = this.measure(filled, base, atEnd)
      if (sound > 0) {
        records.set(this.buffer, 0, sound, base)
        yield records
      }
      if (this.end.position > 0) break
      this.buffer.copyWithin(0, sound, filled)
      filled -= sound
      base += sound
      if (filled === this.buffer.length) this.grow(filled)
    }
    if (this.end.reason === 'zeroLength' && (await this.zerosFrom(this.end.position))) {
      this.end = { ...this.end, reason: 'end' }
    }
  }

  async close(): Promise<void> {
    await this.ahead.settled()
    await this.file.close()
  }

  /** Reads a part of the file; less than requested at the end of the file. */
  async peek(position: number, bytes: number): Promise<Uint8Array> {
    const into = new Uint8Array(Math.max(0, Math.min(bytes, this.bytes - position)))
    return this.peekInto(position, into)
  }

  /** The same into a given buffer, for many reads. */
  async peekInto(position: number, into: Uint8Array): Promise<Uint8Array> {
    return into.subarray(0, await this.file.read(position, into))
  }

  private async readHeader(): Promise<boolean> {
    const header = await this.peek(0, fileHeaderBytes)
    const reader = new Reader(header)
    if (header.length === fileHeaderBytes && reader.int() === logMagic) return true
    const blank = header.length < fileHeaderBytes || (await this.zerosFrom(0))
    this.end = { reason: blank ? 'noHeader' : 'badMagic', position: 0, claimedBytes: 0 }
    return false
  }

  /** Counts the bytes of whole, sound records in the buffer; sets `end` at the first other one. */
  private measure(filled: number, base: number, atEnd: boolean): number {
    const bytes = this.buffer
    const reader = new Reader(bytes)
    let at = 0
    for (;;) {
      const left = filled - at
      if (left < recordPrefixBytes) {
        if (atEnd) this.stop(allZeros(bytes, at, filled) ? 'end' : 'cutOff', base + at, 0)
        return at
      }
      const length = intAt(bytes, at + 8)
      if (length === 0) {
        if (left < endMarkBytes && !atEnd) return at
        const marked = readEndMark(bytes, at, filled) !== undefined
        this.stop(marked ? 'endMark' : 'zeroLength', base + at, 0)
        return at
      }
      if (length < 0 || length > this.recordBytesMax) {
        this.stop('badLength', base + at, 0)
        return at
      }
      if (left < length + recordBytesOver) {
        if (atEnd) this.stop('cutOff', base + at, length)
        return at
      }
      const payload = at + recordPrefixBytes
      if (bytes[payload + length] !== endOfRecord) {
        this.stop('noEndOfRecord', base + at, length)
        return at
      }
      if (!checksumHolds(bytes, at, length)) {
        this.stop('badChecksum', base + at, length)
        return at
      }
      const zxid = length < txnHeaderBytes ? -1n : reader.reset(bytes, payload + zxidOffset).long()
      if (zxid <= this.lastZxid) {
        this.stop('badRecord', base + at, length)
        return at
      }
      this.lastZxid = zxid
      at = payload + length + 1
    }
  }

  private stop(reason: LogEndReason, position: number, claimedBytes: number): void {
    this.end = { reason, position, claimedBytes }
  }

  private grow(filled: number): void {
    const larger = new Uint8Array(this.buffer.length * 2)
    larger.set(this.buffer.subarray(0, filled))
    this.buffer = larger
  }

  private async zerosFrom(position: number): Promise<boolean> {
    const chunk = new Uint8Array(Math.min(stretchBytes, Math.max(0, this.bytes - position)))
    for (let at = position; at < this.bytes;) {
      const count = await this.file.read(at, chunk)
      if (count === 0) return true
      if (!allZeros(chunk, 0, count)) return false
      at += count
    }
    return true
  }
}

export interface LoggedRecords {
  readonly file: string
  readonly records: LogRecords
}

/**
 * The records of a directory from a zxid on, file after file; the first stretch may begin with
 * older ones. Ends where the files end: what that means is for recovery to judge.
 */
export async function* readLogs(
  disk: Disk,
  directory: string,
  fromZxid: bigint,
  options: LogReaderOptions = {},
): AsyncGenerator<LoggedRecords, void, void> {
  const files = logsAmong(await listIfThere(disk, directory))
  for (const { name } of files.slice(indexCovering(files, fromZxid))) {
    const log = await LogFileReader.open(disk, `${directory}/${name}`, options)
    try {
      for await (const records of log) yield { file: name, records }
    } finally {
      await log.close()
    }
  }
}

/** Whether the record at a position, of which the length is known to fit, has its checksum. */
export function checksumHolds(bytes: Uint8Array, at: number, length: number): boolean {
  const payload = at + recordPrefixBytes
  return (
    intAt(bytes, at) === 0 && intAt(bytes, at + 4) === adler32(bytes, payload, payload + length)
  )
}

export function intAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
}
