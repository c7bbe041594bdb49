import { extentName } from '../../../src/storage/log/extent.ts'
import type { WriteHandle } from '../../../src/ports.ts'
import type { MemoryDisk } from '../../../src/storage/disk/memory-disk.ts'

export interface DiskWatch {
  /** Resolves when what is about to become durable may do so. */
  readonly mayGo: () => Promise<void>
  /** Something may have become durable; the server goes on behind this. */
  readonly changed: () => Promise<void>
}

/** Lets a disk do nothing for good before it may: log, cut, store a snapshot or an epoch. */
export function stepDisk(disk: MemoryDisk, { mayGo, changed }: DiskWatch): void {
  const create = disk.create.bind(disk)
  const openWrite = disk.openWrite.bind(disk)
  const rename = disk.rename.bind(disk)
  const syncDirectory = disk.syncDirectory.bind(disk)
  let isRenamed = false

  disk.create = async (path, options) => {
    const file = await create(path, options)
    return options?.durableWrites === true ? { ...file, write: steppedWrite(file) } : file
  }
  const steppedWrite =
    (file: WriteHandle): WriteHandle['write'] =>
    async (bytes, position) => {
      // Without its header a log is none yet.
      if (position > 0) await mayGo()
      await file.write(bytes, position)
      await changed()
    }
  // Only what is there already is opened so: a log that is to be cut, or the note of how far they go.
  disk.openWrite = async (path) => {
    const file = await openWrite(path)
    if (path.endsWith(extentName)) return file
    const sync = async (): Promise<void> => {
      await mayGo()
      await file.sync()
      await changed()
    }
    return { ...file, sync }
  }
  disk.rename = async (from, to) => {
    await rename(from, to)
    isRenamed ||= !to.includes('/log.')
  }
  disk.syncDirectory = async (path) => {
    if (isRenamed) await mayGo()
    isRenamed = false
    await syncDirectory(path)
    await changed()
  }
}
