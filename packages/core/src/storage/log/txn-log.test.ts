import { CreateTxn, TxnDigest, TxnHeader, txnHeaderBytes } from '@zabra/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { LogBatch } from './log-batch.ts'
import { LogFileReader, readLogs } from './log-reader.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { batchOf, directory, range, writeLog } from '../../../test/support/storage.ts'
import { DiskFullError, LogFailedError, TxnLog } from './txn-log.ts'

let disk: MemoryDisk

beforeEach(async () => {
  disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
})

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

async function zxidsIn(name: string): Promise<{ zxids: number[]; reason: string }> {
  const log = await LogFileReader.open(disk, `${directory}/${name}`)
  const zxids: number[] = []
  for await (const records of log) while (records.next()) zxids.push(Number(records.zxid))
  return { zxids, reason: log.end.reason }
}

test('the first record of a log has the bytes that Apache writes', async () => {
  const batch = new LogBatch()
  batch.begin()
  TxnHeader.write(batch.writer, {
    clientId: 0x0100000ce84e0000n,
    cxid: 0,
    zxid: 0x100000001n,
    time: 0x1a1ddffab61n,
    type: -10,
  })
  batch.writer.int(10000)
  batch.writer.int(2)
  batch.writer.long(1371985504n)
  batch.end(0x100000001n)
  expect(batch.payloadStart).toBe(12)

  const log = new TxnLog(disk, { directory })
  await log.append(batch)
  const bytes = disk.content(`${directory}/log.100000001`)
  expect(bytes.length).toBe(67108880)
  expect(hexOf(bytes.subarray(0, 0x4d))).toBe(
    '5a4b4c47000000020000000000000000' +
      '00000000db920b49' +
      '00000030' +
      '0100000ce84e000000000000' +
      '0000000100000001' +
      '000001a1ddffab61fffffff6' +
      '00002710' +
      '000000020000000051c6d660' +
      '42',
  )
  await log.close()
})

test('a create has the length and the checksum that Apache wrote for it', () => {
  const batch = new LogBatch()
  batch.begin()
  TxnHeader.write(batch.writer, {
    clientId: 0x0100000ce84e0000n,
    cxid: 1,
    zxid: 0x100000002n,
    time: 1794725882747n,
    type: 1,
  })
  CreateTxn.write(batch.writer, {
    path: '/a',
    data: Buffer.from('hello'),
    acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
    ephemeral: false,
    parentCVersion: 1,
  })
  TxnDigest.write(batch.writer, { version: 2, treeDigest: 8972839925n })
  batch.end(0x100000002n)
  expect(hexOf(batch.writer.written().subarray(0, 12))).toBe('0000000061bd0f020000005b')
  expect(batch.writer.bytes[batch.writer.position - 1]).toBe(0x42)
})

test('Apache reads anything after the last record as the end of the log', async () => {
  await writeLog(disk, [[1, 2], [3]])
  const bytes = disk.content(`${directory}/log.1`)
  const { zxids, reason } = await zxidsIn('log.1')
  expect(zxids).toEqual([1, 2, 3])
  expect(reason).toBe('endMark')
  const end = 16 + 3 * (12 + txnHeaderBytes + 4 + 1)
  expect(Buffer.from(bytes).readInt32BE(end + 8)).toBe(0)
})

test('an append is durable when its promise resolves, with the name of its file', async () => {
  const log = new TxnLog(disk, { directory })
  await log.append(batchOf([1, 2, 3]))
  disk.crash()
  expect(await zxidsIn('log.1')).toEqual({ zxids: [1, 2, 3], reason: 'endMark' })
})

test('a roll starts a new file at the next append, named after its first record', async () => {
  const log = new TxnLog(disk, { directory, preAllocBytes: 1024 * 1024 })
  await log.append(batchOf([1, 2]))
  expect(log.recordsSinceRoll).toBe(2)
  log.roll()
  expect(log.recordsSinceRoll).toBe(0)
  await log.append(batchOf(range(3, 40)))
  await log.close()
  const names = (await disk.list(directory)).map(({ name }) => name)
  expect(names.toSorted()).toEqual(['log.1', 'log.3'])
  expect(disk.content(`${directory}/log.1`).length).toBeLessThan(200)
  expect((await zxidsIn('log.3')).zxids).toEqual(range(3, 40))
})

test('zxids that do not grow are a bug, not an append', async () => {
  const log = new TxnLog(disk, { directory, lastZxid: 5n })
  await expect(log.append(batchOf([5]))).rejects.toThrow('zxids grow')
  expect(() => batchOf([2, 2])).toThrow('zxids grow')
})

test('records are read from a zxid on, over several files', async () => {
  const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
  for (const zxids of [range(1, 4), range(5, 8), range(9, 12)]) {
    await log.append(batchOf(zxids))
    log.roll()
  }
  await log.close()
  const seen: string[] = []
  for await (const { file, records } of readLogs(disk, directory, 7n)) {
    while (records.next()) seen.push(`${file}:${records.zxid}`)
  }
  expect(seen).toEqual([
    'log.5:5',
    'log.5:6',
    'log.5:7',
    'log.5:8',
    ...range(9, 12).map((n) => `log.9:${n}`),
  ])
})

test('records larger than one read are complete', async () => {
  await writeLog(disk, [[1], [2, 3]], { bodyBytes: 3_000_000 })
  const log = await LogFileReader.open(disk, `${directory}/log.1`)
  const sizes: number[] = []
  for await (const records of log) while (records.next()) sizes.push(records.reader.remaining)
  expect(sizes).toEqual([3_000_032, 3_000_032, 3_000_032])
})

describe('when the disk is full', () => {
  test('an append fails without harm, and succeeds when there is room again', async () => {
    const log = new TxnLog(disk, { directory, preAllocBytes: 4096 })
    await log.append(batchOf([1]))
    disk.fault = (call) => (call === 'write' ? 'ENOSPC' : undefined)
    const batch = batchOf([2, 3])
    await expect(log.append(batch)).rejects.toThrow(DiskFullError)
    await expect(log.append(batch)).rejects.toThrow(DiskFullError)
    disk.fault = undefined
    await log.append(batch)
    await log.close()
    expect(await zxidsIn('log.1')).toEqual({ zxids: [1, 2, 3], reason: 'endMark' })
  })

  test('what came through of the failed append does not survive in front of a shorter one', async () => {
    const full = new MemoryDisk({ forgetful: true, bytesMax: 400 })
    await full.makeDirectory(directory)
    const log = new TxnLog(full, { directory, preAllocBytes: 0 })
    await log.append(batchOf([1]))
    await expect(log.append(batchOf(range(2, 20)))).rejects.toThrow(DiskFullError)
    await log.append(batchOf([2]))
    await log.close()
    disk = full
    expect(await zxidsIn('log.1')).toEqual({ zxids: [1, 2], reason: 'endMark' })
  })

  test('a new file that finds no room is started again', async () => {
    const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
    disk.fault = (call) => (call === 'create' ? 'ENOSPC' : undefined)
    await expect(log.append(batchOf([1]))).rejects.toThrow(DiskFullError)
    disk.fault = (call) => (call === 'write' ? 'ENOSPC' : undefined)
    await expect(log.append(batchOf([1]))).rejects.toThrow(DiskFullError)
    disk.fault = undefined
    await log.append(batchOf([1]))
    await log.close()
    expect((await zxidsIn('log.1')).zxids).toEqual([1])
  })

  test.each(['EMFILE', 'ENFILE'])(
    'a new file that finds no descriptor (%s) is tried again',
    async (code) => {
      const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
      for (const failing of ['create', 'syncDirectory'] as const) {
        disk.fault = (call) => (call === failing ? code : undefined)
        await expect(log.append(batchOf([1]))).rejects.toThrow(/no file descriptor is left/)
      }
      disk.fault = undefined
      await log.append(batchOf([1]))
      await log.close()
      expect((await zxidsIn('log.1')).zxids).toEqual([1])
    },
  )

  test('no room for laying the file out ahead is no failure', async () => {
    const log = new TxnLog(disk, { directory, preAllocBytes: 4096 })
    disk.fault = (call) => (call === 'setSize' ? 'ENOSPC' : undefined)
    await log.append(batchOf([1]))
    disk.fault = undefined
    await log.close()
    expect((await zxidsIn('log.1')).zxids).toEqual([1])
  })
})

test('after a failed sync the log never writes again', async () => {
  const log = new TxnLog(disk, { directory, preAllocBytes: 0 })
  await log.append(batchOf([1]))
  disk.fault = (call) => (call === 'sync' ? 'EIO' : undefined)
  await expect(log.append(batchOf([2]))).rejects.toThrow(LogFailedError)
  disk.fault = undefined
  await expect(log.append(batchOf([2]))).rejects.toThrow(/log\.1 cannot be written: EIO/)
})

test('zeros on their way ahead of the records never fall on top of them', async () => {
  const held: (() => void)[] = []
  const slow = new MemoryDisk()
  await slow.makeDirectory(directory)
  const create = slow.create.bind(slow)
  slow.create = async (path, options) => {
    const handle = await create(path, options)
    return {
      ...handle,
      async write(bytes, position) {
        // Zeros wait until they are let go; records pass.
        if (bytes.length === 1024 * 1024) await new Promise<void>((resolve) => held.push(resolve))
        await handle.write(bytes, position)
      },
    }
  }
  disk = slow
  const log = new TxnLog(slow, { directory, preAllocBytes: 8 * 1024 * 1024 })
  await log.append(batchOf([1], 20_000))
  expect(held).toHaveLength(1)
  let isDone = false
  const second = log.append(batchOf([2], 20_000)).then(() => (isDone = true))
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect(isDone).toBe(false)
  held[0]!()
  await second
  for (let zxid = 3; zxid <= 200; zxid++) {
    const append = log.append(batchOf([zxid], 20_000))
    for (const letGo of held.splice(0)) letGo()
    await append
  }
  const closed = log.close()
  for (const letGo of held) letGo()
  await closed
  expect((await zxidsIn('log.1')).zxids).toEqual(range(1, 200))
})
