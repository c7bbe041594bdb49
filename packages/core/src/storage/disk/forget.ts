import type { Disk } from '../../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong } from './files.ts'

/**
 * Removes, durably, everything but the snapshot of one zxid: what was there before is of another
 * history, and nobody may ever go back to a part of it. The snapshots go first: one that a crash
 * brings back must not lack its logs.
 */
export async function forgetAllBut(
  disk: Disk,
  { snapshotDir, logDir }: { snapshotDir: string; logDir: string },
  kept: bigint,
): Promise<void> {
  for (const { name, zxid } of snapshotsAmong(await listIfThere(disk, snapshotDir))) {
    if (zxid !== kept) await disk.remove(`${snapshotDir}/${name}`)
  }
  await disk.syncDirectory(snapshotDir)
  for (const { name } of logsAmong(await listIfThere(disk, logDir))) {
    await disk.remove(`${logDir}/${name}`)
  }
  await disk.syncDirectory(logDir)
}
