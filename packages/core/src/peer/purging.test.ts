import { expect, test } from 'vitest'
import { directory, range, TestDatabase, writeLog } from '../../test/support/storage.ts'
import { historyFolder } from '../history/places.ts'
import type { Host } from '../ports.ts'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { writeSnapshot } from '../storage/snapshot/snapshot.ts'
import type { JournalOptions } from './journal-options.ts'
import { Purging } from './purging.ts'

const folder = `${directory}/${historyFolder}`

/** A server that has taken snapshots, and what a purge does to them. */
async function begun(retainBytes: number) {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  let nowMs = 0
  const host: Host = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    random: () => 0,
    delay: () => ({ done: Promise.resolve(), cut: () => {} }),
  }
  const options = {
    snapshotDir: directory,
    logDir: directory,
    retainCount: 1,
    retainBytes: 0,
    history: { retainBytes, retainMs: Infinity },
  } as JournalOptions
  const purging = new Purging({ disk, host, trace: () => {} }, options)
  let taken = 0
  let listed = 0
  const list = disk.list.bind(disk)
  disk.list = (path) => {
    listed++
    return list(path)
  }
  return {
    disk,
    /** Takes a snapshot, and returns how many folders the purge after it listed. */
    snapshot: async (): Promise<number> => {
      const first = taken++ * 5
      await writeSnapshot(disk, directory, TestDatabase.fresh().source(BigInt(first)))
      await writeLog(disk, [range(first + 1, first + 5)])
      listed = 0
      purging.soon()
      await purging.done
      return listed
    },
    passMs: (ms: number): void => {
      nowMs += ms
    },
    bytes: async (): Promise<number> =>
      (await list(folder)).reduce((sum, file) => sum + file.bytes, 0),
  }
}

test('the history is looked through once a minute, not after each snapshot', async () => {
  const { snapshot, passMs } = await begun(Infinity)
  const atFirst = await snapshot()
  for (let i = 0; i < 20; i++) expect(await snapshot()).toBeLessThan(atFirst)
  passMs(60_000)
  expect(await snapshot()).toBe(atFirst)
  expect(await snapshot()).toBeLessThan(atFirst)
})

test('each folder is listed once, however many files it has', async () => {
  const { snapshot } = await begun(0)
  const lists = []
  for (let i = 0; i < 20; i++) lists.push(await snapshot())
  // Two by the purge, then the folder itself and the one for history.
  expect(Math.max(...lists)).toBe(4)
})

test('history never takes more than it may, also within the minute', async () => {
  const { snapshot, bytes } = await begun(2000)
  const sizes = []
  for (let i = 0; i < 40; i++) {
    await snapshot()
    if (i > 0) sizes.push(await bytes())
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2000)
  expect(sizes.at(-1)).toBeGreaterThan(500)
})
