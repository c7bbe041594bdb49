/**
 * Decides how long the past is kept. Files that recovery no longer needs are moved into a folder
 * that neither recovery nor Apache ZooKeeper reads, and are deleted there when they are too old or
 * too large. So history can neither endanger nor delay a start.
 */
import type { Disk } from '../ports.ts'
import { LogFileReader } from '../storage/log/log-reader.ts'
import {
  breakName,
  historyFolder,
  isKept,
  pastFiles,
  type HistoryPlaces,
  type PastFile,
  type PastFiles,
} from './places.ts'

export interface HistoryRetention {
  /** The limit for the folder; files that recovery needs do not count. */
  readonly retainBytes: number
  /** Older changes are deleted; Infinity for no limit. */
  readonly retainMs: number
}

const timeAt = 20

/** Moves a file into the history folder instead of deleting it. */
export async function retire(disk: Disk, directory: string, name: string): Promise<void> {
  const folder = `${directory}/${historyFolder}`
  await disk.makeDirectory(folder)
  await disk.rename(`${directory}/${name}`, `${folder}/${name}`)
}

/**
 * Makes the moves durable: syncs the new folder first, so that no file is lost between two folders.
 */
export async function syncRetired(disk: Disk, directory: string): Promise<void> {
  const folder = `${directory}/${historyFolder}`
  await disk.makeDirectory(folder)
  await disk.syncDirectory(folder)
  await disk.syncDirectory(directory)
}

/**
 * Records that the database of this zxid replaced another one, so that replay does not continue
 * across it.
 */
export async function markBreak(
  disk: Disk,
  { logDir }: HistoryPlaces,
  zxid: bigint,
): Promise<void> {
  const folder = `${logDir}/${historyFolder}`
  await disk.makeDirectory(folder)
  const file = await disk.create(`${folder}/${breakName(zxid)}`)
  await file.close()
  await disk.syncDirectory(folder)
}

/** Makes room on a full disk: deletes the older half. */
export async function halveHistory(disk: Disk, places: HistoryPlaces): Promise<Expired> {
  let bytes = 0
  for (const file of keptOf(await pastFiles(disk, places))) bytes += file.bytes
  return expireHistory(disk, places, { retainBytes: bytes / 2, retainMs: Infinity }, 0)
}

export interface Expired {
  /** The paths of the deleted files. */
  readonly removed: readonly string[]
  /** What the folders take now. */
  readonly bytes: number
}

/** Deletes what is too old or too large, oldest first. */
export async function expireHistory(
  disk: Disk,
  places: HistoryPlaces,
  { retainBytes, retainMs }: HistoryRetention,
  nowMs: number,
): Promise<Expired> {
  const removed = new Set<string>()
  const files = await pastFiles(disk, places)
  const { logs } = files
  let bytes = 0
  for (const { bytes: size } of keptOf(files)) bytes += size
  const remove = async (file: PastFile): Promise<void> => {
    const path = pathOf(file)
    if (removed.has(path)) return
    await disk.remove(path)
    removed.add(path)
    bytes -= file.bytes
  }
  for (const snapshot of superfluousSnapshots(files)) await remove(snapshot)

  const indexes = new Map(files.indexes.map((index) => [index.zxid, index]))
  const snapshots = files.snapshots.filter(isKept)
  let first = 0
  for (const [at, log] of logs.entries()) {
    if (!isKept(log)) break
    const next = logs[at + 1]
    const isTooMuch = bytes > retainBytes
    if (!isTooMuch && (await lastMs(disk, next)) >= nowMs - retainMs) break
    await remove(log)
    const index = indexes.get(log.zxid)
    if (index !== undefined) await remove(index)
    first = at + 1
    // A snapshot is useless without the log that follows it.
    const firstZxid = logs[first]?.zxid ?? log.zxid
    for (const snapshot of snapshots) {
      if (snapshot.zxid + 1n < firstZxid) await remove(snapshot)
    }
  }
  // If recovery needs the logs after them, snapshots can be deleted alone.
  for (const snapshot of snapshots) {
    if (bytes <= retainBytes) break
    await remove(snapshot)
  }
  const left = logs.slice(first)
  const present = new Set(left.map(({ zxid }) => zxid))
  for (const index of files.indexes) if (!present.has(index.zxid)) await remove(index)
  const begins = [...left, ...files.snapshots.filter((file) => !removed.has(pathOf(file)))]
  for (const zxid of files.breaks) {
    if (begins.some((file) => file.zxid < zxid)) continue
    // It holds nothing, so nobody needs to be told.
    await disk.remove(`${places.logDir}/${historyFolder}/${breakName(zxid)}`)
  }
  return { removed: [...removed], bytes }
}

function keptOf({ logs, snapshots, indexes }: PastFiles): PastFile[] {
  return [...logs, ...snapshots, ...indexes].filter(isKept)
}

function pathOf({ directory, name }: PastFile): string {
  return `${directory}/${name}`
}

/**
 * Snapshots that save little replay. Showing the tree at a moment means reading a snapshot and the
 * log after it, so a snapshot with less log before the next one than its own size is not worth
 * keeping.
 */
function superfluousSnapshots({ logs, snapshots, breaks }: PastFiles): PastFile[] {
  const found: PastFile[] = []
  let kept: bigint | undefined
  let between = 0
  let at = 0
  for (const snapshot of snapshots) {
    if (!isKept(snapshot)) continue
    for (; at < logs.length && logs[at]!.zxid <= snapshot.zxid; at++) between += logs[at]!.bytes
    const { zxid, bytes } = snapshot
    // Nothing leads across a break, so a snapshot from before it is of no use after it.
    const isReached = kept !== undefined && !breaks.some((each) => each > kept! && each <= zxid)
    if (isReached && between < bytes) {
      found.push(snapshot)
      continue
    }
    kept = zxid
    between = 0
  }
  return found
}

/** The time of the last transaction of a log is about the time at which the next log begins. */
async function lastMs(disk: Disk, next: PastFile | undefined): Promise<number> {
  if (next === undefined) return Infinity
  const path = `${next.directory}/${next.name}`
  const log = await LogFileReader.open(disk, path, { stretchBytes: 4096 })
  try {
    for await (const records of log) {
      if (!records.next()) continue
      const { view, position } = records.reader
      return view.getInt32(position + timeAt) * 2 ** 32 + view.getUint32(position + timeAt + 4)
    }
    return Infinity
  } finally {
    await log.close()
  }
}
