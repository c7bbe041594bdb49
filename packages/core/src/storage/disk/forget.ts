import type { Disk } from '../../ports.ts'
import { listIfThere, logsAmong, snapshotsAmong } from './files.ts'

interface Directories {
  readonly snapshotDir: string
  readonly logDir: string
}

/** Before the names of files that were put aside. */
const asidePrefix = 'differing.'

/**
 * Removes, durably, everything but the named snapshot: what was there before is of another
 * history, and nobody may ever go back to a part of it. The snapshots go first: one that a crash
 * brings back must not lack its logs.
 */
export function forgetAllBut(disk: Disk, directories: Directories, kept: string): Promise<void> {
  return takeAway(disk, directories, kept, (directory, name) => disk.remove(`${directory}/${name}`))
}

/** The same, but the files get names that nothing reads. Those that were put aside before go. */
export async function putAsideAllBut(
  disk: Disk,
  directories: Directories,
  kept: string,
): Promise<void> {
  for (const directory of new Set([directories.snapshotDir, directories.logDir])) {
    for (const { name } of await listIfThere(disk, directory)) {
      if (name.startsWith(asidePrefix)) await disk.remove(`${directory}/${name}`)
    }
  }
  await takeAway(disk, directories, kept, (directory, name) =>
    disk.rename(`${directory}/${name}`, `${directory}/${asidePrefix}${name}`),
  )
}

/** Gives files names that nothing reads, durably; the last one first. */
export async function putAside(
  disk: Disk,
  directory: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names.toReversed()) {
    await disk.rename(`${directory}/${name}`, `${directory}/${asidePrefix}${name}`)
  }
  await disk.syncDirectory(directory)
}

async function takeAway(
  disk: Disk,
  { snapshotDir, logDir }: Directories,
  kept: string,
  take: (directory: string, name: string) => Promise<void>,
): Promise<void> {
  for (const { name } of snapshotsAmong(await listIfThere(disk, snapshotDir))) {
    if (name !== kept) await take(snapshotDir, name)
  }
  await disk.syncDirectory(snapshotDir)
  for (const { name } of logsAmong(await listIfThere(disk, logDir))) {
    await take(logDir, name)
  }
  await disk.syncDirectory(logDir)
}
