/** The files of a data directory that describe its past, and their order. */
import type { Disk } from '../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong, type StoredFile } from '../storage/disk/files.ts'

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
  /**
   * Another database replaced the previous one at each of these zxids, so replay must not continue
   * across them. Ascending.
   */
  readonly breaks: readonly bigint[]
}

const breakPattern = /^break\.([0-9a-f]{1,16})$/

/** Lists all files about the past of a data directory. */
export async function pastFiles(disk: Disk, places: HistoryPlaces): Promise<PastFiles> {
  const { logDir, snapshotDir } = places
  const kept = `${logDir}/${historyFolder}`
  const breaks: bigint[] = []
  for (const { name } of await listIfThere(disk, kept)) {
    const zxid = breakPattern.exec(name)?.[1]
    if (zxid !== undefined) breaks.push(BigInt(`0x${zxid}`))
  }
  return {
    logs: await filesOf(disk, [kept, logDir], logsAmong),
    snapshots: await filesOf(
      disk,
      [`${snapshotDir}/${historyFolder}`, snapshotDir],
      snapshotsAmong,
    ),
    breaks: breaks.toSorted(ascending),
  }
}

export function breakName(zxid: bigint): string {
  return `break.${zxid.toString(16)}`
}

/** While a file is being moved, both folders may list it; the one that recovery reads counts. */
async function filesOf(
  disk: Disk,
  directories: readonly string[],
  among: typeof logsAmong,
): Promise<PastFile[]> {
  const byZxid = new Map<bigint, PastFile>()
  for (const directory of directories) {
    for (const file of among(await listIfThere(disk, directory))) {
      byZxid.set(file.zxid, { ...file, directory })
    }
  }
  return [...byZxid.values()].toSorted((a, b) => ascending(a.zxid, b.zxid))
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
