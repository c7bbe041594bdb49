/** The files of a data directory that describe its past, and their order. */
import { faultCode, type Disk, type FileEntry } from '../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong, type StoredFile } from '../storage/disk/files.ts'
import { indexesAmong } from './index-file.ts'

/**
 * The folder, in each of the directories of logs and snapshots, for files that recovery no longer
 * needs.
 */
export const historyFolder = 'history'

export interface PastFile extends StoredFile {
  readonly directory: string
}

/**
 * The directories with logs and snapshots: those that recovery reads, and those for history only.
 */
export interface HistoryPlaces {
  readonly logDir: string
  readonly snapshotDir: string
}

export interface PastFiles {
  /** Ordered by their first zxids. */
  readonly logs: readonly PastFile[]
  readonly snapshots: readonly PastFile[]
  /** The index of a log has the zxid of the log. */
  readonly indexes: readonly PastFile[]
  /**
   * Another database replaced the previous one at each of these zxids, so replay must not continue
   * across them. Ascending.
   */
  readonly breaks: readonly bigint[]
}

const breakPattern = /^break\.([0-9a-f]{1,16})$/

/** Lists all files about the past of a data directory. */
export async function pastFiles(
  disk: Disk,
  { logDir, snapshotDir }: HistoryPlaces,
): Promise<PastFiles> {
  const listings = new Map<string, readonly FileEntry[]>()
  const list = async (directory: string): Promise<readonly FileEntry[]> => {
    const known = listings.get(directory)
    if (known !== undefined) return known
    const entries = await listIfThere(disk, directory)
    listings.set(directory, entries)
    return entries
  }
  const filesOf = async (parent: string, among: typeof logsAmong): Promise<PastFile[]> => {
    const kept = `${parent}/${historyFolder}`
    // In this order, a file that is moved meanwhile is in one of the lists at least.
    const needed = among(await list(parent))
    const byZxid = new Map(among(await list(kept)).map((file) => [file.zxid, inside(kept, file)]))
    const isInBoth = needed.some(({ zxid }) => byZxid.has(zxid))
    const left = isInBoth ? await listIfThere(disk, parent) : []
    for (const file of needed) {
      const wasMoved = byZxid.has(file.zxid) && left.every(({ name }) => name !== file.name)
      // Of two different files, the one that recovery reads counts.
      if (!wasMoved) byZxid.set(file.zxid, inside(parent, file))
    }
    return [...byZxid.values()].toSorted((a, b) => ascending(a.zxid, b.zxid))
  }
  const logs = await filesOf(logDir, logsAmong)
  const snapshots = await filesOf(snapshotDir, snapshotsAmong)
  const indexes = await filesOf(logDir, indexesAmong)
  const breaks: bigint[] = []
  for (const { name } of await list(`${logDir}/${historyFolder}`)) {
    const zxid = breakPattern.exec(name)?.[1]
    if (zxid !== undefined) breaks.push(BigInt(`0x${zxid}`))
  }
  return { logs, snapshots, indexes, breaks: breaks.toSorted(ascending) }
}

/** Whether only the history needs the file. */
export function isKept({ directory }: PastFile): boolean {
  return directory.endsWith(`/${historyFolder}`)
}

/** Opens a file that may have been moved to the history since it was listed. */
export async function openWhereItIs<T>(
  file: PastFile,
  open: (directory: string) => Promise<T>,
): Promise<T> {
  const { directory } = file
  try {
    return await open(directory)
  } catch (error) {
    if (faultCode(error) !== 'ENOENT' || isKept(file)) throw error
    return open(`${directory}/${historyFolder}`)
  }
}

export function breakName(zxid: bigint): string {
  return `break.${zxid.toString(16)}`
}

function inside(directory: string, file: StoredFile): PastFile {
  return { ...file, directory }
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
