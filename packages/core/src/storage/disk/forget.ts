import { faultCode, type Disk } from '../../ports.ts'
import { looksComplete } from '../snapshot/snapshot-validity.ts'
import { listIfThere, logsAmong, snapshotsAmong } from './files.ts'

interface Directories {
  readonly snapshotDir: string
  readonly logDir: string
}

/** Before the names of files that were put aside. */
const asidePrefix = 'differing.'
/**
 * A file with this name, and the name of a snapshot after it, stands while everything but that
 * snapshot is taken away. Without it, a crash in between would leave logs that do not follow the
 * snapshot, like logs before which one is missing.
 */
const removalPrefix = 'replaced-by.'
/** The same, where files are put aside. */
const asideMarkPrefix = 'put-aside-for.'

/**
 * Removes, durably, everything but the named snapshot: what was there before is of another
 * history, and nobody may ever go back to a part of it. The snapshots go first: one that a crash
 * brings back must not lack its logs.
 */
export async function forgetAllBut(
  disk: Disk,
  directories: Directories,
  kept: string,
): Promise<void> {
  const mark = await setMark(disk, directories, removalPrefix + kept)
  await removeAllBut(disk, directories, kept)
  await liftMark(disk, directories, mark)
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
  const mark = await setMark(disk, directories, asideMarkPrefix + kept)
  await renameAllBut(disk, directories, kept)
  await liftMark(disk, directories, mark)
}

/**
 * Goes on where a crash ended one of the above; for the start of a server. Returns whether there was
 * anything to do.
 */
export async function finishForgetting(disk: Disk, directories: Directories): Promise<boolean> {
  const { snapshotDir } = directories
  const files = await listIfThere(disk, snapshotDir)
  let isFound = false
  for (const { name: mark } of files) {
    const prefix = [removalPrefix, asideMarkPrefix].find((each) => mark.startsWith(each))
    if (prefix === undefined) continue
    isFound = true
    const kept = mark.slice(prefix.length)
    const snapshot = snapshotsAmong(files).find(({ name }) => name === kept)
    // If the snapshot is not what it was, the files that it replaces may be all that is left.
    if (snapshot !== undefined && (await looksComplete(disk, snapshotDir, snapshot))) {
      const takeRest = prefix === removalPrefix ? removeAllBut : renameAllBut
      await takeRest(disk, directories, kept)
    }
    await liftMark(disk, directories, mark)
  }
  return isFound
}

/** Undefined if there is no room for it: the removal may make some. */
async function setMark(
  disk: Disk,
  { snapshotDir }: Directories,
  mark: string,
): Promise<string | undefined> {
  try {
    const file = await disk.create(`${snapshotDir}/${mark}`)
    await file.close()
  } catch (error) {
    if (faultCode(error) !== 'ENOSPC') throw error
    return undefined
  }
  await disk.syncDirectory(snapshotDir)
  return mark
}

async function liftMark(
  disk: Disk,
  { snapshotDir }: Directories,
  mark: string | undefined,
): Promise<void> {
  if (mark === undefined) return
  await disk.remove(`${snapshotDir}/${mark}`)
  await disk.syncDirectory(snapshotDir)
}

function removeAllBut(disk: Disk, directories: Directories, kept: string): Promise<void> {
  return takeAway(disk, directories, kept, (directory, name) => disk.remove(`${directory}/${name}`))
}

function renameAllBut(disk: Disk, directories: Directories, kept: string): Promise<void> {
  return takeAway(disk, directories, kept, (directory, name) =>
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
