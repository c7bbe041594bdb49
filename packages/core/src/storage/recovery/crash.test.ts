/**
 * Power fails in the middle of things: whatever was acknowledged is there afterwards, and the
 * server starts without anybody's help.
 */
import { fileHeaderBytes, txnHeaderBytes } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordBytesOver } from '../log/log-batch.ts'
import { MemoryDisk, type Tear } from '../disk/memory-disk.ts'
import { RecoveryError } from './recovery-error.ts'
import { writeSnapshot } from '../snapshot/snapshot.ts'
import {
  batchOf,
  directory,
  range,
  recoverTest,
  TestDatabase,
} from '../../../test/support/storage.ts'
import { DiskFullError, LogFailedError, TxnLog } from '../log/txn-log.ts'

const sectorBytes = 512

/** Each sector of a write survives or not, as a random bit says. */
function bySector(survives: readonly boolean[]): Tear {
  return (_path, bytes, position) => {
    const ranges: [number, number][] = []
    const first = Math.floor(position / sectorBytes)
    for (let sector = first; sector * sectorBytes < position + bytes.length; sector++) {
      if (!survives[(sector - first) % survives.length]) continue
      const from = Math.max(0, sector * sectorBytes - position)
      ranges.push([from, Math.min(bytes.length, (sector + 1) * sectorBytes - position)])
    }
    return ranges
  }
}

/** Only the beginning of a write survives, to the byte. */
function byPrefix(length: number): Tear {
  return (_path, bytes) => [[0, Math.min(length, bytes.length)]]
}

interface Appended {
  readonly disk: MemoryDisk
  readonly acknowledged: number
  readonly attempted: number
}

/** Appends batches; power is about to fail during the last one. */
async function appendUntilCrash(
  batches: readonly number[],
  bodyBytes: number,
  preAllocBytes: number,
): Promise<Appended> {
  const disk = new MemoryDisk({ forgetful: true })
  await recoverTest(disk)
  const log = new TxnLog(disk, { directory, preAllocBytes })
  let last = 0
  for (const [i, records] of batches.entries()) {
    const batch = batchOf(range(last + 1, last + records), bodyBytes)
    if (i < batches.length - 1) {
      await log.append(batch)
      last += records
      continue
    }
    disk.fault = (call) => (call === 'sync' ? 'EIO' : undefined)
    await expect(log.append(batch)).rejects.toThrow('EIO')
    disk.fault = undefined
    return { disk, acknowledged: last, attempted: last + records }
  }
  throw new Error('no batch at all')
}

async function expectRecovery({ disk, acknowledged, attempted }: Appended): Promise<void> {
  const { zxid, target } = await recoverTest(disk)
  expect(Number(zxid)).toBeGreaterThanOrEqual(acknowledged)
  expect(Number(zxid)).toBeLessThanOrEqual(attempted)
  expect(target.applied.map(Number)).toEqual(range(1, Number(zxid)))

  // And life goes on from there, also over a second crash.
  const log = new TxnLog(disk, { directory, preAllocBytes: 0, lastZxid: zxid })
  await log.append(batchOf([Number(zxid) + 1, Number(zxid) + 2]))
  disk.crash()
  const again = await recoverTest(disk)
  expect(again.zxid).toBe(zxid + 2n)
  expect(again.events.map(({ type }) => type)).not.toContain('tornTail')
}

const batches = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 })
const bodyBytes = fc.oneof(fc.integer({ min: 4, max: 60 }), fc.integer({ min: 4, max: 3000 }))
const preAllocBytes = fc.constantFrom(0, 4096, 65536)

test('sectors of the last write survive in any combination', async () => {
  const survives = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(
      batches,
      bodyBytes,
      preAllocBytes,
      survives,
      async (sizes, body, pre, bits) => {
        const appended = await appendUntilCrash(sizes, body, pre)
        appended.disk.crash(bySector(bits))
        await expectRecovery(appended)
      },
    ),
    { numRuns: 300 },
  )
})

test('the last write survives up to any byte', async () => {
  await fc.assert(
    fc.asyncProperty(
      batches,
      bodyBytes,
      preAllocBytes,
      fc.nat(5000),
      async (sizes, body, pre, cut) => {
        const appended = await appendUntilCrash(sizes, body, pre)
        appended.disk.crash(byPrefix(cut))
        await expectRecovery(appended)
      },
    ),
    { numRuns: 300 },
  )
})

/** Appends batches and leaves the file as a killed process does; says where the last one began. */
async function appendAndStop(
  sizes: readonly number[],
  body: number,
  preAlloc: number,
): Promise<{ disk: MemoryDisk; path: string; lastZxid: number; lastWriteStart: number }> {
  const disk = new MemoryDisk({ forgetful: true })
  await recoverTest(disk)
  const log = new TxnLog(disk, { directory, preAllocBytes: preAlloc })
  let lastZxid = 0
  let end = 16
  let lastWriteStart = end
  for (const records of sizes) {
    const batch = batchOf(range(lastZxid + 1, lastZxid + records), body)
    await log.append(batch)
    lastWriteStart = end
    end += batch.writer.position
    lastZxid += records
  }
  return { disk, path: `${directory}/log.1`, lastZxid, lastWriteStart }
}

async function expectAllOrRefusal(disk: MemoryDisk, lastZxid: number): Promise<void> {
  const zxid = await recoverTest(disk).then(
    (recovered) => Number(recovered.zxid),
    (error: unknown) => {
      expect(error).toBeInstanceOf(RecoveryError)
      return lastZxid
    },
  )
  expect(zxid).toBe(lastZxid)
}

test('a flipped bit in durable data never loses a record silently', async () => {
  await fc.assert(
    fc.asyncProperty(batches, bodyBytes, preAllocBytes, fc.nat(), async (sizes, body, pre, bit) => {
      const { disk, path, lastZxid } = await appendAndStop(sizes, body, pre)
      const bytes = disk.content(path)
      let end = bytes.length
      while (bytes[end - 1] === 0) end--
      const at = (bit >>> 3) % end
      bytes[at] = bytes[at]! ^ (1 << (bit & 7))
      await disk.put(path, bytes)
      await expectAllOrRefusal(disk, lastZxid)
    }),
    { numRuns: 300 },
  )
})

test('a sector lost from before the last write never costs a record in silence', async () => {
  await fc.assert(
    fc.asyncProperty(
      batches,
      bodyBytes,
      preAllocBytes,
      fc.nat(),
      async (sizes, body, pre, pick) => {
        const { disk, path, lastZxid, lastWriteStart } = await appendAndStop(sizes, body, pre)
        const sectors = Math.floor(lastWriteStart / sectorBytes)
        fc.pre(sectors > 0)
        const from = (pick % sectors) * sectorBytes
        const bytes = disk.content(path)
        await disk.put(path, bytes.fill(0, from, from + sectorBytes))
        await expectAllOrRefusal(disk, lastZxid)
      },
    ),
    { numRuns: 300 },
  )
})

/** Everything a server does with its disk, in small. */
async function live(disk: MemoryDisk, acknowledge: (zxid: number) => void): Promise<void> {
  const { zxid } = await recoverTest(disk)
  let last = Number(zxid)
  const log = new TxnLog(disk, { directory, preAllocBytes: 4096, lastZxid: zxid })
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 2; i++) {
      await log.append(batchOf(range(last + 1, last + 3), 100))
      last += 3
      acknowledge(last)
    }
    log.roll()
    const database = TestDatabase.fresh()
    database.lastZxid = BigInt(last)
    await writeSnapshot(disk, directory, database.source())
  }
  await log.close()
}

test('a crash at any call of the disk loses nothing that was acknowledged', async () => {
  let calls = 0
  const counting = new MemoryDisk({ forgetful: true, fault: () => void calls++ })
  await live(counting, () => {})
  const callsInAll = calls
  expect(callsInAll).toBeGreaterThan(40)

  for (let crashAt = 1; crashAt <= callsInAll; crashAt++) {
    for (const tear of [undefined, bySector([false, true]), bySector([true])]) {
      let acknowledged = 0
      let call = 0
      const disk = new MemoryDisk({
        forgetful: true,
        fault: () => (++call >= crashAt ? 'EIO' : undefined),
      })
      await live(disk, (zxid) => (acknowledged = zxid)).catch(() => {})
      disk.fault = undefined
      disk.crash(tear)
      const { zxid } = await recoverTest(disk)
      expect(Number(zxid), `crash at call ${crashAt}`).toBeGreaterThanOrEqual(acknowledged)
    }
  }
})

test.each([5, 6, 7, 8, 9, 10, 11])(
  'a write after the disk was full may lose its first sector, of which %i bytes are a record',
  async (bytesInSector) => {
    const disk = new MemoryDisk({ forgetful: true })
    await disk.makeDirectory(directory)
    const log = new TxnLog(disk, { directory, preAllocBytes: 4096 })
    const firstRecordOver = fileHeaderBytes + recordBytesOver + txnHeaderBytes
    await log.append(batchOf([1], sectorBytes - bytesInSector - firstRecordOver))
    disk.fault = (call) => (call === 'write' ? 'ENOSPC' : undefined)
    await expect(log.append(batchOf([2]))).rejects.toThrow(DiskFullError)
    disk.fault = (call) => (call === 'sync' ? 'EIO' : undefined)
    await expect(log.append(batchOf([2]))).rejects.toThrow(LogFailedError)
    disk.fault = undefined
    disk.crash((_path, bytes) => [[bytesInSector, bytes.length]])
    const { target, events } = await recoverTest(disk, { trustEmptySnapshot: true })
    expect(target.applied).toEqual([1n])
    expect(events.map(({ type }) => type)).toContain('tornTail')
  },
)

test.each([1, 2, 3, 4])(
  'a record that ends wrongly is damage, also where zeros of its checksum fill a sector (%i)',
  async (bytesInSector) => {
    const disk = new MemoryDisk()
    const firstRecordOver = fileHeaderBytes + recordBytesOver + txnHeaderBytes
    await disk.makeDirectory(directory)
    const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
    await log.append(batchOf([1], sectorBytes - bytesInSector - firstRecordOver))
    await log.append(batchOf([2]))
    await log.close()
    const bytes = disk.content(`${directory}/log.1`)
    const end = sectorBytes - bytesInSector + recordBytesOver + txnHeaderBytes + 4
    expect(bytes[end - 1]).toBe(0x42)
    bytes[end - 1]! ^= 1
    await disk.put(`${directory}/log.1`, bytes)
    await expect(recoverTest(disk, { trustEmptySnapshot: true })).rejects.toThrow(RecoveryError)
  },
)
