import { endOfRecord, Writer, type CodecMemory } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import { adler32OfView } from '../../base/checksum.ts'

/** Checksum and length precede the payload of a record, the end mark follows it. */
export const recordPrefixBytes = 12
export const recordBytesOver = recordPrefixBytes + 1

/**
 * Log records that will become durable together, already in the form of the file.
 *
 * The payload of a record goes into `writer` between `begin` and `end`. Nothing is allocated for
 * a record, and `reset` keeps the buffer for the next batch.
 */
export class LogBatch {
  readonly writer: Writer
  records = 0
  firstZxid = 0n
  lastZxid = 0n
  /** Where the payload of the current or last record starts in `writer`. */
  payloadStart = 0

  constructor(memory?: CodecMemory) {
    this.writer = new Writer(64 * 1024, memory)
  }

  begin(): void {
    this.writer.longHalves(0, 0)
    this.writer.int(0)
    this.payloadStart = this.writer.position
  }

  end(zxid: bigint): void {
    assert(zxid > this.lastZxid, 'zxids grow within a batch')
    const { writer, payloadStart } = this
    const payloadEnd = writer.position
    writer.intAt(payloadStart - 8, adler32OfView(writer.view, payloadStart, payloadEnd))
    writer.intAt(payloadStart - 4, payloadEnd - payloadStart)
    writer.byte(endOfRecord)
    if (this.records === 0) this.firstZxid = zxid
    this.lastZxid = zxid
    this.records++
  }

  /** The client of the last transaction, with which its header begins. */
  get lastClientId(): bigint {
    return this.writer.view.getBigInt64(this.payloadStart)
  }

  reset(): void {
    this.writer.reset()
    this.records = 0
    this.firstZxid = 0n
    this.lastZxid = 0n
    this.payloadStart = 0
  }
}

/** The batch that is being filled, and those that were made durable and are used again. */
export class Batches {
  /** Gets the next records. */
  next: LogBatch
  private readonly spare: LogBatch[] = []
  private readonly memory: CodecMemory | undefined

  constructor(memory?: CodecMemory) {
    this.memory = memory
    this.next = new LogBatch(memory)
  }

  /** The batch to make durable now; `giveBack` ends its use. */
  take(): LogBatch {
    const { next } = this
    this.next = this.spare.pop() ?? new LogBatch(this.memory)
    return next
  }

  giveBack(batch: LogBatch): void {
    batch.reset()
    this.spare.push(batch)
  }
}
