import { expect, test } from 'vitest'
import { TestDatabase, recoverTest, range, writeLog } from '../../../test/support/storage.ts'
import { writeSnapshot } from '../snapshot/snapshot.ts'
import { finishForgetting, forgetAllBut, putAsideAllBut } from './forget.ts'
import { MemoryDisk } from './memory-disk.ts'

const directory = 'data/version-2'
const directories = { snapshotDir: directory, logDir: directory }

async function names(disk: MemoryDisk): Promise<string[]> {
  return (await disk.list(directory)).map(({ name }) => name).toSorted()
}

/** Its logs do not lead up to the snapshot that replaces everything. */
async function replaced(): Promise<{ disk: MemoryDisk; kept: string }> {
  const disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
  await writeSnapshot(disk, directory, TestDatabase.fresh().source(16n))
  await writeLog(disk, [range(11, 16)])
  await writeLog(disk, [range(17, 20)])
  const { file } = await writeSnapshot(disk, directory, TestDatabase.fresh().source(6n))
  await disk.syncDirectory(directory)
  return { disk, kept: file }
}

test('a snapshot of the same zxid in another form goes too', async () => {
  const { disk, kept } = await replaced()
  await disk.put(`${directory}/${kept}.gz`, new Uint8Array(1))
  await forgetAllBut(disk, directories, kept)
  expect(await names(disk)).toEqual([kept])
})

test.each([
  ['removed', forgetAllBut],
  ['put aside', putAsideAllBut],
])('wherever a crash ends it, everything is there, or %s', async (_, forget) => {
  let isOver = false
  const ends = new Set<bigint>()
  for (let crashAt = 0; !isOver; crashAt++) {
    const { disk, kept } = await replaced()
    const before = await names(disk)
    let calls = 0
    disk.fault = () => (calls++ === crashAt ? 'EIO' : undefined)
    isOver = await forget(disk, directories, kept).then(
      () => true,
      () => false,
    )
    disk.fault = undefined
    disk.crash()
    const { zxid } = await recoverTest(disk)
    ends.add(zxid)
    const left = await names(disk)
    if (zxid === 6n) expect(left.filter((name) => /^(log|snapshot)/.test(name))).toEqual([kept])
    else expect(left).toEqual(expect.arrayContaining(before))
    expect(left.filter((name) => /replaced-by|put-aside-for/.test(name))).toEqual([])
  }
  expect(ends).toEqual(new Set([6n, 20n]))
})

test('nothing is taken away for a snapshot that is not complete', async () => {
  const { disk, kept } = await replaced()
  const before = await names(disk)
  await disk.put(`${directory}/${kept}`, new Uint8Array(50))
  await disk.put(`${directory}/replaced-by.${kept}`, new Uint8Array(0))
  expect(await finishForgetting(disk, directories)).toBe(true)
  expect(await names(disk)).toEqual(before)
  expect(await finishForgetting(disk, directories)).toBe(false)
})
