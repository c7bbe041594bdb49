/**
 * Decides how long the past is kept. Files that recovery no longer needs are moved into a folder
 * that neither recovery nor Apache ZooKeeper reads, and are deleted there when they are too old or
 * too large. So history can neither endanger nor delay a start.
 */
import type { Disk } from '../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong } from '../storage/disk/files.ts'
import { LogFileReader } from '../storage/log/log-reader.ts'
import { indexZxid } from './index-file.ts'
import { breakName, historyFolder, pastFiles, type HistoryPlaces, type PastFile } from './places.ts'

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
export async function halveHistory(disk: Disk, places: HistoryPlaces): Promise<string[]> {
  let bytes = 0
  for (const directory of new Set([places.logDir, places.snapshotDir])) {
    for (const file of await listIfThere(disk, `${directory}/${historyFolder}`)) bytes += file.bytes
  }
  if (bytes === 0) return []
  return expireHistory(disk, places, { retainBytes: bytes / 2, retainMs: Infinity }, 0)
}

/** Deletes what is too old or too large, oldest first; returns the paths. */
export async function expireHistory(
  disk: Disk,
  places: HistoryPlaces,
  { retainBytes, retainMs }: HistoryRetention,
  nowMs: number,
): Promise<string[]> {
  const removed: string[] = []
  const remove = async ({ directory, name }: Pick<PastFile, 'directory' | 'name'>) => {
    await disk.remove(`${directory}/${name}`)
    removed.push(`${directory}/${name}`)
  }
  for (const snapshot of await superfluousSnapshots(disk, places)) await remove(snapshot)

  const { logs, snapshots } = await pastFiles(disk, places)
  const isKept = ({ directory }: PastFile): boolean => directory.endsWith(`/${historyFolder}`)
  const indexes = await indexesOf(disk, places)
  let bytes = [...logs, ...snapshots].reduce((sum, f) => (isKept(f) ? sum + f.bytes : sum), 0)
  for (const { bytes: ofIndex } of indexes.values()) bytes += ofIndex

  let first = 0
  for (const [at, log] of logs.entries()) {
    if (!isKept(log)) break
    const next = logs[at + 1]
    const isTooMuch = bytes > retainBytes
    if (!isTooMuch && (await lastMs(disk, next)) >= nowMs - retainMs) break
    await remove(log)
    bytes -= log.bytes + (indexes.get(log.zxid)?.bytes ?? 0)
    first = at + 1
    // A snapshot is useless without the log that follows it.
    const firstZxid = logs[first]?.zxid ?? log.zxid
    for (const snapshot of snapshots) {
      if (!isKept(snapshot) || snapshot.zxid + 1n >= firstZxid) continue
      if (removed.includes(`${snapshot.directory}/${snapshot.name}`)) continue
      await remove(snapshot)
      bytes -= snapshot.bytes
    }
  }
  // If recovery needs the logs after them, snapshots can be deleted alone.
  for (const snapshot of snapshots) {
    if (bytes <= retainBytes) break
    if (!isKept(snapshot) || removed.includes(`${snapshot.directory}/${snapshot.name}`)) continue
    await remove(snapshot)
    bytes -= snapshot.bytes
  }
  const present = new Set(logs.slice(first).map(({ zxid }) => zxid))
  for (const [zxid, index] of indexes) if (!present.has(zxid)) await remove(index)
  return removed
}

/**
 * Snapshots that save little replay. Showing the tree at a moment means reading a snapshot and the
 * log after it, so a snapshot with less log before the next one than its own size is not worth
 * keeping.
 */
async function superfluousSnapshots(disk: Disk, places: HistoryPlaces): Promise<PastFile[]> {
  const { logDir, snapshotDir } = places
  const directory = `${snapshotDir}/${historyFolder}`
  const logs = [
    ...logsAmong(await listIfThere(disk, `${logDir}/${historyFolder}`)),
    ...logsAmong(await listIfThere(disk, logDir)),
  ]
  const found: PastFile[] = []
  let kept: bigint | undefined
  for (const snapshot of snapshotsAmong(await listIfThere(disk, directory))) {
    const { zxid, bytes } = snapshot
    const since = kept
    const between = logs
      .filter((log) => since !== undefined && log.zxid > since && log.zxid <= zxid)
      .reduce((sum, log) => sum + log.bytes, 0)
    if (since !== undefined && between < bytes) found.push({ ...snapshot, directory })
    else kept = zxid
  }
  return found
}

async function indexesOf(
  disk: Disk,
  { logDir }: HistoryPlaces,
): Promise<Map<bigint, { directory: string; name: string; bytes: number }>> {
  const directory = `${logDir}/${historyFolder}`
  const found = new Map<bigint, { directory: string; name: string; bytes: number }>()
  for (const { name, bytes } of await listIfThere(disk, directory)) {
    const zxid = indexZxid(name)
    if (zxid !== undefined) found.set(zxid, { directory, name, bytes })
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
