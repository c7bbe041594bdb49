import { expect, test } from 'vitest'
import type { Host } from '../ports.ts'
import { LogBatch } from '../storage/log/log-batch.ts'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { TxnLog } from '../storage/log/txn-log.ts'
import { Deferred } from '../base/deferred.ts'
import { Database } from '../state/database.ts'
import { Journal } from './journal.ts'
import type { BatchSource, JournalOptions } from './journal-options.ts'

const directory = 'data/version-2'

/** Lets everything happen that waits for nothing else. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}

const host: Host = {
  monotonicMs: () => 0,
  wallMs: () => 0,
  random: () => 0,
  delay: () => ({ done: Promise.resolve(), cut: () => {} }),
}

function emptyDatabase(): Database {
  return new Database({
    extendedTypes: false,
    digests: false,
    hashSeed: 1,
    acl: { skipAcl: true, schemes: new Set() },
  })
}

function batchOf(zxid: bigint, clientId = 1n): LogBatch {
  const batch = new LogBatch()
  batch.begin()
  batch.writer.long(clientId)
  batch.end(zxid)
  return batch
}

/** A disk on which no file of a kind comes into being before somebody lets it. */
function heldDisk(held: Record<string, Promise<void>>): MemoryDisk {
  const disk = new MemoryDisk({ forgetful: true })
  const create = disk.create.bind(disk)
  disk.create = async (path, options) => {
    for (const [kind, until] of Object.entries(held)) if (path.includes(kind)) await until
    return create(path, options)
  }
  return disk
}

/** A journal of a server that has nothing to log but what is put into `waiting`. */
function idleJournal(
  disk: MemoryDisk,
  db: Database,
  log = new TxnLog(disk, { directory, preAllocBytes: 0 }),
  by: Host = host,
  requests: () => number = () => 0,
  options: Partial<JournalOptions> = {},
): { journal: Journal; waiting: LogBatch[]; logged: bigint[]; failures: Error[] } {
  const waiting: LogBatch[] = []
  const logged: bigint[] = []
  const source: BatchSource = {
    batches: {
      get next() {
        return waiting[0] ?? new LogBatch()
      },
      take: () => waiting.shift()!,
    },
    logged: (batch) => logged.push(batch.lastZxid),
    stats: {
      get packetsReceived() {
        return requests()
      },
    },
    suspendWrites: () => {},
    resumeWrites: () => {},
    db,
  }
  const failures: Error[] = []
  const journal = new Journal(
    { source, log, disk, host: by, trace: () => {}, turn: (work) => work() },
    {
      snapshotDir: directory,
      logDir: directory,
      snapCount: 1000,
      snapBytes: undefined,
      logBytesMax: undefined,
      slowSyncMs: 1000,
      retainCount: 3,
      retainBytes: 0,
      purges: false,
      snapshotMethod: 'plain',
      compression: undefined,
      ...options,
    },
    (error) => failures.push(error),
  )
  return { journal, waiting, logged, failures }
}

test('a batch that becomes ready while the last snapshot is written is durable before stop resolves', async () => {
  const snapshot = new Deferred<void>()
  const append = new Deferred<void>()
  const disk = heldDisk({ snapshot: snapshot.promise, 'log.': append.promise })
  await disk.makeDirectory(directory)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
  const db = emptyDatabase()
  const { journal, waiting, logged, failures } = idleJournal(disk, db, log)
  void journal.snapshot()
  const stopping = journal.stop()
  await settle()
  waiting.push(batchOf(1n))
  journal.batchReady()
  snapshot.resolve()
  await settle()
  append.resolve()
  await stopping
  expect(failures).toEqual([])
  expect(logged).toEqual([1n])
  expect(log.currentFile).toBeUndefined()
})

/** Also of how its files were written. */
async function watchedDisk(): Promise<{ disk: MemoryDisk; how: string[] }> {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const how: string[] = []
  const create = disk.create.bind(disk)
  disk.create = async (path, options) => {
    const file = await create(path, options)
    return {
      ...file,
      write: (bytes, position) => {
        how.push('asked')
        return file.write(bytes, position)
      },
      writeNow: (bytes, position) => {
        how.push('awaited')
        void file.write(bytes, position)
      },
    }
  }
  return { disk, how }
}

test('the event loop waits for a quick disk if there are only single writes', async () => {
  const { disk, how } = await watchedDisk()
  let [nowMs, syncMs, requests, zxid] = [0, 0.2, 0, 0n]
  const timed: Host = { ...host, monotonicMs: () => (nowMs += syncMs) }
  const { journal, waiting, logged, failures } = idleJournal(
    disk,
    emptyDatabase(),
    undefined,
    timed,
    () => requests,
  )
  const play = async (requestsEach: number, ...batches: LogBatch[]): Promise<string[]> => {
    how.length = 0
    for (const batch of batches) {
      requests += requestsEach
      waiting.push(batch)
      journal.batchReady()
      await settle()
    }
    return how
  }
  const singles = (count: number): LogBatch[] =>
    Array.from({ length: count }, () => batchOf(++zxid))
  const pair = (): LogBatch => {
    const batch = batchOf(++zxid)
    batch.begin()
    batch.writer.long(1n)
    batch.end(++zxid)
    return batch
  }
  // The first one makes the file, whose header is a write as well.
  expect(await play(1, ...singles(6))).toEqual([...Array(5).fill('asked'), 'awaited', 'awaited'])
  // Somebody reads in between.
  expect(await play(2, ...singles(2))).toEqual(['asked', 'asked'])
  expect(await play(1, ...singles(4))).toEqual(['asked', 'asked', 'asked', 'awaited'])
  // Several writers share a batch.
  expect(await play(1, pair(), ...singles(4))).toEqual([...Array(4).fill('asked'), 'awaited'])
  // Another client writes.
  const other = batchOf(++zxid, 2n)
  expect(await play(1, other, ...singles(5))).toEqual([...Array(5).fill('asked'), 'awaited'])
  // The disk becomes slow, and quick again: what was slow is known afterwards.
  syncMs = 3
  expect(await play(1, ...singles(3))).toEqual(['awaited', 'asked', 'asked'])
  syncMs = 0.2
  expect(await play(1, ...singles(2))).toEqual(['asked', 'awaited'])
  expect(failures).toEqual([])
  expect(logged.at(-1)).toBe(zxid)
})

test('without syncs, batches are written by the event loop, unless the disk is far behind', async () => {
  const { disk, how } = await watchedDisk()
  const log = new TxnLog(disk, { directory, preAllocBytes: 0, forceSync: false })
  let [nowMs, copyMs, zxid] = [0, 0.2, 0n]
  const timed: Host = { ...host, monotonicMs: () => (nowMs += copyMs) }
  const { journal, waiting, logged } = idleJournal(disk, emptyDatabase(), log, timed)
  const play = async (count: number, bytes = 0, busyMs = 0): Promise<string[]> => {
    how.length = 0
    for (let i = 0; i < count; i++) {
      const batch = batchOf(++zxid)
      batch.begin()
      batch.writer.raw(new Uint8Array(bytes))
      batch.end(++zxid)
      waiting.push(batch)
      journal.batchReady()
      nowMs += busyMs
      await settle()
    }
    return how
  }
  // The first write of all is the header of the file.
  expect(await play(3)).toEqual(['asked', 'awaited', 'awaited', 'awaited'])
  expect(await play(1, 200_000), 'long').toEqual(['asked'])
  expect(await play(2, 0, 50), 'whatever else is done meanwhile').toEqual(['awaited', 'awaited'])
  copyMs = 6
  expect(await play(3)).toEqual(['awaited', 'asked', 'asked'])
  copyMs = 0.2
  expect(await play(1), 'still').toEqual(['asked'])
  nowMs += 1000
  expect(await play(2), 'tried again').toEqual(['awaited', 'awaited'])
  expect(logged.at(-1)).toBe(zxid)
})

test('no snapshot is taken of a database that is still being received', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const db = emptyDatabase()
  const { journal } = idleJournal(disk, db)
  db.isExact = false
  expect(await journal.snapshotNow()).toBeUndefined()
  expect(await disk.list(directory)).toEqual([])
  db.isExact = true
  expect(await journal.snapshotNow()).toMatchObject({ file: 'snapshot.0' })
})

test('a snapshot is written in longer slices while hundreds of writes share a turn', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const db = emptyDatabase()
  const { journal } = idleJournal(disk, db)
  const writesBefore = [0, 200, 201, 1000, 0]
  const slices: number[] = []
  const snapshotSource = db.snapshotSource.bind(db)
  db.snapshotSource = () => ({
    ...snapshotSource(),
    writeNodes: (_, bytesMax) => {
      slices.push(bytesMax)
      journal.stats.batchSize.add(writesBefore[slices.length] ?? 0)
      return slices.length < writesBefore.length
    },
  })
  await journal.snapshot()
  const [short, long] = [256 * 1024, 768 * 1024]
  expect(slices).toEqual([short, short, long, long, short])
})

test('a delayed snapshot is taken in time, unless there is another one or the server stops', async () => {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const db = emptyDatabase()
  let calm = new Deferred<void>()
  const waits: Host = {
    ...host,
    delay: () => ({ done: calm.promise, cut: () => calm.resolve() }),
  }
  const { journal } = idleJournal(disk, db, undefined, waits)
  const taken = journal.snapshotAfter(1000)
  await settle()
  expect(journal.stats.snapshots).toBe(0)
  calm.resolve()
  await taken
  expect(journal.stats.snapshots).toBe(1)

  calm = new Deferred()
  const needless = journal.snapshotAfter(1000)
  await journal.snapshot()
  calm.resolve()
  await needless
  expect(journal.stats.snapshots).toBe(2)

  calm = new Deferred()
  const late = journal.snapshotAfter(1000)
  await journal.stop()
  await late
  expect(journal.stats.snapshots).toBe(2)
})

test('a queued purge serves all requests for one', async () => {
  const disk = new MemoryDisk()
  let lists = 0
  const list = disk.list.bind(disk)
  disk.list = (path) => {
    lists++
    return list(path)
  }
  const { journal } = idleJournal(disk, emptyDatabase())
  journal.purgeSoon()
  await settle()
  const once = lists
  expect(once).toBeGreaterThan(0)
  const held = new Deferred<void>()
  const working = journal.undisturbed(() => held.promise)
  for (let i = 0; i < 100; i++) journal.purgeSoon()
  held.resolve()
  await working
  await settle()
  expect(lists).toBe(2 * once)
})

test('a snapshot that replaces everything is not purged for its lower name', async () => {
  const disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
  const db = emptyDatabase()
  const log = new TxnLog(disk, { directory, preAllocBytes: 0, extentDirectory: directory })
  const options = { retainCount: 1, purges: true }
  const { journal } = idleJournal(disk, db, log, host, () => 0, options)
  db.lastZxid = 9n
  await journal.snapshotNow()
  db.lastZxid = 5n
  await journal.storeAlone()
  await settle()
  const names = await disk.list(directory)
  expect(names.map(({ name }) => name).filter((name) => name.includes('snapshot'))).toEqual([
    'snapshot.5',
  ])
})
