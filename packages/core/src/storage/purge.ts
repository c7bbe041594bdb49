/** Retention: which files are not needed any more. */
import type { Disk } from '../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong, type StoredFile } from './disk/files.ts'
import { looksComplete } from './snapshot/snapshot-validity.ts'

export interface Retention {
  /** So many snapshots are kept, with the logs to go on from the oldest of them. */
  readonly retainCount: number
  /** Fewer are kept when all that takes more than this; one always is. */
  readonly retainBytes?: number
}

export interface PurgeFiles {
  readonly snapshots: readonly (StoredFile & { readonly isComplete: boolean })[]
  readonly logs: readonly StoredFile[]
}

/** The names of the files that may go: never what recovery from a retained snapshot needs. */
export function planPurge(files: PurgeFiles, retention: Retention): string[] {
  const { retainCount, retainBytes = Infinity } = retention
  const complete = files.snapshots.filter((snapshot) => snapshot.isComplete)
  complete.sort((a, b) => (a.zxid < b.zxid ? 1 : -1))
  let kept = Math.min(complete.length, Math.max(1, retainCount))
  if (kept === 0) return []
  while (kept > 1 && bytesFrom(files, complete[kept - 1]!.zxid) > retainBytes) kept--
  const oldest = complete[kept - 1]!.zxid
  const firstLog = firstNeededLog(files.logs, oldest)
  return [
    ...files.snapshots.filter(({ zxid }) => zxid < oldest),
    ...files.logs.filter(({ zxid }) => zxid < firstLog),
  ].map(({ name }) => name)
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
  /** What becomes of the files; they are removed unless told. */
  readonly dispose?: Disposal
}

export interface Disposal {
  /** The directory has the name no more when this resolves. */
  take(directory: string, name: string): Promise<void>
  /** What was taken from this directory is gone durably. */
  sync(directory: string): Promise<void>
}

/** Takes away what `planPurge` names, and returns the paths. */
export async function purge(disk: Disk, options: PurgeOptions): Promise<string[]> {
  const { snapshotDir, logDir } = options
  const snapshots = []
  for (const snapshot of snapshotsAmong(await listIfThere(disk, snapshotDir))) {
    const isComplete = await looksComplete(disk, snapshotDir, snapshot)
    snapshots.push({ ...snapshot, isComplete })
  }
  const logs = logsAmong(await listIfThere(disk, logDir))
  const logNames = new Set(logs.map(({ name }) => name))
  const disposal = options.dispose ?? removal(disk)
  const removed: string[] = []
  const isLog = (name: string): boolean => logNames.has(name)
  const names = planPurge({ snapshots, logs }, options)
  for (const name of names) if (!isLog(name)) await take(snapshotDir, name)
  // Durably, before their logs go: a snapshot that a crash brings back would be followed by a gap.
  if (removed.length > 0 && names.some(isLog)) await disposal.sync(snapshotDir)
  for (const name of names) if (isLog(name)) await take(logDir, name)
  return removed

  async function take(directory: string, name: string): Promise<void> {
    await disposal.take(directory, name)
    removed.push(`${directory}/${name}`)
  }
}

function removal(disk: Disk): Disposal {
  return {
    take: (directory, name) => disk.remove(`${directory}/${name}`),
    sync: (directory) => disk.syncDirectory(directory),
  }
}
