import { beforeEach, expect, test } from 'vitest'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { directory, range, writeLog } from '../../../test/support/storage.ts'
import { readHistory } from './committed-history.ts'

const folders = { snapshotDir: directory, logDir: directory }
let disk: MemoryDisk

beforeEach(async () => {
  disk = new MemoryDisk()
  await writeLog(disk, [range(1, 5)])
  await writeLog(disk, [[0x100000001, 0x100000002]])
  await writeLog(disk, [[0x200000001]])
})

async function zxids(
  after: bigint,
  before: bigint,
  factor?: number,
): Promise<number[] | undefined> {
  const txns = await readHistory(disk, folders, after, before, factor)
  return txns?.map(({ zxid }) => Number(zxid))
}

test('the history begins with what the learner has and ends before what memory has', async () => {
  expect(await zxids(3n, 0x200000001n)).toEqual([3, 4, 5, 0x100000001, 0x100000002])
})

test('there is none if the logs do not reach back to the learner', async () => {
  expect(await zxids(0n, 0x200000001n)).toBeUndefined()
})

test('there is none if the oldest transaction in memory begins an epoch and is not logged yet', async () => {
  expect(await zxids(3n, 0x300000001n)).toBeUndefined()
  expect(await zxids(3n, 0x200000002n)).toHaveLength(6)
})

test('there is none if it would be too large for memory', async () => {
  const bytes = async (limit: number): Promise<unknown> =>
    readHistory(disk, folders, 3n, 0x200000001n, 0, limit)
  expect(await bytes(1000)).toHaveLength(5)
  expect(await bytes(100)).toBeUndefined()
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

test('there is none if it is longer than the permitted part of a snapshot', async () => {
  const all = (await readHistory(disk, folders, 3n, 0x200000001n))!
  const bytes = all.reduce((sum, { payload }) => sum + payload.length, 0)
  await disk.put(`${directory}/snapshot.1`, new Uint8Array(2 * bytes))
  expect(await zxids(3n, 0x200000001n, 0.5)).toHaveLength(5)
  expect(await zxids(3n, 0x200000001n, 0.49)).toBeUndefined()
  expect(await zxids(3n, 0x200000001n)).toBeUndefined()
  expect(await zxids(3n, 0x200000001n, 0)).toHaveLength(5)
  expect(await zxids(3n, 0x200000001n, -1)).toBeUndefined()
})

test('there is none across a snapshot that no log leads up to', async () => {
  await disk.put(`${directory}/snapshot.5`, new Uint8Array(10_000))
  expect(await zxids(3n, 0x200000001n)).toHaveLength(5)
  await disk.put(`${directory}/snapshot.6`, new Uint8Array(10_000))
  expect(await zxids(3n, 0x200000001n)).toBeUndefined()
  expect(await zxids(3n, 6n)).toEqual([3, 4, 5])
})

test('nor across one that a leader sent at the start of its epoch, whose predecessors are still there', async () => {
  await disk.put(`${directory}/snapshot.3`, new Uint8Array(10_000))
  expect(await zxids(4n, 0x200000001n)).toHaveLength(4)
  await disk.put(`${directory}/snapshot.100000000`, new Uint8Array(10_000))
  expect(await zxids(4n, 0x200000001n)).toBeUndefined()
  expect(await zxids(0x100000001n, 0x200000001n)).toHaveLength(2)
})

test('nor from logs that no snapshot needs any more', async () => {
  await disk.put(`${directory}/snapshot.100000002`, new Uint8Array(10_000))
  expect(await zxids(4n, 0x200000001n)).toBeUndefined()
  expect(await zxids(0x100000001n, 0x200000001n)).toHaveLength(2)
})
