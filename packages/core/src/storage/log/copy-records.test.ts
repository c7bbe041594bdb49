import {
  encode,
  FileHeader,
  fileVersion,
  logMagic,
  Reader,
  TxnHeader,
  Writer,
} from '@zabra/protocol'
import { afterEach, expect, test } from 'vitest'
import { logsAmong, snapshotsAmong } from '../disk/files.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { CopyError, copyRecords, type LoggedFiles, type RecordRange } from './copy-records.ts'
import { LogBatch } from './log-batch.ts'
import { TxnLog } from './txn-log.ts'

let breaks: readonly bigint[] = []
afterEach(() => {
  breaks = []
})

async function filesOf(disk: MemoryDisk): Promise<LoggedFiles> {
  const entries = await disk.list('data')
  const logs = logsAmong(entries).map((log) => ({ ...log, directory: 'data' }))
  return { logs, snapshots: snapshotsAmong(entries), breaks }
}

/** A directory with logs that hold these transactions, a file for each list. */
async function logsOf(...files: readonly (readonly bigint[])[]): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  await disk.makeDirectory('data')
  for (const zxids of files) {
    const log = new TxnLog(disk, { directory: 'data', preAllocBytes: 4096 })
    const batch = new LogBatch()
    for (const zxid of zxids) {
      batch.begin()
      write(batch.writer, zxid)
      batch.end(zxid)
    }
    await log.append(batch)
    await log.close()
  }
  return disk
}

function write(writer: Writer, zxid: bigint): void {
  TxnHeader.write(writer, { clientId: 7n, cxid: 1, zxid, time: 1000n + zxid, type: -10 })
  writer.int(30_000)
}

async function file(disk: MemoryDisk, name: string, bytes: Uint8Array): Promise<void> {
  const handle = await disk.create(`data/${name}`)
  await handle.write(bytes, 0)
  await handle.close()
}

async function bytesOf(disk: MemoryDisk, range: RecordRange): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of copyRecords(disk, await filesOf(disk), range)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** The zxids of what is copied. */
async function copied(disk: MemoryDisk, range: RecordRange): Promise<bigint[]> {
  const bytes = await bytesOf(disk, range)
  const zxids: bigint[] = []
  for (let at = 0; at < bytes.length; at += 13 + bytes.readInt32BE(at + 8)) {
    zxids.push(TxnHeader.read(new Reader(bytes, at + 12)).zxid)
  }
  return zxids
}

async function problem(disk: MemoryDisk, range: RecordRange): Promise<string> {
  const error: unknown = await copied(disk, range).catch((thrown: unknown) => thrown)
  return error instanceof CopyError ? error.problem : `copied ${String(error)}`
}

async function checksumOf(disk: MemoryDisk, zxid: bigint): Promise<number> {
  const bytes = await bytesOf(disk, { after: 0n, to: zxid })
  let at = 0
  for (let end = 0; end < bytes.length; end += 13 + bytes.readInt32BE(end + 8)) at = end
  return bytes.readInt32BE(at + 4)
}

const snapshotOf = (zxid: bigint): [string, Uint8Array] => [
  `snapshot.${zxid.toString(16)}`,
  new Uint8Array(1),
]
const epoch = (count: bigint, counter: bigint): bigint => (count << 32n) | counter

test('copies what lies between two transactions, across files', async () => {
  const disk = await logsOf([1n, 2n, 3n], [4n, 5n], [6n, 7n, 8n])
  expect(await copied(disk, { after: 0n })).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n])
  for (let after = 1n; after <= 8n; after++) {
    const checksum = await checksumOf(disk, after)
    for (let to = after; to <= 8n; to++) {
      const wanted = Array.from({ length: Number(to - after) }, (_, i) => after + BigInt(i) + 1n)
      expect(await copied(disk, { after, checksum, to })).toEqual(wanted)
    }
  }
})

test('continues only from the same transaction', async () => {
  const disk = await logsOf([1n, 2n], [3n, 4n])
  const checksum = await checksumOf(disk, 2n)
  expect(await problem(disk, { after: 2n, checksum: checksum + 1 })).toBe('otherHistory')
  expect(await problem(disk, { after: 5n, checksum })).toBe('otherHistory')
  // Not even where nothing is to be copied.
  expect(await problem(disk, { after: 2n, checksum: checksum + 1, to: 2n })).toBe('otherHistory')
})

test('continues from a snapshot beside the logs', async () => {
  const disk = await logsOf([5n, 6n])
  expect(await problem(disk, { after: 4n })).toBe('purged')
  await file(disk, ...snapshotOf(4n))
  expect(await copied(disk, { after: 4n })).toEqual([5n, 6n])
  expect(await problem(disk, { after: 4n, checksum: 1 })).toBe('purged')
})

test('tells logs that begin too late from logs that end too early', async () => {
  const disk = await logsOf([10n, 11n], [12n])
  expect(await problem(disk, { after: 3n, checksum: 1 })).toBe('purged')
  const checksum = await checksumOf(await logsOf([1n, 2n]), 2n)
  expect(await problem(await logsOf([1n, 2n]), { after: 2n, checksum, to: 9n })).toBe('behind')
})

test('finds transactions that are missing in between', async () => {
  expect(await problem(await logsOf([1n, 2n], [4n]), { after: 0n })).toBe('gap')
  const inEpoch = await logsOf([1n, 2n], [epoch(1n, 2n)])
  expect(await problem(inEpoch, { after: 0n })).toBe('gap')
  const whole = await logsOf([1n, 2n], [epoch(1n, 1n)])
  expect(await copied(whole, { after: 0n })).toEqual([1n, 2n, epoch(1n, 1n)])
  // A server took its leader's snapshot, and has no log of what led up to it.
  await file(whole, ...snapshotOf(3n))
  expect(await problem(whole, { after: 0n })).toBe('gap')
})

test('does not lead from one database to another', async () => {
  const disk = await logsOf([1n, 2n], [epoch(1n, 1n), epoch(1n, 2n)])
  breaks = [epoch(1n, 0n)]
  expect(await problem(disk, { after: 1n, checksum: await checksumOf(disk, 1n), to: 2n })).toBe(
    'copied 2',
  )
  expect(await problem(disk, { after: 0n })).toBe('gap')
  await file(disk, ...snapshotOf(epoch(1n, 0n)))
  expect(await copied(disk, { after: epoch(1n, 0n) })).toEqual([epoch(1n, 1n), epoch(1n, 2n)])
})

test('takes the start of an epoch for no transaction', async () => {
  const disk = await logsOf([1n, 2n], [epoch(1n, 1n)])
  await file(disk, ...snapshotOf(epoch(1n, 0n)))
  expect(await copied(disk, { after: 0n })).toEqual([1n, 2n, epoch(1n, 1n)])
})

test('stops at damage, not at the rest of a write that was never finished', async () => {
  const disk = await logsOf([1n, 2n], [3n, 4n])
  const header = encode(FileHeader, { magic: logMagic, version: fileVersion, dbid: 0n })
  const sound = await bytesOf(disk, { after: 0n })
  const half = sound.subarray(0, sound.length - 5)
  const torn = await logsOf()
  await file(torn, 'log.1', Buffer.concat([header, half]))
  expect(await copied(torn, { after: 0n })).toEqual([1n, 2n, 3n])
  const flipped = Buffer.from(sound)
  flipped[20]! ^= 1
  const damaged = await logsOf()
  await file(damaged, 'log.1', Buffer.concat([header, flipped]))
  expect(await problem(damaged, { after: 0n })).toBe('gap')
})
