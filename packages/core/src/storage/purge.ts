/** Retention: decides which files are not needed any more. */
import type { Disk } from '../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong, type StoredFile } from './disk/files.ts'
import { looksComplete } from './snapshot/snapshot-validity.ts'

export interface Retention {
  /** The number of snapshots to keep, with all logs after the oldest of them. */
  readonly retainCount: number
  /** Fewer snapshots are kept if they take more bytes than this, but at least one. */
  readonly retainBytes?: number
}

export interface PurgeFiles {
  readonly snapshots: readonly (StoredFile & { readonly isComplete: boolean })[]
  readonly logs: readonly StoredFile[]
}

/** The files that may be removed: never one that recovery from a retained snapshot needs. */
export function planPurge(files: PurgeFiles, retention: Retention): PurgeFiles {
  const { retainCount, retainBytes = Infinity } = retention
  const complete = files.snapshots.filter((snapshot) => snapshot.isComplete)
  complete.sort((a, b) => (a.zxid < b.zxid ? 1 : -1))
  let kept = Math.min(complete.length, Math.max(1, retainCount))
  if (kept === 0) return { snapshots: [], logs: [] }
  while (kept > 1 && bytesFrom(files, complete[kept - 1]!.zxid) > retainBytes) kept--
  const oldest = complete[kept - 1]!.zxid
  const firstLog = firstNeededLog(files.logs, oldest)
  return {
    snapshots: files.snapshots.filter(({ zxid }) => zxid < oldest),
    logs: files.logs.filter(({ zxid }) => zxid < firstLog),
  }
}

function bytesFrom({ snapshots, logs }: PurgeFiles, oldest: bigint): number {
  const firstLog = firstNeededLog(logs, oldest)
  let sum = 0
  for (const { zxid, bytes } of snapshots) if (zxid >= oldest) sum += bytes
  for (const { zxid, bytes } of logs) if (zxid >= firstLog) sum += bytes
  return sum
}

/** A log that begins at or below a snapshot may hold records above it. */
function firstNeededLog(logs: readonly StoredFile[], snapshotZxid: bigint): bigint {
  let first: bigint | undefined
  for (const { zxid } of logs) {
    if (zxid <= snapshotZxid && (first === undefined || zxid > first)) first = zxid
  }
  return first ?? snapshotZxid
}

export interface PurgeOptions extends Retention {
  readonly snapshotDir: string
  readonly logDir: string
  /** Handles the files; by default they are removed. */
  readonly dispose?: Disposal
}

export interface Disposal {
  /** Resolves when the name is gone from the directory. */
  take(directory: string, file: StoredFile): Promise<void>
  /** Makes the removals from this directory durable. */
  sync(directory: string): Promise<void>
}

/** Removes the files that `planPurge` names, and returns their paths. */
export async function purge(disk: Disk, options: PurgeOptions): Promise<string[]> {
  const { snapshotDir, logDir } = options
  const snapshots = []
  for (const snapshot of snapshotsAmong(await listIfThere(disk, snapshotDir))) {
    const isComplete = await looksComplete(disk, snapshotDir, snapshot)
    snapshots.push({ ...snapshot, isComplete })
  }
  const logs = logsAmong(await listIfThere(disk, logDir))
  const disposal = options.dispose ?? removal(disk)
  const removed: string[] = []
  const plan = planPurge({ snapshots, logs }, options)
  for (const snapshot of plan.snapshots) await take(snapshotDir, snapshot)
  // Durable before the logs are removed: a snapshot that a crash brings back needs its logs.
  if (plan.snapshots.length > 0 && plan.logs.length > 0) await disposal.sync(snapshotDir)
  for (const log of plan.logs) await take(logDir, log)
  return removed

  async function take(directory: string, file: StoredFile): Promise<void> {
    await disposal.take(directory, file)
    removed.push(`${directory}/${file.name}`)
  }
}

function removal(disk: Disk): Disposal {
  return {
    take: (directory, { name }) => disk.remove(`${directory}/${name}`),
    sync: (directory) => disk.syncDirectory(directory),
  }
}
