import type { Disk } from '../../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong, type StoredFile } from '../disk/files.ts'
import type { Compression } from '../snapshot/snapshot-output.ts'
import { snapshotReach } from '../snapshot/snapshot-reach.ts'
import { hex } from '../../base/hex.ts'
import { epochOf } from '../zxid.ts'
import { LogFileReader } from './log-reader.ts'

/** The log does not hold the transaction after which it must be cut. */
export class TruncateError extends Error {
  override readonly name = 'TruncateError'
}

interface Directories {
  readonly snapshotDir: string
  readonly logDir: string
  readonly compression?: Compression | undefined
}

/**
 * Forgets everything after a transaction, durably: later records, later logs, and every snapshot
 * that might contain their effects. Afterwards a recovery ends at that transaction.
 */
export async function truncateAfter(
  disk: Disk,
  directories: Directories,
  zxid: bigint,
): Promise<void> {
  const { snapshotDir, logDir } = directories
  const snapshots = snapshotsAmong(await listIfThere(disk, snapshotDir))
  const logs = logsAmong(await listIfThere(disk, logDir))
  const base = await findBase(disk, directories, snapshots, logs, zxid)
  if (base === undefined) {
    throw new TruncateError(
      `no snapshot in ${snapshotDir} is known to contain nothing after ${hex(zxid)}`,
    )
  }
  if (lacksBeginning(logs, base, zxid)) {
    throw new TruncateError(`no log in ${logDir} continues snapshot ${hex(base)}`)
  }
  const isSnapshotEnd = base === zxid
  const cut = await findCut(disk, logDir, logs, zxid)
  if (cut?.holdsIt !== true && !isSnapshotEnd) {
    throw new TruncateError(`no log in ${logDir} holds ${hex(zxid)}`)
  }
  // Snapshots are removed first: after a crash in between, recovery must not find one that is ahead.
  for (const { name } of snapshots.filter((snapshot) => snapshot.zxid > base)) {
    await disk.remove(`${snapshotDir}/${name}`)
  }
  await disk.syncDirectory(snapshotDir)
  // The newest is removed first, each durably: a crash in between must leave no gap.
  for (const { name } of logs.filter((log) => log.zxid > zxid).toReversed()) {
    await disk.remove(`${logDir}/${name}`)
    await disk.syncDirectory(logDir)
  }
  if (cut === undefined) return
  const file = await disk.openWrite(`${logDir}/${cut.name}`)
  try {
    await file.setSize(cut.position)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * The newest snapshot that contains no effect of the transactions to forget. Its name does not tell,
 * because transactions are applied while a snapshot is written.
 */
async function findBase(
  disk: Disk,
  { snapshotDir, logDir, compression }: Directories,
  snapshots: readonly StoredFile[],
  logs: readonly StoredFile[],
  zxid: bigint,
): Promise<bigint | undefined> {
  let isFollowed = false
  for (const snapshot of snapshots.filter((each) => each.zxid <= zxid).toReversed()) {
    const reach = await snapshotReach(disk, snapshotDir, snapshot, compression)
    if (reach === undefined) return undefined
    if (reach.zxid <= zxid) {
      // A snapshot was finished before the next one began.
      return reach.isCertain || isFollowed ? snapshot.zxid : undefined
    }
    // A leader's snapshot replaces another history: the logs must lead across it.
    const cut = await findCut(disk, logDir, logs, snapshot.zxid)
    if (cut?.holdsIt !== true) return undefined
    isFollowed = true
  }
  return undefined
}

/**
 * Whether transactions are missing between a snapshot and the first log. Newer snapshots contain their
 * effects, but are about to be removed.
 */
function lacksBeginning(
  logs: readonly { readonly zxid: bigint }[],
  snapshot: bigint,
  upTo: bigint,
): boolean {
  const first = logs[0]?.zxid
  if (first === undefined || snapshot === upTo) return false
  return first > snapshot + 1n && epochOf(first) === epochOf(snapshot)
}

interface Cut {
  readonly name: string
  /** The position after the transaction. */
  readonly position: number
  readonly holdsIt: boolean
}

/** Undefined if there is nothing to cut, because the log ends before the transaction. */
async function findCut(
  disk: Disk,
  logDir: string,
  logs: readonly { readonly name: string; readonly zxid: bigint }[],
  zxid: bigint,
): Promise<Cut | undefined> {
  const holder = logs.findLast((log) => log.zxid <= zxid)
  if (holder === undefined) return undefined
  const { name } = holder
  const log = await LogFileReader.open(disk, `${logDir}/${name}`)
  try {
    let holdsIt = false
    for await (const records of log) {
      while (records.next()) {
        if (records.zxid > zxid) return { name, position: records.position, holdsIt }
        holdsIt ||= records.zxid === zxid
      }
    }
    const { reason, position } = log.end
    if (holdsIt) return { name, position, holdsIt }
    // A later attempt may be able to read it.
    if (reason === 'end' || reason === 'endMark' || reason === 'noHeader') return undefined
    throw new TruncateError(`${logDir}/${name} cannot be read as far as ${hex(zxid)}`)
  } finally {
    await log.close()
  }
}
