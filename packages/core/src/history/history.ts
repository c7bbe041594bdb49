/**
 * The past of a data directory: what changed, and what the tree was like. It is read from the logs
 * and snapshots that recovery uses, zabra's or Apache ZooKeeper's, and from older ones that are
 * kept for history alone. History itself only writes indexes.
 *
 * Work is done in slices (`pause`), so a server can answer such questions while it serves clients.
 */
import { MalformedError } from '@zabra/protocol'
import { hex } from '../base/hex.ts'
import { faultCode, type Disk } from '../ports.ts'
import type { LogRecords } from '../storage/log/log-reader.ts'
import { snapshotReach } from '../storage/snapshot/snapshot-reach.ts'
import type { Compression } from '../storage/snapshot/snapshot-output.ts'
import { loadSnapshot, SnapshotError } from '../storage/snapshot/snapshot.ts'
import { readChanges, type Change } from './change.ts'
import { compareFrom, type Difference } from './compare.ts'
import { countByTime, type Bins } from './density.ts'
import { HistoryError } from './error.ts'
import { keysOf, passes, type ChangeFilter } from './filter.ts'
import { timeOf, type Pause } from './log-index.ts'
import { LogIndexes, PastLogs, type Gap, type HistoryEvent, type ZxidRange } from './past-logs.ts'
import { PastTreeLoader, type PastTree } from './past-tree.ts'
import {
  historyFolder,
  isKept,
  openWhereItIs,
  pastFiles,
  type HistoryPlaces,
  type PastFile,
  type PastFiles,
} from './places.ts'
import { everything, nodesAt, subtreeAt, type Selection } from './selection.ts'

export interface HistoryOptions {
  readonly places: HistoryPlaces
  readonly compression?: Compression
  /** Called often during long work. If it throws, the work ends. */
  readonly pause?: Pause
  /** Later transactions are not shown: clients may not know of them yet. */
  readonly upTo?: () => bigint
  /** Whether indexes of logs are kept in files. Only the owner of the directory may do this. */
  readonly keepsIndexes?: boolean
  /** The size of the part of a log that one index entry covers. */
  readonly blockBytes?: number
  readonly trace?: (event: HistoryEvent) => void
}

/** A point in the past: after a transaction, or at a time. */
export type Point = { readonly zxid: bigint } | { readonly timeMs: number }

/** A znode at a transaction. */
export interface ZnodeMoment {
  readonly path: string
  readonly zxid: bigint
  /** Asks for the state before the transaction, not after it. */
  readonly isBefore: boolean
}

export interface PageOptions {
  /** The last transaction on a page may exceed the limit: its changes stay together. */
  readonly limit: number
  /** The order of the changes on the page. */
  readonly isOldestFirst?: boolean
  readonly wantsData?: boolean
  /** Checked while the page is read; when it returns true, the page ends. */
  readonly isLate?: () => boolean
}

export interface ChangePage {
  readonly changes: readonly Change[]
  /**
   * The start of the next page: `from` of the next range if the oldest come first, else `to`.
   * Undefined on the last page.
   */
  readonly next: bigint | undefined
}

/** How far back the past reaches. */
export interface HistoryExtent {
  /** The first and the last logged transaction. */
  readonly first: { readonly zxid: bigint; readonly timeMs: number } | undefined
  readonly last: { readonly zxid: bigint; readonly timeMs: number } | undefined
  /** The oldest state of the tree that can be shown. */
  readonly oldestTree: bigint | undefined
  readonly gaps: readonly Gap[]
  readonly logs: number
  readonly snapshots: number
  readonly bytes: number
}

const zxidMax = 2n ** 63n - 1n

export class History {
  private readonly disk: Disk
  private readonly options: HistoryOptions
  private readonly pause: Pause
  private readonly indexes: LogIndexes

  private lastUpTo = 0n

  constructor(disk: Disk, options: HistoryOptions, indexes?: LogIndexes) {
    const { pause = () => undefined, keepsIndexes = false, trace = () => {} } = options
    const { places, blockBytes } = options
    this.disk = disk
    this.options = options
    this.pause = pause
    this.indexes =
      indexes ?? new LogIndexes(disk, { places, pause, keepsIndexes, trace, blockBytes })
  }

  /** The same past with another `pause`, so that one caller's work can be cancelled alone. */
  during(pause: Pause): History {
    return new History(this.disk, { ...this.options, pause }, this.indexes)
  }

  // --- points ----------------------------------------------------------------------------------

  /** The zxid of a point: that of the last transaction up to it. */
  async resolve(point: Point): Promise<bigint> {
    const { logs } = await this.open()
    return this.zxidOf(point, logs)
  }

  private async zxidOf(point: Point, logs: PastLogs): Promise<bigint> {
    if ('zxid' in point) return point.zxid
    const found = await lastUntil(logs, point.timeMs)
    if (found !== undefined) return found
    throw new HistoryError('tooOld', 'nothing is kept from that time', logs.files[0]?.zxid)
  }

  /** The zxids between two points; an omitted point means no bound. */
  async range(from: Point | undefined, to: Point | undefined): Promise<ZxidRange> {
    const { logs } = await this.open()
    const upTo = this.upTo()
    const first = await this.firstFrom(from, logs)
    let last = to === undefined || !('zxid' in to) ? upTo : to.zxid
    if (to !== undefined && 'timeMs' in to) last = (await lastUntil(logs, to.timeMs)) ?? -1n
    return { from: first, to: last < upTo ? last : upTo }
  }

  private async firstFrom(from: Point | undefined, logs: PastLogs): Promise<bigint> {
    if (from === undefined) return 0n
    if ('zxid' in from) return from.zxid
    const before = await lastUntil(logs, from.timeMs - 1)
    return before === undefined ? 0n : before + 1n
  }

  /** Returns how far back the past reaches. */
  async extent(): Promise<HistoryExtent> {
    const { files, logs } = await this.open()
    const last = await logs.last()
    const [firstBlock] = logs.files.length === 0 ? [] : (await logs.index(0)).blocks
    let oldestTree: bigint | undefined
    for (const snapshot of files.snapshots) {
      oldestTree = (await this.reachOf(snapshot))?.valueOf()
      if (oldestTree !== undefined) break
    }
    const all = [...files.logs, ...files.snapshots]
    return {
      first: firstBlock && { zxid: firstBlock.firstZxid, timeMs: firstBlock.minMs },
      last: last && { zxid: last.lastZxid, timeMs: last.maxMs },
      oldestTree,
      gaps: await logs.gaps(),
      logs: files.logs.length,
      snapshots: files.snapshots.length,
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  }

  private async reachOf(snapshot: PastFile): Promise<bigint | undefined> {
    const { disk } = this
    const { compression } = this.options
    const { directory } = snapshot
    let reach = await snapshotReach(disk, directory, snapshot, compression)
    if (reach === undefined && !isKept(snapshot)) {
      // It may have been moved since it was listed.
      reach = await snapshotReach(disk, `${directory}/${historyFolder}`, snapshot, compression)
    }
    if (reach === undefined) return undefined
    return reach.zxid > snapshot.zxid ? reach.zxid : snapshot.zxid
  }

  // --- changes ---------------------------------------------------------------------------------

  /**
   * Visits every change of a range, oldest first, until `visit` returns false. The change is valid
   * only during the call. A gap in the range is an error.
   */
  async forEachChange(
    range: ZxidRange,
    filter: ChangeFilter,
    visit: (change: Change) => boolean | void,
  ): Promise<void> {
    const { logs } = await this.open()
    const to = range.to < this.upTo() ? range.to : this.upTo()
    await logs.forward(
      { from: range.from, to },
      keysOf(filter),
      (records) => {
        for (const change of changesIn(records, filter)) if (visit(change) === false) return false
        return true
      },
      true,
    )
  }

  /** One page of the changes in a range; the newest come first by default. */
  async page(range: ZxidRange, filter: ChangeFilter, options: PageOptions): Promise<ChangePage> {
    const { logs } = await this.open()
    const upTo = this.upTo()
    const bounded = { from: range.from, to: range.to < upTo ? range.to : upTo }
    if (bounded.from > bounded.to) return { changes: [], next: undefined }
    return options.isOldestFirst === true
      ? forwardPage(logs, bounded, filter, options)
      : backwardPage(logs, bounded, filter, options)
  }

  /** Counts the transactions between two times, sessions and refusals included, by their time. */
  async density(bins: Bins): Promise<number[]> {
    const range = await this.range({ timeMs: bins.fromMs }, { timeMs: bins.toMs })
    const { logs } = await this.open()
    return countByTime(logs, range, bins)
  }

  // --- the tree --------------------------------------------------------------------------------

  /** The tree, or a selected part of it, at a point. */
  async treeAt(point: Point, selection: Selection = everything): Promise<PastTree> {
    const { files, logs } = await this.open()
    const zxid = await this.zxidOf(point, logs)
    return (await this.load(files, logs, zxid, selection)).ended(zxid)
  }

  /**
   * Visits the states of znodes right after or right before given transactions, in the order of the
   * transactions. The state is valid only during the call. Without a selection, it has only these
   * znodes and their ancestors.
   */
  async states<Moment extends ZnodeMoment>(
    moments: readonly Moment[],
    visit: (moment: Moment, tree: PastTree) => void,
    selection: Selection = nodesAt(new Set(moments.map(({ path }) => path)), true),
  ): Promise<void> {
    const { files, logs } = await this.open()
    const left = moments.toSorted((a, b) => (a.zxid < b.zxid ? -1 : a.zxid > b.zxid ? 1 : 0))
    const [first] = left
    const last = left.at(-1)
    if (first === undefined || last === undefined) return
    const loader = await this.load(files, logs, first.zxid - 1n, selection)
    const keys = selection.keys === undefined ? [] : [selection.keys]
    let at = 0
    await logs.forward(
      { from: first.zxid, to: last.zxid },
      keys,
      ({ zxid, reader }) => {
        while (at < left.length && left[at]!.zxid < zxid) visit(left[at++]!, loader.tree)
        const begin = at
        while (at < left.length && left[at]!.zxid === zxid) {
          const moment = left[at++]!
          if (moment.isBefore) visit(moment, loader.tree)
        }
        loader.apply(reader)
        for (const moment of left.slice(begin, at)) if (!moment.isBefore) visit(moment, loader.tree)
      },
      true,
    )
    while (at < left.length) visit(left[at++]!, loader.tree)
  }

  /** The differences between two points below a path, in the order of paths. */
  async compare(
    from: Point,
    to: Point,
    path = '/',
    differencesMax = Infinity,
  ): Promise<Difference[]> {
    const { files, logs } = await this.open()
    const first = await this.zxidOf(from, logs)
    const last = await this.zxidOf(to, logs)
    if (first > last) {
      throw new HistoryError('missing', 'the first point is later than the second')
    }
    await this.refuseFuture(logs, last, first)
    const selection = subtreeAt(path, true)
    const loader = await this.load(files, logs, first, selection)
    const keys = selection.keys === undefined ? [] : [selection.keys]
    return compareFrom(loader, subtreeAt(path), differencesMax, (visit) =>
      logs.forward({ from: first + 1n, to: last }, keys, visit, true),
    )
  }

  private upTo(): bigint {
    return this.options.upTo?.() ?? zxidMax
  }

  private async open(): Promise<{ files: PastFiles; logs: PastLogs }> {
    const upTo = this.upTo()
    // The log was truncated, so its indexes are no longer valid.
    if (upTo < this.lastUpTo) this.indexes.forgetAll()
    this.lastUpTo = upTo
    const files = await pastFiles(this.disk, this.options.places)
    return { files, logs: new PastLogs(files.logs, this.indexes, upTo, this.pause) }
  }

  private async load(
    files: PastFiles,
    logs: PastLogs,
    zxid: bigint,
    selection: Selection,
  ): Promise<PastTreeLoader> {
    const { snapshots } = files
    const brokenAt = files.breaks.findLast((each) => each <= zxid) ?? 0n
    const problems: string[] = []
    for (let at = snapshots.length - 1; at >= 0; at--) {
      const snapshot = snapshots[at]!
      if (snapshot.zxid > zxid || snapshot.zxid < brokenAt) continue
      const loader = new PastTreeLoader(selection)
      const problem = await this.loadSnapshot(snapshot, loader)
      if (problem !== undefined) {
        problems.push(problem)
        continue
      }
      // Transactions were applied while it was written, but it was complete before the next
      // snapshot began.
      const next = snapshots[at + 1]
      const isPast = next !== undefined && next.zxid <= zxid
      if (!isPast && loader.reachedZxid > zxid) continue
      await this.refuseFuture(logs, zxid, snapshot.zxid)
      const keys = selection.keys === undefined ? [] : [selection.keys]
      const range = { from: snapshot.zxid + 1n, to: zxid }
      await logs.forward(range, keys, ({ reader }) => loader.apply(reader), true)
      return loader
    }
    throw await this.tooOld(snapshots, zxid, problems)
  }

  /** Loads a snapshot; returns what is wrong with it, in words. */
  private async loadSnapshot(file: PastFile, loader: PastTreeLoader): Promise<string | undefined> {
    const { disk, pause } = this
    const { name, zxid } = file
    try {
      await openWhereItIs(file, (directory) =>
        loadSnapshot(disk, directory, name, loader, this.options.compression, pause),
      )
      loader.snapshotEnded(zxid)
      return undefined
    } catch (error) {
      const isAboutTheFile = error instanceof SnapshotError || faultCode(error) !== undefined
      if (!isAboutTheFile) throw error
      return (error as Error).message
    }
  }

  /** Throws if the transaction is not known yet: its state must not be guessed. */
  private async refuseFuture(logs: PastLogs, zxid: bigint, known: bigint): Promise<void> {
    if (zxid <= known) return
    const last = await logs.last()
    const reached = last === undefined || last.lastZxid < known ? known : last.lastZxid
    const upTo = this.upTo()
    if (zxid <= reached || zxid === upTo) return
    throw new HistoryError(
      'notYet',
      `the last transaction that is logged here is ${hex(reached < upTo ? reached : upTo)}`,
    )
  }

  private async tooOld(
    snapshots: readonly PastFile[],
    zxid: bigint,
    problems: readonly string[],
  ): Promise<HistoryError> {
    if (problems.length > 0) return new HistoryError('damaged', problems.join('; '))
    const [oldest] = snapshots
    if (oldest === undefined) return new HistoryError('missing', 'there is no snapshot')
    const reach = await this.reachOf(oldest)
    return new HistoryError(
      'tooOld',
      `the tree as of ${hex(zxid)} is not kept` +
        (reach === undefined ? '' : `; the oldest one is that of ${hex(reach)}`),
      reach,
    )
  }
}

// --- pages ---------------------------------------------------------------------------------------

function* changesIn(records: LogRecords, filter: ChangeFilter): IterableIterator<Change> {
  const { reader } = records
  try {
    for (const change of readChanges(reader)) if (passes(change, filter)) yield change
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    // It is from a release that knows more operations.
  }
}

function kept(change: Change, wantsData: boolean): Change {
  const { data } = change
  if (data === undefined || data === null) return change
  return { ...change, data: wantsData ? data.slice() : undefined }
}

async function forwardPage(
  logs: PastLogs,
  range: ZxidRange,
  filter: ChangeFilter,
  { limit, wantsData = false, isLate }: PageOptions,
): Promise<ChangePage> {
  const changes: Change[] = []
  let next: bigint | undefined
  await logs.forward(range, keysOf(filter), (records) => {
    if (changes.length >= limit || isLate?.() === true) {
      next = records.zxid
      return false
    }
    for (const change of changesIn(records, filter)) changes.push(kept(change, wantsData))
    return true
  })
  return { changes, next }
}

async function backwardPage(
  logs: PastLogs,
  range: ZxidRange,
  filter: ChangeFilter,
  { limit, wantsData = false, isLate }: PageOptions,
): Promise<ChangePage> {
  const changes: Change[] = []
  for await (const { at, block } of logs.blocksBackward(range, keysOf(filter))) {
    if (isLate?.() === true) return { changes, next: min(block.lastZxid, range.to) }
    const found: Change[][] = []
    await logs.readBlock(at, block, (records) => {
      if (records.zxid > range.to) return false
      if (records.zxid < range.from) return true
      const ofTxn: Change[] = []
      for (const change of changesIn(records, filter)) ofTxn.push(kept(change, wantsData))
      if (ofTxn.length > 0) found.push(ofTxn)
      return true
    })
    for (let i = found.length - 1; i >= 0; i--) {
      if (changes.length >= limit) return { changes, next: found[i]![0]!.zxid }
      for (const change of found[i]!.toReversed()) changes.push(change)
    }
  }
  return { changes, next: undefined }
}

/** The last transaction up to this time. */
async function lastUntil(logs: PastLogs, timeMs: number): Promise<bigint | undefined> {
  for (let at = logs.files.length - 1; at >= 0; at--) {
    const { blocks } = await logs.index(at)
    for (const block of blocks.toReversed()) {
      if (block.minMs > timeMs) continue
      if (block.maxMs <= timeMs) return block.lastZxid
      let found: bigint | undefined
      await logs.readBlock(at, block, ({ reader, zxid }) => {
        if (timeOf(reader) <= timeMs) found = zxid
      })
      if (found !== undefined) return found
    }
  }
  return undefined
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
