import { expect, test } from 'vitest'
import { forgetAllBut } from './forget.ts'
import { MemoryDisk } from './memory-disk.ts'

test('a snapshot of the same zxid in another form goes too', async () => {
  const disk = new MemoryDisk()
  const directory = 'data/version-2'
  await disk.makeDirectory(directory)
  for (const name of ['snapshot.64', 'snapshot.64.gz', 'snapshot.32', 'log.33']) {
    await disk.put(`${directory}/${name}`, new Uint8Array(1))
  }
  await forgetAllBut(disk, { snapshotDir: directory, logDir: directory }, 'snapshot.64')
  expect((await disk.list(directory)).map(({ name }) => name)).toEqual(['snapshot.64'])
})
