/**
 * Copies records out of transaction logs, for backups. If the logs do not contain every transaction of
 * a range, this fails and says why.
 */
import { faultCode, type Disk } from '../../ports.ts'
import { indexCovering, type StoredFile } from '../disk/files.ts'
import { hex } from '../../base/hex.ts'
import { counterOf, isNextZxid } from '../zxid.ts'
import { recordPrefixBytes } from './log-batch.ts'
import { judgeEnd } from './log-damage.ts'
import { LogFileReader, type LogReaderOptions, type LogRecords } from './log-reader.ts'

export interface RecordRange {
  /** The copy begins after this transaction. */
  readonly after: bigint
  /**
   * The checksum of its record, which shows that these logs are of the same history. Without it, these
   * directories must contain a snapshot of this zxid, followed by its logs.
   */
  readonly checksum?: number | undefined
  /** The last transaction; by default everything sound is copied. */
  readonly to?: bigint | undefined
}

export type CopyProblem =
  /** The logs begin later. */
  | 'purged'
  /** The logs are of a history that does not contain the transaction. */
  | 'otherHistory'
  /** The logs end earlier. */
  | 'behind'
  /** Something in between is missing or damaged. */
  | 'gap'
  /** A file is not where it was listed. */
  | 'moved'

/** The logs do not hold the range. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
  readonly problem: CopyProblem

  constructor(problem: CopyProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

/** The files of a history, each kind in ascending order. */
export interface LoggedFiles {
  readonly logs: readonly (StoredFile & { readonly directory: string })[]
  readonly snapshots: readonly StoredFile[]
  /** Zxids at which another database began: earlier records do not lead to it. */
  readonly breaks: readonly bigint[]
}

/** The records of a range, unchanged, in stretches of up to about a mebibyte. */
export async function* copyRecords(
  disk: Disk,
  { logs, snapshots, breaks }: LoggedFiles,
  range: RecordRange,
  options: LogReaderOptions = {},
): AsyncGenerator<Uint8Array, void, void> {
  const copy = new Copy(
    range,
    snapshots.map(({ zxid }) => zxid),
    breaks,
  )
  for (const { directory, name } of logs.slice(indexCovering(logs, range.after))) {
    const path = `${directory}/${name}`
    const log = await openLog(disk, path, options)
    try {
      for await (const records of log) {
        const stretch = copy.take(records, name)
        if (stretch !== undefined) yield stretch
        if (copy.isDone) return
      }
      const { reason } = log.end
      if (reason === 'end' || reason === 'endMark' || reason === 'noHeader') continue
      const { kind, position, because } = await judgeEnd(log)
      if (kind === 'damaged')
        throw new CopyError('gap', `${path} is damaged at byte ${position}: ${because}`)
    } finally {
      await log.close()
    }
  }
  copy.end()
}

async function openLog(
  disk: Disk,
  path: string,
  options: LogReaderOptions,
): Promise<LogFileReader> {
  try {
    return await LogFileReader.open(disk, path, options)
  } catch (error) {
    if (faultCode(error) !== 'ENOENT') throw error
    throw new CopyError('moved', `${path} was moved or removed in the meantime`)
  }
}

class Copy {
  isDone = false
  private readonly range: RecordRange
  private readonly snapshots: readonly bigint[]
  private readonly breaks: readonly bigint[]
  private last: bigint
  /** Whether the logs are known to contain, or to follow, the transaction they are read from. */
  private isAnchored = false
  private hasOlder = false

  constructor(range: RecordRange, snapshots: readonly bigint[], breaks: readonly bigint[]) {
    this.range = range
    this.snapshots = snapshots
    this.breaks = breaks
    this.last = range.after
  }

  /** The part of a stretch that belongs to the range. */
  take(records: LogRecords, file: string): Uint8Array | undefined {
    const { after, to } = this.range
    let start = -1
    let end = 0
    while (records.next()) {
      const { zxid, reader } = records
      if (zxid <= after) {
        if (zxid === after) this.anchor(records.checksum)
        this.hasOlder = true
        continue
      }
      if (to !== undefined && zxid > to) {
        this.isDone = true
        this.end()
        break
      }
      this.follow(zxid, file)
      if (start < 0) start = reader.position - recordPrefixBytes
      end = reader.end + 1
    }
    if (to !== undefined && this.last === to && this.isAnchored) this.isDone = true
    // The reader reuses its bytes.
    return start < 0 ? undefined : records.reader.bytes.slice(start, end)
  }

  /** After the last record: the whole range must have been read. */
  end(): void {
    const { after, to } = this.range
    if (!this.isAnchored) this.anchorAtSnapshot()
    if (to !== undefined && this.last < to) {
      const problem = to > after ? 'behind' : 'otherHistory'
      throw new CopyError(problem, `the logs end at ${hex(this.last)}, before ${hex(to)}`)
    }
  }

  private anchor(checksum: number): void {
    const { after, checksum: wanted } = this.range
    if (wanted !== undefined && checksum !== wanted)
      throw new CopyError('otherHistory', `the transaction ${hex(after)} is another one here`)
    this.isAnchored = true
  }

  private anchorAtSnapshot(): void {
    const { after, checksum } = this.range
    if (checksum === undefined && (after === 0n || this.snapshots.includes(after))) {
      this.isAnchored = true
      return
    }
    throw this.hasOlder
      ? new CopyError('otherHistory', `the transaction ${hex(after)} is not part of this history`)
      : new CopyError('purged', `the logs here begin after ${hex(after)}`)
  }

  private follow(zxid: bigint, file: string): void {
    const { last } = this
    if (!this.isAnchored) this.anchorAtSnapshot()
    // A server that took a snapshot from its leader has no log of what led up to it. The zxid
    // that stands for an epoch as such is no transaction.
    const between = this.snapshots.find(
      (snapshot) => snapshot > last && snapshot < zxid && counterOf(snapshot) !== 0n,
    )
    const isBroken = this.breaks.some((each) => each > last && each <= zxid)
    if (!isNextZxid(last, zxid) || between !== undefined || isBroken)
      throw new CopyError(
        'gap',
        `${file} starts at ${hex(zxid)}, but the log before ends at ${hex(last)}`,
      )
    this.last = zxid
  }
}
