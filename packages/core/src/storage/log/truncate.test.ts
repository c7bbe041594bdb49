import { describe, expect, test } from 'vitest'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { writeSnapshot } from '../snapshot/snapshot.ts'
import {
  directory,
  range,
  recoverTest,
  TestDatabase,
  writeLog,
} from '../../../test/support/storage.ts'
import { truncateAfter, TruncateError } from './truncate.ts'

const directories = { snapshotDir: directory, logDir: directory }

/** Snapshots of these zxids, and one log file for each list of records. */
async function diskWith(snapshots: number[], logs: number[][]): Promise<MemoryDisk> {
  const disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
  for (const zxid of snapshots) {
    await writeSnapshot(disk, directory, TestDatabase.fresh().source(BigInt(zxid)))
  }
  for (const records of logs) await writeLog(disk, [records])
  await disk.syncDirectory(directory)
  return disk
}

async function namesOn(disk: MemoryDisk): Promise<string[]> {
  return (await disk.list(directory)).map(({ name }) => name).toSorted()
}

test('everything after a transaction is forgotten', async () => {
  const disk = await diskWith([0], [range(1, 9)])
  await truncateAfter(disk, directories, 6n)
  disk.crash()
  const { zxid, target } = await recoverTest(disk)
  expect(zxid).toBe(6n)
  expect(target.applied).toEqual([1n, 2n, 3n, 4n, 5n, 6n])
})

test('nothing is cut if a gap would follow the older snapshot', async () => {
  const disk = await diskWith([5, 12], [range(8, 12)])
  await expect(truncateAfter(disk, directories, 10n)).rejects.toThrow(TruncateError)
  expect(await namesOn(disk)).toEqual(['log.8', 'snapshot.5', 'snapshot.c'])
  const follows = await diskWith([7, 12], [range(8, 12)])
  await truncateAfter(follows, directories, 10n)
  expect(await namesOn(follows)).toEqual(['log.8', 'snapshot.7'])
})

test('a log ends with the end of the record it is cut after', async () => {
  const disk = await diskWith([0], [range(1, 9)])
  const shorter = await diskWith([0], [range(1, 6)])
  await truncateAfter(disk, directories, 6n)
  const cut = disk.content(`${directory}/log.1`)
  expect(cut.at(-1)).toBe(0x42)
  expect(shorter.content(`${directory}/log.1`).subarray(0, cut.length)).toEqual(cut)
})

test('logs and snapshots that begin later go', async () => {
  const disk = await diskWith([0, 4, 8], [range(1, 4), range(5, 8), range(9, 12)])
  await truncateAfter(disk, directories, 6n)
  disk.crash()
  expect(await namesOn(disk)).toEqual(['log.1', 'log.5', 'snapshot.0', 'snapshot.4'])
  expect((await recoverTest(disk)).zxid).toBe(6n)
})

test('the last record of all can be the one to keep', async () => {
  const disk = await diskWith([0], [range(1, 4), range(5, 8)])
  await truncateAfter(disk, directories, 8n)
  expect((await recoverTest(disk)).zxid).toBe(8n)
})

test('what a snapshot ends with need not be in a log', async () => {
  const disk = await diskWith([7], [range(8, 9)])
  await truncateAfter(disk, directories, 7n)
  expect(await namesOn(disk)).toEqual(['snapshot.7'])
  expect((await recoverTest(disk)).zxid).toBe(7n)
})

test('transactions after a snapshot are removed, even if the log lacks its last one', async () => {
  const disk = await diskWith([0, 6], [[1, 2, 3, 8, 9]])
  await truncateAfter(disk, directories, 6n)
  expect((await recoverTest(disk)).zxid).toBe(6n)
})

test('an unreadable log does not count as one that ends earlier', async () => {
  const disk = await diskWith([0, 6], [range(1, 9)])
  const log = disk.content(`${directory}/log.1`)
  // A bit of the first record: read the next time it may be right again.
  log[40]! ^= 1
  await disk.put(`${directory}/log.1`, log)
  await expect(truncateAfter(disk, directories, 6n)).rejects.toThrow('cannot be read')
})

describe('a snapshot that contains transactions to be removed, although its name is older,', () => {
  /** It was begun after `zxid`, and finished when the database had reached `reached`. */
  async function fuzzySnapshot(
    disk: MemoryDisk,
    zxid: number,
    reached: { digest?: number; node?: number },
  ): Promise<void> {
    const database = TestDatabase.fresh()
    const { digest, node } = reached
    if (node !== undefined) database.putAt('/x', BigInt(node))
    database.lastZxid = BigInt(digest ?? 0)
    if (digest !== undefined) database.digestValue = 5n
    await writeSnapshot(disk, directory, {
      ...database.source(BigInt(zxid)),
      ...(digest === undefined ? { finish: () => ({ zxid: 0n, digest: undefined }) } : {}),
    })
    await disk.syncDirectory(directory)
  }

  test.each([
    ['as its digest tells', { digest: 8 }],
    ['as its nodes tell', { node: 8 }],
  ])('%s, goes too', async (_, reached) => {
    const disk = await diskWith([0], [range(1, 9)])
    await fuzzySnapshot(disk, 6, reached)
    await truncateAfter(disk, directories, 6n)
    expect(await namesOn(disk)).toEqual(['log.1', 'snapshot.0'])
    const { zxid, target } = await recoverTest(disk)
    expect(zxid).toBe(6n)
    expect(target.applied).toEqual([1n, 2n, 3n, 4n, 5n, 6n])
  })

  test('prevents the cut if there is no older one', async () => {
    const disk = await diskWith([], [range(1, 9)])
    await fuzzySnapshot(disk, 4, { digest: 8 })
    await expect(truncateAfter(disk, directories, 6n)).rejects.toThrow(TruncateError)
    await truncateAfter(disk, directories, 8n)
    expect(await namesOn(disk)).toEqual(['log.1', 'snapshot.4'])
  })

  test('prevents the cut if it may be a leader’s snapshot', async () => {
    const disk = await diskWith([0], [range(1, 3), range(7, 9)])
    await fuzzySnapshot(disk, 6, { digest: 9 })
    await expect(truncateAfter(disk, directories, 8n)).rejects.toThrow(TruncateError)
  })

  test('may be any without a digest: only one that another follows is known not to be', async () => {
    const disk = await diskWith([0], [range(1, 9)])
    await fuzzySnapshot(disk, 4, { node: 3 })
    await expect(truncateAfter(disk, directories, 6n)).rejects.toThrow(TruncateError)
    await fuzzySnapshot(disk, 5, { node: 8 })
    await truncateAfter(disk, directories, 6n)
    expect(await namesOn(disk)).toEqual(['log.1', 'snapshot.0', 'snapshot.4'])
  })

  test('is not recognized by the configuration that its server wrote into it', async () => {
    const disk = await diskWith([0], [range(1, 9)])
    const database = TestDatabase.fresh()
    database.putAt('/zookeeper/config', 9n)
    database.lastZxid = 5n
    database.digestValue = 5n
    await writeSnapshot(disk, directory, database.source(4n))
    await truncateAfter(disk, directories, 6n)
    expect(await namesOn(disk)).toEqual(['log.1', 'snapshot.0', 'snapshot.4'])
  })
})

describe('nothing is touched, and an error says so,', () => {
  test.each([
    ['where no snapshot is old enough', [8], [range(1, 9)], 6n],
    ['where the log does not hold the transaction', [0], [[1, 2, 3, 0x200000001]], 6n],
    ['where there is no log', [0], [], 6n],
  ])('%s', async (_, snapshots, logs, zxid) => {
    const disk = await diskWith(snapshots, logs)
    const before = await namesOn(disk)
    await expect(truncateAfter(disk, directories, zxid)).rejects.toThrow(TruncateError)
    expect(await namesOn(disk)).toEqual(before)
  })
})

test('a crash at any call leaves a directory that starts, between the old end and the new', async () => {
  const logs = [range(1, 4), range(5, 8), range(9, 12), range(13, 14)]
  for (const keeps of [() => false, () => true, byParity(0), byParity(1)]) {
    for (let failing = 1; ; failing++) {
      const disk = await diskWith([0, 8, 12], logs)
      let calls = 0
      disk.fault = () => (++calls >= failing ? 'EIO' : undefined)
      const isDone = await truncateAfter(disk, directories, 6n).then(
        () => true,
        () => false,
      )
      disk.fault = undefined
      disk.crash(undefined, keeps)
      const { zxid } = await recoverTest(disk)
      expect(zxid).toBeGreaterThanOrEqual(6n)
      if (!isDone) continue
      expect(zxid).toBe(6n)
      break
    }
  }
})

/** Of the names that were not synced, every other one. */
function byParity(parity: number): (path: string) => boolean {
  let count = 0
  return () => count++ % 2 === parity
}
