import { LogFileReader, logName, type Disk } from '@zabra/core'
import { encode, FileHeader, fileVersion, logMagic } from '@zabra/protocol'
import { CommandError } from '../framework/errors.ts'
import { hex } from '../node/stat.ts'
import { decodeTransaction, type Transaction } from '../offline/transactions.ts'

/** A log file in memory, complete and checked. */
export interface LogSegment {
  readonly name: string
  readonly bytes: Uint8Array
  readonly transactions: number
  readonly first: Transaction
  readonly last: Transaction
  readonly lastChecksum: number
}

/** The transaction before the first: its record, or a snapshot. */
export interface LogStart {
  readonly zxid: bigint
  /** Undefined where a snapshot has the zxid. */
  readonly checksum: number | undefined
}

/** How much is held in memory. */
const segmentBytes = 16 * 1024 * 1024
const recordBytesMax = 256 * 1024 * 1024
/** Checksum and length before the payload, a byte behind it; in front of it client and cxid. */
const prefixBytes = 12
const zxidAt = prefixBytes + 12
const timeAt = zxidAt + 8

const fileHeader = encode(FileHeader, { magic: logMagic, version: fileVersion, dbid: 0n })

/** Makes log files of a stream of records, which may come in pieces of any size. */
export class RecordCollector {
  /** The last record that came whole, or the one before the first. */
  zxid: bigint
  /** Of that record; undefined as long as it is a snapshot. */
  checksum: number | undefined
  /** The received part of the wanted transactions. */
  readonly passed = new Map<bigint, { readonly checksum: number; readonly timeMs: number }>()
  private readonly onSegment: (segment: LogSegment) => Promise<void>
  private readonly wanted: ReadonlySet<bigint>
  private pieces: Uint8Array[] = []
  private pieceBytes = 0
  /** Less than a record. */
  private rest = Buffer.alloc(0)

  constructor(
    after: LogStart,
    onSegment: (segment: LogSegment) => Promise<void>,
    /** Transactions that are looked for. */
    wanted: readonly bigint[] = [],
  ) {
    this.wanted = new Set(wanted)
    this.zxid = after.zxid
    this.checksum = after.checksum
    this.onSegment = onSegment
  }

  async push(chunk: Uint8Array): Promise<void> {
    const bytes = this.rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.rest, chunk])
    let at = 0
    while (bytes.length - at >= timeAt + 8) {
      const length = bytes.readInt32BE(at + 8)
      if (length < 0 || length > recordBytesMax) throw damaged()
      const end = at + prefixBytes + length + 1
      if (end > bytes.length) break
      const zxid = bytes.readBigInt64BE(at + zxidAt)
      const checksum = bytes.readInt32BE(at + 4)
      if (this.wanted.has(zxid))
        this.passed.set(zxid, { checksum, timeMs: Number(bytes.readBigInt64BE(at + timeAt)) })
      this.zxid = zxid
      this.checksum = checksum
      at = end
    }
    if (at > 0) this.pieces.push(bytes.subarray(0, at))
    this.pieceBytes += at
    this.rest = bytes.subarray(at)
    if (this.pieceBytes >= segmentBytes) await this.flush()
  }

  /** The stream broke off: the next one begins behind the last whole record. */
  dropRest(): void {
    this.rest = Buffer.alloc(0)
  }

  /** Nothing more comes. */
  async end(): Promise<void> {
    if (this.rest.length > 0) throw damaged()
    await this.flush()
  }

  private async flush(): Promise<void> {
    if (this.pieceBytes === 0) return
    const bytes = Buffer.concat([fileHeader, ...this.pieces])
    this.pieces = []
    this.pieceBytes = 0
    await this.onSegment(await checked(bytes))
  }
}

/** Reads what came as a log is read, with its checksums. */
async function checked(bytes: Uint8Array): Promise<LogSegment> {
  const log = await LogFileReader.open(inMemory(bytes), 'what was sent', { recordBytesMax })
  let transactions = 0
  let first: Transaction | undefined
  let last: Transaction | undefined
  let lastChecksum = 0
  for await (const records of log) {
    while (records.next()) {
      transactions++
      lastChecksum = records.checksum
      if (first !== undefined && records.zxid !== log.lastZxid) continue
      last = decodeTransaction('', records.position, records.reader)
      first ??= last
    }
  }
  if (log.end.reason !== 'end' || log.end.position < bytes.length) throw damaged()
  if (first === undefined || last === undefined) throw damaged()
  return { name: logName(first.zxid), bytes, transactions, first, last, lastChecksum }
}

function inMemory(bytes: Uint8Array): Pick<Disk, 'openRead'> {
  return {
    openRead: async () => ({
      bytes: bytes.length,
      async read(position, into) {
        const part = bytes.subarray(position, position + into.length)
        into.set(part)
        return part.length
      },
      async close() {},
    }),
  }
}

function damaged(): CommandError {
  return new CommandError('the transactions that came are damaged', {
    code: 'damaged',
    hint: 'try again; `zabra log verify` checks the files of a server',
  })
}

/** `1f2e3d4c`, of a number with 32 bits. */
export function checksumText(checksum: number): string {
  return hex(BigInt(checksum >>> 0)).slice(2)
}
