import { expect, test } from 'vitest'
import { endMarkBytes } from './end-mark.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { batchOf, directory, range, recoverTest } from '../../../test/support/storage.ts'
import { truncateAfter } from './truncate.ts'
import { TxnLog } from './txn-log.ts'

/** A process that died with its last append in the cache: written, and the sync refused. */
async function withUnsyncedAppend(): Promise<MemoryDisk> {
  const disk = new MemoryDisk({ forgetful: true })
  await recoverTest(disk)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
  await log.append(batchOf(range(1, 3)))
  disk.fault = (call) => (call === 'sync' ? 'EIO' : undefined)
  await expect(log.append(batchOf(range(4, 5)))).rejects.toThrow('EIO')
  disk.fault = undefined
  return disk
}

test('what recovery has read from the cache survives the next power failure', async () => {
  const disk = await withUnsyncedAppend()
  expect((await recoverTest(disk)).zxid).toBe(5n)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0, lastZxid: 5n })
  await log.append(batchOf([6]))
  disk.crash()
  expect((await recoverTest(disk)).zxid).toBe(6n)
})

test('pages that a failed sync left clean are written again', async () => {
  const disk = await withUnsyncedAppend()
  disk.forgetDirty(`${directory}/log.1`)
  await recoverTest(disk)
  disk.crash()
  expect((await recoverTest(disk)).zxid).toBe(5n)
})

test('what a cut took away does not come back when its sync had failed', async () => {
  const disk = new MemoryDisk({ forgetful: true })
  await recoverTest(disk)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
  await log.append(batchOf(range(1, 9)))
  await log.close()
  disk.fault = (call) => (call === 'sync' ? 'EIO' : undefined)
  const where = { snapshotDir: directory, logDir: directory }
  await expect(truncateAfter(disk, where, 5n)).rejects.toThrow('EIO')
  disk.fault = undefined
  disk.forgetDirty(`${directory}/log.1`)
  expect((await recoverTest(disk)).zxid).toBe(5n)
  disk.crash()
  expect((await recoverTest(disk)).zxid).toBe(5n)
})

test('a log that does not read the same twice is not cut off', async () => {
  const disk = new MemoryDisk({ forgetful: true })
  await recoverTest(disk)
  const log = new TxnLog(disk, { directory, preAllocBytes: 4096 })
  await log.append(batchOf(range(1, 3)))
  const openRead = disk.openRead.bind(disk)
  let opened = 0
  disk.openRead = async (path) => {
    const handle = await openRead(path)
    if (!path.endsWith('log.1') || ++opened > 1) return handle
    // The first time the last record reads as zeros, as if it had never been written.
    const read = async (position: number, into: Uint8Array): Promise<number> => {
      const count = await handle.read(position, into)
      for (let i = Math.max(0, 120 - position); i < count; i++) into[i] = 0
      return count
    }
    return { bytes: handle.bytes, read, close: () => handle.close() }
  }
  await expect(recoverTest(disk)).rejects.toThrow('one read ended at zxid 0x2')
  expect((await recoverTest(disk)).zxid).toBe(3n)
})

/** In the reads of the log from one to another, the disk gives another last byte than it has. */
function erringIn(disk: MemoryDisk, from: number, to: number): { stop(): void } {
  const openRead = disk.openRead.bind(disk)
  let reads = 0
  disk.openRead = async (path) => {
    const handle = await openRead(path)
    if (!path.endsWith('log.1')) return handle
    const read = async (position: number, into: Uint8Array): Promise<number> => {
      const count = await handle.read(position, into)
      if (++reads >= from && reads <= to) into[count - 1]! ^= 1
      return count
    }
    return { bytes: handle.bytes, read, close: () => handle.close() }
  }
  return { stop: () => void (disk.openRead = openRead) }
}

test('what cannot be read a second time is not served, as it could not be written again', async () => {
  let refused = 0
  for (let at = 1; at <= 12; at++) {
    const disk = await withUnsyncedAppend()
    disk.forgetDirty(`${directory}/log.1`)
    const erring = erringIn(disk, at, at)
    const zxid = await recoverTest(disk).then(
      (recovered) => recovered.zxid,
      () => undefined,
    )
    if (zxid === undefined) refused++
    erring.stop()
    disk.crash()
    expect((await recoverTest(disk)).zxid).toBeGreaterThanOrEqual(zxid ?? 0n)
  }
  expect(refused).toBeGreaterThan(1)
})

test('without a mark, as in a log of Apache, the end is written again too', async () => {
  const disk = await withUnsyncedAppend()
  const path = `${directory}/log.1`
  const { bytes } = await disk.openRead(path)
  const handle = await disk.openWrite(path)
  await handle.setSize(bytes - endMarkBytes)
  disk.forgetDirty(path)
  expect((await recoverTest(disk)).zxid).toBe(5n)
  disk.crash()
  expect((await recoverTest(disk)).zxid).toBe(5n)
})

test('the sound part of an unfinished write is written again when the rest is cut off', async () => {
  const disk = await withUnsyncedAppend()
  const path = `${directory}/log.1`
  const { bytes } = await disk.openRead(path)
  const handle = await disk.openWrite(path)
  await handle.setSize(bytes - endMarkBytes - 3)
  disk.forgetDirty(path)
  expect((await recoverTest(disk)).zxid).toBe(4n)
  disk.crash()
  expect((await recoverTest(disk)).zxid).toBe(4n)
})
