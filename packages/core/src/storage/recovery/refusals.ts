/** The reasons not to start: each names the file, what is wrong with it, and what can be done. */
import type { Disk, FileEntry } from '../../ports.ts'
import { hex } from '../../base/hex.ts'
import { logsAmong, snapshotsAmong, type StoredFile } from '../disk/files.ts'
import { RecoveryError } from './recovery-error.ts'
import type { RecoveryEvent } from './recovery-events.ts'
import type { RecoveryOptions } from './recovery.ts'

/** Logs and snapshots must not be in each other's directory. */
export function refuseMixedDirectories(
  { snapshotDir, logDir }: RecoveryOptions,
  inSnapshotDir: readonly FileEntry[],
  inLogDir: readonly FileEntry[],
): void {
  const log = logsAmong(inSnapshotDir)[0]
  if (log !== undefined) {
    throw new RecoveryError(
      `${snapshotDir}/${log.name}`,
      `transaction logs belong in ${logDir}, but this one is among the snapshots`,
      `move the log.* files to ${logDir}, or configure one directory for both`,
    )
  }
  const snapshot = snapshotsAmong(inLogDir)[0]
  if (snapshot !== undefined) {
    throw new RecoveryError(
      `${logDir}/${snapshot.name}`,
      `snapshots belong in ${snapshotDir}, but this one is among the transaction logs`,
      `move the snapshot.* files to ${snapshotDir}, or configure one directory for both`,
    )
  }
}

/** Logs without a snapshot are the whole history only if the operator says so. */
export function refuseWithoutSnapshot(
  options: RecoveryOptions,
  snapshots: readonly StoredFile[],
  logs: readonly StoredFile[],
  trace: (event: RecoveryEvent) => void,
): void {
  const newest = snapshots.at(-1)
  const log = logs[0]
  if (options.trustEmptySnapshot === true && log !== undefined) {
    trace({ type: 'emptySnapshotTrusted', file: `${options.logDir}/${log.name}` })
  } else if (newest !== undefined) {
    throw new RecoveryError(
      `${options.snapshotDir}/${newest.name}`,
      `none of the ${snapshots.length} snapshots can be read`,
      'restore one from a copy, or empty the directory so that the server gets the data from its ensemble',
    )
  } else if (log !== undefined) {
    throw new RecoveryError(
      `${options.logDir}/${log.name}`,
      'there are transaction logs, but no snapshot to apply them to',
      'restore the snapshot, or set snapshot.trust.empty=true if the logs reach back to the first transaction',
    )
  }
}

/** The directory is empty, and the operator said that it must not be. */
export function refuseEmpty(
  { snapshotDir, whenEmpty, othersHaveIt }: RecoveryOptions,
  trace: (event: RecoveryEvent) => void,
): void {
  if (othersHaveIt === true) {
    trace({ type: 'unexpectedlyEmpty', file: snapshotDir })
    return
  }
  const { directory, name } = whenEmpty!.permission
  throw new RecoveryError(
    snapshotDir,
    'it is empty, and db.autocreate=false says that it must not be',
    `restore the data or, if this is a new server, create an empty file ${directory}/${name}`,
  )
}

/**
 * The database must reach as far as the names and digests of its snapshots claim. Returns whether
 * snapshots were set aside instead.
 */
export async function refuseLostEnd(
  disk: Disk,
  options: RecoveryOptions,
  snapshots: readonly StoredFile[],
  chosen: { readonly file: string; readonly reachedZxid: bigint } | undefined,
  zxid: bigint,
  trace: (event: RecoveryEvent) => void,
): Promise<boolean> {
  const { snapshotDir, acceptDamage = false } = options
  if (chosen !== undefined && chosen.reachedZxid > zxid) {
    const file = `${snapshotDir}/${chosen.file}`
    if (!acceptDamage) {
      throw new RecoveryError(
        file,
        `it contains changes up to zxid ${hex(chosen.reachedZxid)}, but the logs end at ${hex(zxid)}`,
        'restore the missing log files, or start once with recovery.acceptDamage=true to continue ' +
          'without them: a member of an ensemble then gets the data from the others',
      )
    }
    trace({ type: 'snapshotAhead', file, zxid: chosen.reachedZxid, lastZxid: zxid })
  }
  const ahead = snapshots.filter((snapshot) => snapshot.zxid > zxid)
  for (const { name, zxid: reached } of ahead) {
    const file = `${snapshotDir}/${name}`
    if (!acceptDamage) {
      throw new RecoveryError(
        file,
        `it cannot be read, and the older files reach only zxid ${hex(zxid)}, not ${hex(reached)}`,
        'restore it from a copy, or start once with recovery.acceptDamage=true to continue without it',
      )
    }
    const keptAs = `${snapshotDir}/damaged.${name}`
    await disk.rename(file, keptAs)
    trace({ type: 'damageAccepted', file, keptAs, lastZxid: zxid })
  }
  if (ahead.length > 0) await disk.syncDirectory(snapshotDir)
  return ahead.length > 0
}
