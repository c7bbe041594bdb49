import { beforeEach, expect, test } from 'vitest'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { directory, range, writeLog } from '../storage/testing.ts'
import { readHistory } from './history.ts'

const folders = { snapshotDir: directory, logDir: directory }
let disk: MemoryDisk

beforeEach(async () => {
  disk = new MemoryDisk()
  await writeLog(disk, [range(1, 5)])
  await writeLog(disk, [[0x100000001, 0x100000002]])
  await writeLog(disk, [[0x200000001]])
})

async function zxids(after: bigint, before: bigint): Promise<number[] | undefined> {
  const txns = await readHistory(disk, folders, after, before)
  return txns?.map(({ zxid }) => Number(zxid))
}

test('the history begins with what the learner has and ends before what memory has', async () => {
  expect(await zxids(3n, 0x200000001n)).toEqual([3, 4, 5, 0x100000001, 0x100000002])
})

test('there is none where the logs do not reach back to the learner', async () => {
  expect(await zxids(0n, 0x200000001n)).toBeUndefined()
})

test.each([
  ['in the middle', 0x100000001, 40],
  ['in its first bytes', 0x100000001, 0],
  ['at the end of an epoch', 1, -40],
])('there is none where a log is damaged %s, though a new epoch follows', async (_, first, at) => {
  const path = `${directory}/log.${first.toString(16)}`
  const bytes = Buffer.from(disk.content(path))
  const records = bytes.findLastIndex((byte) => byte !== 0)
  const changed = at < 0 ? records + at : at
  bytes[changed] = bytes[changed]! ^ 0x10
  await disk.put(path, bytes)
  expect(await zxids(3n, 0x200000001n)).toBeUndefined()
})
