import { expect, test } from 'vitest'
import type { Host } from '../ports.ts'
import { LogBatch } from '../storage/log-batch.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { SnapshotSource } from '../storage/snapshot.ts'
import { TxnLog } from '../storage/txn-log.ts'
import { Deferred } from '../zab/deferred.ts'
import { Database } from '../database.ts'
import { Journal, type BatchSource } from './journal.ts'

const directory = 'data/version-2'

const host: Host = {
  monotonicMs: () => 0,
  wallMs: () => 0,
  random: () => 0,
  delay: () => ({ done: Promise.resolve(), cut: () => {} }),
}

function batchOf(zxid: bigint): LogBatch {
  const batch = new LogBatch()
  batch.begin()
  batch.writer.long(zxid)
  batch.end(zxid)
  return batch
}

test('a batch that becomes ready while the last snapshot is written is durable when stop resolves', async () => {
  const disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
  const db = new Database({
    extendedTypes: false,
    digests: false,
    hashSeed: 1,
    acl: { skipAcl: true, schemes: new Set() },
  })
  const slice = new Deferred<void>()
  const waiting: LogBatch[] = []
  const logged: bigint[] = []
  const source: BatchSource = {
    get hasBatch() {
      return waiting.length > 0
    },
    takeBatch: () => waiting.shift()!,
    logged: (batch) => logged.push(batch.lastZxid),
    canWrite: true,
    suspendWrites: () => {},
    resumeWrites: () => {},
    db: { snapshotSource: (): SnapshotSource => db.snapshotSource() },
  }
  // The snapshot is under way until somebody says otherwise.
  const slow = new Proxy(disk, {
    get: (target, name) => {
      if (name === 'create') {
        return async (path: string) => {
          if (path.includes('snapshot')) await slice.promise
          return target.create(path)
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const failures: Error[] = []
  const journal = new Journal(
    { source, log, disk: slow, host, trace: () => {}, turn: (work) => work() },
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
    },
    (error) => failures.push(error),
  )
  void journal.snapshot()
  const stopping = journal.stop()
  waiting.push(batchOf(1n))
  journal.batchReady()
  slice.resolve()
  // Another one while the first is on its way to the disk.
  waiting.push(batchOf(2n))
  await stopping
  expect(failures).toEqual([])
  expect(logged).toEqual([1n, 2n])
  expect(log.currentFile).toBeUndefined()
})
