/** The logs of a data directory as one sequence of transactions, read through their indexes. */
import { MalformedError } from '@zabra/protocol'
import { faultCode, type Disk } from '../ports.ts'
import { hex } from '../base/hex.ts'
import { LogFileReader, type LogRecords } from '../storage/log/log-reader.ts'
import { isNextZxid } from '../storage/zxid.ts'
import { HistoryError } from './error.ts'
import { indexName, readIndex, writeIndex } from './index-file.ts'
import { mayHold } from './key-filter.ts'
import { indexLog, type LogBlock, type LogIndex, type Pause } from './log-index.ts'
import { historyFolder, openWhereItIs, type HistoryPlaces, type PastFile } from './places.ts'

/** The number of records between two calls of `pause`. */
const recordsPerLook = 32
const stretchBytes = 256 * 1024
/** Indexes kept in memory; those of closed logs are also in files. */
const indexesMax = 32

export type HistoryEvent =
  | { readonly type: 'indexDamaged'; readonly file: string; readonly message: string }
  | { readonly type: 'indexNotWritten'; readonly file: string; readonly message: string }

export interface LogsOptions {
  readonly places: HistoryPlaces
  readonly pause: Pause
  /** Whether indexes may also be written. */
  readonly keepsIndexes: boolean
  readonly blockBytes?: number | undefined
  readonly trace: (event: HistoryEvent) => void
}

/** A range that includes both ends. */
export interface ZxidRange {
  readonly from: bigint
  readonly to: bigint
}

/** A match must have at least one key of each group. */
export type KeyGroups = readonly (readonly number[])[]

/** A range of transactions that is missing between two logs. */
export interface Gap {
  readonly after: bigint
  readonly before: bigint
}

/** The logs at one moment; created for each question. */
export class PastLogs {
  readonly files: readonly PastFile[]
  private readonly indexes: LogIndexes
  private readonly upTo: bigint

  private readonly pause: Pause

  constructor(files: readonly PastFile[], indexes: LogIndexes, upTo: bigint, pause: Pause) {
    this.files = files
    this.indexes = indexes
    this.upTo = upTo
    this.pause = pause
  }

  /** The index of a log, by its position in the list. */
  index(at: number): Promise<LogIndex> {
    const { files, upTo } = this
    return this.indexes.of(files[at]!, at === files.length - 1, upTo)
  }

  /** The last transaction; undefined if there is none. */
  async last(): Promise<LogBlock | undefined> {
    for (let at = this.files.length - 1; at >= 0; at--) {
      const block = (await this.index(at)).blocks.at(-1)
      if (block !== undefined) return block
    }
    return undefined
  }

  /**
   * Visits the transactions of a range in order, except those that the keys rule out, until `visit`
   * returns false. With `isWhole`, a gap in the range is an error.
   */
  async forward(
    range: ZxidRange,
    keys: KeyGroups,
    visit: (records: LogRecords) => boolean | void,
    isWhole = false,
  ): Promise<void> {
    let before: bigint | undefined
    for (let at = this.firstAt(range.from); at < this.files.length; at++) {
      const file = this.files[at]!
      if (file.zxid > range.to) return
      if (isWhole) await this.checkFollows(at, before, range)
      const index = await this.index(at)
      before = index.blocks.at(-1)?.lastZxid ?? before
      for (const stretch of stretchesOf(index.blocks, range, keys)) {
        const isOver = await this.read(file, stretch, range, visit)
        if (isOver) return
      }
      if (isWhole) this.checkEnd(at, index, range)
    }
  }

  /** The blocks of a range that may contain the keys, newest first. */
  async *blocksBackward(
    range: ZxidRange,
    keys: KeyGroups,
  ): AsyncGenerator<{ readonly at: number; readonly block: LogBlock }, void, void> {
    const first = this.firstAt(range.from)
    for (let at = this.files.length - 1; at >= first; at--) {
      if (this.files[at]!.zxid > range.to) continue
      const { blocks } = await this.index(at)
      for (const block of blocks.toReversed()) {
        if (isWanted(block, range, keys)) yield { at, block }
      }
    }
  }

  /** Reads a block; what `visit` gets is valid only during the call. */
  async readBlock(
    at: number,
    { position, end }: LogBlock,
    visit: (records: LogRecords) => boolean | void,
  ): Promise<void> {
    await this.read(this.files[at]!, { position, end }, { from: 0n, to: this.upTo }, visit)
  }

  /** The ranges of transactions that are missing between logs. */
  async gaps(): Promise<Gap[]> {
    const found: Gap[] = []
    let last: bigint | undefined
    for (const [at, { zxid }] of this.files.entries()) {
      if (last !== undefined && !isNextZxid(last, zxid)) found.push({ after: last, before: zxid })
      last = (await this.index(at)).blocks.at(-1)?.lastZxid ?? last
    }
    return found
  }

  /** The position of the log in which reading from a zxid starts. */
  private firstAt(zxid: bigint): number {
    const at = this.files.findLastIndex((file) => file.zxid <= zxid)
    return Math.max(0, at)
  }

  private async read(
    file: PastFile,
    { position, end }: Stretch,
    range: ZxidRange,
    visit: (records: LogRecords) => boolean | void,
  ): Promise<boolean> {
    const bytes = Math.min(stretchBytes, Math.max(4096, end - position))
    let reached = position
    const log = await openLog(this.indexes.disk, file, { from: position, stretchBytes: bytes })
    try {
      let count = 0
      for await (const records of log) {
        while (records.next()) {
          if (records.position >= end || records.zxid > range.to) return records.zxid > range.to
          reached = records.end
          if (records.zxid >= range.from && visit(records) === false) return true
          if (++count % recordsPerLook === 0) await this.pause()
        }
        if (reached >= end) break
      }
    } finally {
      await log.close()
    }
    if (reached < end) {
      this.indexes.forget(file)
      throw damaged(`${file.directory}/${file.name}`, reached)
    }
    return false
  }

  /** Throws if the transactions before the start of a log are missing. */
  private async checkFollows(
    at: number,
    before: bigint | undefined,
    range: ZxidRange,
  ): Promise<void> {
    const { zxid, directory, name } = this.files[at]!
    if (before === undefined) {
      if (zxid <= range.from || isNextZxid(range.from - 1n, zxid)) return
    } else if (isNextZxid(before, zxid)) return
    throw new HistoryError(
      'missing',
      `transactions before ${directory}/${name} are missing, after ${hex(before ?? range.from - 1n)}`,
    )
  }

  /** Throws if a log ends in something unreadable that may contain what is asked for. */
  private checkEnd(at: number, { endReason, end, blocks }: LogIndex, range: ZxidRange): void {
    if (endReason === 'end' || endReason === 'endMark' || endReason === 'unread') return
    const last = blocks.at(-1)?.lastZxid ?? this.files[at]!.zxid - 1n
    if (last >= range.to) return
    const next = this.files[at + 1]
    if (next === undefined || isNextZxid(last, next.zxid)) return
    const { directory, name } = this.files[at]!
    throw damaged(`${directory}/${name}`, end)
  }
}

interface Stretch {
  readonly position: number
  readonly end: number
}

/** The wanted blocks; adjacent ones are joined. */
function stretchesOf(blocks: readonly LogBlock[], range: ZxidRange, keys: KeyGroups): Stretch[] {
  const found: { position: number; end: number }[] = []
  for (const block of blocks) {
    if (!isWanted(block, range, keys)) continue
    const last = found.at(-1)
    if (last?.end === block.position) last.end = block.end
    else found.push({ position: block.position, end: block.end })
  }
  return found
}

function isWanted(block: LogBlock, { from, to }: ZxidRange, keys: KeyGroups): boolean {
  if (block.lastZxid < from || block.firstZxid > to) return false
  const { filter } = block
  if (filter === undefined) return true
  return keys.every((group) => group.some((key) => mayHold(filter, key)))
}

function damaged(path: string, position: number): HistoryError {
  return new HistoryError(
    'damaged',
    `${path} is damaged at byte ${position}: what follows cannot be read`,
  )
}

function openLog(
  disk: Disk,
  file: PastFile,
  options: { from: number; stretchBytes: number },
): Promise<LogFileReader> {
  return openPast(file, (path) => LogFileReader.open(disk, path, options))
}

async function openPast<T>(file: PastFile, open: (path: string) => Promise<T>): Promise<T> {
  const { name } = file
  try {
    return await openWhereItIs(file, (directory) => open(`${directory}/${name}`))
  } catch (error) {
    if (faultCode(error) !== 'ENOENT') throw error
    const message = `${file.directory}/${name} was removed in the meantime`
    throw new HistoryError('missing', message, undefined, error)
  }
}

/** The indexes of all logs: in memory while in use, and in files once a log is complete. */
export class LogIndexes {
  readonly disk: Disk
  private readonly options: LogsOptions
  private readonly known = new Map<string, Promise<LogIndex>>()

  constructor(disk: Disk, options: LogsOptions) {
    this.disk = disk
    this.options = options
  }

  /** One call at a time for each log: a later call continues where the previous one stopped. */
  of(file: PastFile, isNewest: boolean, upTo: bigint): Promise<LogIndex> {
    const key = file.name
    const before = this.known.get(key)
    const next = (before ?? Promise.resolve(undefined))
      .catch(() => undefined)
      .then((index) => this.current(file, index, isNewest, upTo))
    this.known.delete(key)
    this.known.set(key, next)
    next.catch(() => this.known.delete(key))
    for (const oldest of this.known.keys()) {
      if (this.known.size <= indexesMax) break
      this.known.delete(oldest)
    }
    return next
  }

  forget({ name }: PastFile): void {
    this.known.delete(name)
  }

  forgetAll(): void {
    this.known.clear()
  }

  private async current(
    file: PastFile,
    known: LogIndex | undefined,
    isNewest: boolean,
    upTo: bigint,
  ): Promise<LogIndex> {
    const { disk } = this
    const { blockBytes, pause } = this.options
    if (!isNewest && known !== undefined && isOf(known, file)) return known
    const stored = isNewest || known !== undefined ? undefined : await this.stored(file)
    if (stored !== undefined && isOf(stored, file)) return stored
    // A log that was truncated is shorter than its index says.
    const usable = known !== undefined && known.end <= file.bytes ? known : undefined
    if (isNewest && usable !== undefined && (usable.blocks.at(-1)?.lastZxid ?? -1n) >= upTo) {
      return usable
    }
    const index = await openPast(file, (path) =>
      indexLog(disk, path, usable, { upTo, pause, blockBytes }),
    )
    if (!isNewest && index.endReason !== 'unread') await this.store(file, index)
    return index
  }

  private get folder(): string {
    return `${this.options.places.logDir}/${historyFolder}`
  }

  private async stored({ zxid }: PastFile): Promise<LogIndex | undefined> {
    const path = `${this.folder}/${indexName(zxid)}`
    try {
      return await readIndex(this.disk, path)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.options.trace({ type: 'indexDamaged', file: path, message: error.message })
      return undefined
    }
  }

  private async store({ zxid }: PastFile, index: LogIndex): Promise<void> {
    if (!this.options.keepsIndexes) return
    const name = indexName(zxid)
    try {
      await writeIndex(this.disk, this.folder, name, index)
    } catch (error) {
      if (faultCode(error) === undefined) throw error
      const { message } = error as Error
      this.options.trace({ type: 'indexNotWritten', file: `${this.folder}/${name}`, message })
    }
  }
}

/** A log that is being written grows; the index of a complete log stays valid. */
function isOf({ fileBytes, endReason }: LogIndex, { bytes }: PastFile): boolean {
  return endReason !== 'unread' && fileBytes === bytes
}
