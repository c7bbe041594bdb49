import type { Disk } from '@zabra/core'

/** A disk with some calls replaced. */
export function changed(disk: Disk, changes: Partial<Disk>): Disk {
  return {
    list: (directory) => disk.list(directory),
    openRead: (path) => disk.openRead(path),
    create: (path, options) => disk.create(path, options),
    openWrite: (path) => disk.openWrite(path),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    syncDirectory: (directory) => disk.syncDirectory(directory),
    makeDirectory: (directory) => disk.makeDirectory(directory),
    ...changes,
  }
}
