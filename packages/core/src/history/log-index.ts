/**
 * The index of a log, in blocks: each has its range of zxids and times, and the keys of what
 * changes there. A search reads only the blocks that may contain a match.
 */
import type { Reader } from '@zabra/protocol'
import { LogFileReader, type LogEndReason, type LogRecords } from '../storage/log/log-reader.ts'
import type { Disk } from '../ports.ts'
import { addKeys } from './keys.ts'
import { makeKeyFilter } from './key-filter.ts'

/** The default size up to which records form a block. */
const blockBytesDefault = 128 * 1024
const timeAt = 20
/** The number of records between two calls of `pause`. */
const recordsPerLook = 64

/** Lets the caller do other work in between; returns undefined while there is time left. */
export type Pause = () => Promise<void> | undefined

export interface LogBlock {
  /** The start of the first record, and the start of the next block. */
  readonly position: number
  readonly end: number
  readonly records: number
  readonly firstZxid: bigint
  readonly lastZxid: bigint
  readonly minMs: number
  readonly maxMs: number
  /** Undefined if a transaction does not name everything that it changes. */
  readonly filter: Uint8Array | undefined
}

export interface LogIndex {
  readonly blocks: readonly LogBlock[]
  /** The end of the last record. */
  readonly end: number
  /** Why reading ended there. */
  readonly endReason: LogEndReason | 'unread'
  /** The size of the file when it was read. */
  readonly fileBytes: number
}

export interface IndexOptions {
  /** Later transactions are left out. */
  readonly upTo: bigint
  readonly pause: Pause
  readonly blockBytes?: number | undefined
}

/** The time of the transaction that a reader is at the start of. */
export function timeOf({ position, view }: Reader): number {
  const at = position + timeAt
  return view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4)
}

/** Indexes a log, or the part that was added since the last call. */
export async function indexLog(
  disk: Disk,
  path: string,
  known: LogIndex | undefined,
  options: IndexOptions,
): Promise<LogIndex> {
  const { upTo, pause, blockBytes = blockBytesDefault } = options
  // The last block may not have been full, so it is read again.
  const last = known?.blocks.at(-1)
  const from = last?.position
  const log = await LogFileReader.open(disk, path, from === undefined ? {} : { from })
  const building = new Building(blockBytes, known?.blocks.slice(0, -1) ?? [], from)
  let isSame = last === undefined
  try {
    for await (const records of log) {
      let count = 0
      while (records.next()) {
        // The log may have been truncated and extended since it was read.
        if (!isSame && records.zxid !== last!.firstZxid) break
        isSame = true
        if (records.zxid > upTo) {
          building.finish()
          return { ...building.index, endReason: 'unread', fileBytes: log.bytes }
        }
        building.add(records)
        if (++count % recordsPerLook === 0) await pause()
      }
    }
    building.finish()
    if (isSame) return { ...building.index, endReason: log.end.reason, fileBytes: log.bytes }
  } finally {
    await log.close()
  }
  return indexLog(disk, path, undefined, options)
}

class Building {
  private readonly blockBytes: number
  private readonly blocks: LogBlock[]
  private end: number
  private readonly keys = new Set<number>()
  private isComplete = true
  private position = 0
  private records = 0
  private firstZxid = 0n
  private lastZxid = 0n
  private minMs = Infinity
  private maxMs = -Infinity

  constructor(blockBytes: number, kept: readonly LogBlock[], from = 0) {
    this.blockBytes = blockBytes
    this.blocks = [...kept]
    this.end = from
  }

  get index(): Pick<LogIndex, 'blocks' | 'end'> {
    return { blocks: this.blocks, end: this.end }
  }

  add(records: LogRecords): void {
    if (this.records > 0 && records.end - this.position > this.blockBytes) this.finish()
    const { reader } = records
    if (this.records === 0) {
      this.position = records.position
      this.firstZxid = records.zxid
    }
    this.records++
    this.lastZxid = records.zxid
    this.end = records.end
    const ms = timeOf(reader)
    if (ms < this.minMs) this.minMs = ms
    if (ms > this.maxMs) this.maxMs = ms
    if (!addKeys(reader, this.keys)) this.isComplete = false
  }

  finish(): void {
    if (this.records === 0) return
    const { position, end, records, firstZxid, lastZxid, minMs, maxMs, keys, isComplete } = this
    const filter = isComplete ? makeKeyFilter(keys) : undefined
    this.blocks.push({ position, end, records, firstZxid, lastZxid, minMs, maxMs, filter })
    keys.clear()
    this.isComplete = true
    this.records = 0
    this.minMs = Infinity
    this.maxMs = -Infinity
  }
}
