/**
 * What a log holds, a stretch at a time: between which zxids and times, and the keys of what is
 * changed there. Whoever looks for something reads only the stretches that may hold it.
 */
import { LogFileReader, type LogEndReason, type LogRecords } from '../storage/log/log-reader.ts'
import type { Disk } from '../ports.ts'
import { addKeys } from './keys.ts'
import { makeKeyFilter } from './key-filter.ts'

/** Records up to this many bytes make a block, unless told. */
const blockBytesDefault = 128 * 1024
const timeAt = 20
/** Between looks at whether others want to be served. */
const recordsPerLook = 64

/** Lets others be served between pieces of long work; undefined while there is time left. */
export type Pause = () => Promise<void> | undefined

export interface LogBlock {
  /** Where its first record begins, and where the next block does. */
  readonly position: number
  readonly end: number
  readonly records: number
  readonly firstZxid: bigint
  readonly lastZxid: bigint
  readonly minMs: number
  readonly maxMs: number
  /** Undefined where a transaction does not name all that it changes. */
  readonly filter: Uint8Array | undefined
}

export interface LogIndex {
  readonly blocks: readonly LogBlock[]
  /** Where the last record ends. */
  readonly end: number
  /** Why there were no more. */
  readonly endReason: LogEndReason | 'unread'
  /** The size of the file when it was read. */
  readonly fileBytes: number
}

export interface IndexOptions {
  /** Transactions after this one do not count yet. */
  readonly upTo: bigint
  readonly pause: Pause
  readonly blockBytes?: number | undefined
}

/** Reads a log, or what was added since it was read. */
export async function indexLog(
  disk: Disk,
  path: string,
  known: LogIndex | undefined,
  options: IndexOptions,
): Promise<LogIndex> {
  const { upTo, pause, blockBytes = blockBytesDefault } = options
  // The last block may not have been full.
  const last = known?.blocks.at(-1)
  const from = last?.position
  const log = await LogFileReader.open(disk, path, from === undefined ? {} : { from })
  const building = new Building(blockBytes, known?.blocks.slice(0, -1) ?? [], from)
  let isSame = last === undefined
  try {
    for await (const records of log) {
      let count = 0
      while (records.next()) {
        // The log may have been cut, and written on, since it was read.
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
    const at = reader.position + timeAt
    const ms = reader.view.getInt32(at) * 2 ** 32 + reader.view.getUint32(at + 4)
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
