import { expect, test } from 'vitest'
import type { Disk, WriteHandle } from '../../ports.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { openSnapshotOutput } from './snapshot-output.ts'

test('a sync that fails while more is written fails the snapshot, though later ones succeed', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory('d')
  let syncs = 0
  const failing: Pick<Disk, 'create'> = {
    async create(path) {
      const file = await disk.create(path)
      const handle: WriteHandle = {
        write: (bytes, position) => file.write(bytes, position),
        setSize: (bytes) => file.setSize(bytes),
        close: () => file.close(),
        sync: () => (++syncs === 1 ? Promise.reject(new Error('EIO')) : file.sync()),
      }
      return handle
    },
  }
  const output = await openSnapshotOutput(failing as Disk, 'd/snapshot', 'plain')
  const slice = new Uint8Array(1024 * 1024)
  for (let i = 0; i < 5; i++) await output.write(slice)
  expect(syncs).toBe(1)
  await expect(output.finish()).rejects.toThrow('EIO')
  await output.abandon()
})
