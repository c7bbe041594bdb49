import { expect, test } from 'vitest'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { historyFolder, pastFiles } from './places.ts'
import { retire } from './retention.ts'

const directory = 'data/version-2'
const folder = `${directory}/${historyFolder}`
const places = { logDir: directory, snapshotDir: directory }

async function withLogs(...zxids: readonly number[]): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  await disk.makeDirectory(folder)
  for (const zxid of zxids) await disk.put(`${directory}/log.${zxid}`, new Uint8Array(zxid))
  return disk
}

test.each([0, 1, 2, 3])(
  'a log that is moved while the folders are listed is not missed (after list %i)',
  async (moveAfter) => {
    const disk = await withLogs(1, 2, 3)
    const list = disk.list.bind(disk)
    let lists = 0
    disk.list = async (path) => {
      const entries = await list(path)
      if (lists++ === moveAfter) await retire(disk, directory, 'log.2')
      return entries
    }
    const { logs } = await pastFiles(disk, places)
    expect(logs.map(({ name }) => name)).toEqual(['log.1', 'log.2', 'log.3'])
    // What was moved before the folder for history was listed is found there.
    if (moveAfter === 0) expect(logs[1]!.directory).toBe(folder)
  },
)

test('of two different logs with one name, the one that recovery reads counts', async () => {
  const disk = await withLogs(2)
  await disk.put(`${folder}/log.2`, new Uint8Array(7))
  const { logs } = await pastFiles(disk, places)
  expect(logs).toEqual([{ name: 'log.2', bytes: 2, zxid: 2n, directory }])
})
