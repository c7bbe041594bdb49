import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MemoryDisk } from './disk/memory-disk.ts'
import { planPurge, purge, type PurgeFiles } from './purge.ts'
import { writeSnapshot } from './snapshot/snapshot.ts'
import {
  directory,
  range,
  recoverTest,
  TestDatabase,
  writeLog,
} from '../../test/support/storage.ts'

const file = (kind: string, zxid: number, bytes = 10) => ({
  name: `${kind}.${zxid.toString(16)}`,
  zxid: BigInt(zxid),
  bytes,
})
const snapshot = (zxid: number, isComplete = true, bytes = 10) => ({
  ...file('snapshot', zxid, bytes),
  isComplete,
})
const log = (zxid: number, bytes = 10) => file('log', zxid, bytes)

/** The names of the files that the plan removes. */
function planned(...args: Parameters<typeof planPurge>): string[] {
  const { snapshots: oldSnapshots, logs: oldLogs } = planPurge(...args)
  return [...oldSnapshots, ...oldLogs].map(({ name }) => name)
}

const snapshots = [0, 10, 20, 30, 40].map((zxid) => snapshot(zxid))
const logs = [1, 11, 18, 25, 41].map((zxid) => log(zxid))

test('the newest snapshots stay, with the log that may go on from the oldest of them', () => {
  expect(planned({ snapshots, logs }, { retainCount: 3 })).toEqual([
    'snapshot.0',
    'snapshot.a',
    'log.1',
    'log.b',
  ])
})

test('a snapshot that is not complete does not count', () => {
  const broken = [...snapshots.slice(0, 4), snapshot(40, false)]
  expect(planned({ snapshots: broken, logs }, { retainCount: 3 })).toEqual(['snapshot.0'])
})

test('nothing is removed if no snapshot is complete', () => {
  expect(planned({ snapshots: [snapshot(10, false)], logs }, { retainCount: 1 })).toEqual([])
})

test('fewer stay when all together take too much, but one always does', () => {
  const plan = (retainBytes: number) =>
    planned({ snapshots, logs }, { retainCount: 3, retainBytes })
  expect(plan(60)).not.toContain('snapshot.14')
  expect(plan(59)).toContain('snapshot.14')
  expect(plan(1)).toEqual([
    'snapshot.0',
    'snapshot.a',
    'snapshot.14',
    'snapshot.1e',
    'log.1',
    'log.b',
    'log.12',
  ])
})

const files: fc.Arbitrary<PurgeFiles> = fc.record({
  snapshots: fc
    .uniqueArray(fc.record({ zxid: fc.nat(100), isComplete: fc.boolean(), bytes: fc.nat(100) }), {
      selector: ({ zxid }) => zxid,
      maxLength: 8,
    })
    .map((all) => all.map(({ zxid, isComplete, bytes }) => snapshot(zxid, isComplete, bytes))),
  logs: fc.uniqueArray(fc.nat(100), { maxLength: 8 }).map((all) => all.map((zxid) => log(zxid))),
})

test('what recovery from any retained snapshot needs is never removed', () => {
  fc.assert(
    fc.property(
      files,
      fc.integer({ min: 1, max: 5 }),
      fc.nat(400),
      (all, retainCount, retainBytes) => {
        const gone = new Set(planned(all, { retainCount, retainBytes }))
        const complete = all.snapshots.filter(({ isComplete }) => isComplete)
        const kept = complete.filter(({ name }) => !gone.has(name))
        expect(kept.length === 0).toBe(complete.length === 0)
        for (const { zxid } of kept) {
          const below = all.logs.filter((one) => one.zxid <= zxid).map((one) => one.zxid)
          const covering = below.reduce<bigint | undefined>(
            (best, one) => (best === undefined || one > best ? one : best),
            undefined,
          )
          for (const one of all.logs) {
            if (one.zxid >= (covering ?? zxid)) expect(gone.has(one.name)).toBe(false)
          }
        }
      },
    ),
  )
})

test('after a purge the database is recovered as before', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  for (let i = 0; i < 6; i++) {
    await writeSnapshot(disk, directory, TestDatabase.fresh().source(BigInt(i * 5)))
    await writeLog(disk, [range(i * 5 + 1, i * 5 + 5)])
  }
  const removed = await purge(disk, { snapshotDir: directory, logDir: directory, retainCount: 3 })
  expect(removed).toHaveLength(3 + 2)
  expect((await recoverTest(disk)).zxid).toBe(30n)
  await disk.put(`${directory}/snapshot.19`, new Uint8Array(50))
  const recovered = await recoverTest(disk)
  expect(recovered.zxid).toBe(30n)
  expect(recovered.snapshotFile).toBe('snapshot.14')
})

test('snapshots are removed durably before the logs after them', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  for (let i = 0; i < 4; i++) {
    await writeSnapshot(disk, directory, TestDatabase.fresh().source(BigInt(i * 5)))
    await writeLog(disk, [range(i * 5 + 1, i * 5 + 5)])
  }
  const calls: string[] = []
  disk.fault = (call, path) => {
    if (call === 'remove') calls.push(path.includes('snapshot') ? 'snapshot' : 'log')
    if (call === 'syncDirectory') calls.push('sync')
    return undefined
  }
  await purge(disk, { snapshotDir: directory, logDir: directory, retainCount: 1 })
  expect(calls).toEqual(['snapshot', 'snapshot', 'snapshot', 'sync', 'log', 'log'])
})
