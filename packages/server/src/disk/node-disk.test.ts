import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  faultCode,
  loadSnapshot,
  LogBatch,
  LogFileReader,
  TxnLog,
  writeSnapshot,
  type SnapshotSink,
  type SnapshotSource,
} from '@zabra/core'
import { TxnHeader, type Reader } from '@zabra/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { NodeDisk } from './node-disk.ts'
import { zlibCompression } from './zlib-compression.ts'

const disk = new NodeDisk()
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'zabra-disk-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true })
})

test('directories are created with their parents, and files are listed with their sizes', async () => {
  const nested = `${directory}/a/b`
  await expect(disk.list(nested)).rejects.toSatisfy((error) => faultCode(error) === 'ENOENT')
  await disk.makeDirectory(nested)
  await disk.makeDirectory(nested)
  writeFileSync(`${nested}/file`, 'abc')
  expect(await disk.list(nested)).toEqual([{ name: 'file', bytes: 3 }])
  expect(await disk.list(directory)).toEqual([])
  await disk.remove(`${nested}/file`)
  await disk.remove(`${nested}/file`)
  expect(await disk.list(nested)).toEqual([])
})

test('links to files are listed as files, and dangling ones as empty', async () => {
  writeFileSync(`${directory}/file`, 'abc')
  symlinkSync(`${directory}/file`, `${directory}/link`)
  symlinkSync(`${directory}/nothing`, `${directory}/lost`)
  symlinkSync(directory, `${directory}/directory`)
  const listed = (await disk.list(directory)).toSorted((a, b) => a.name.localeCompare(b.name))
  expect(listed).toEqual([
    { name: 'file', bytes: 3 },
    { name: 'link', bytes: 3 },
    { name: 'lost', bytes: 0 },
  ])
})

test('bytes are written, read, truncated and extended at any position', async () => {
  const path = `${directory}/file`
  for (const durableWrites of [false, true]) {
    const output = await disk.create(path, { durableWrites })
    await output.write(Buffer.from('hello world'), 3)
    await output.setSize(8)
    await output.setSize(10)
    await output.sync()
    await output.close()
    const input = await disk.openRead(path)
    const into = Buffer.alloc(20)
    expect(await input.read(1, into)).toBe(9)
    expect(into.subarray(0, 9).toString()).toBe('\0\0hello\0\0')
    expect(input.bytes).toBe(10)
    await input.close()
  }
  const again = await disk.openWrite(path)
  await again.write(Buffer.from('X'), 0)
  await again.close()
  await disk.rename(path, `${directory}/other`)
  await disk.syncDirectory(directory)
  expect(existsSync(path)).toBe(false)
  expect(statSync(`${directory}/other`).size).toBe(10)
})

test('a log on real files contains the appended records, over the preallocated zeros', async () => {
  const log = new TxnLog(disk, { directory, preAllocBytes: 4 * 1024 * 1024 })
  const batch = new LogBatch()
  let zxid = 0n
  for (let i = 0; i < 150; i++) {
    batch.reset()
    for (let k = 0; k < 3; k++) {
      batch.begin()
      TxnHeader.write(batch.writer, { clientId: 1n, cxid: 1, zxid: ++zxid, time: 1n, type: -1 })
      batch.writer.raw(new Uint8Array(5000).fill(7))
      batch.end(zxid)
    }
    // Only every other write is awaited.
    await log.append(batch, i % 2 === 1)
  }
  await log.close()
  const reader = await LogFileReader.open(disk, `${directory}/log.1`)
  let count = 0n
  for await (const records of reader) while (records.next()) expect(records.zxid).toBe(++count)
  await reader.close()
  expect(count).toBe(450n)
  expect(reader.end.reason).toBe('endMark')
  expect(reader.bytes).toBe(reader.end.position + 24)
})

test('a gzip snapshot is an ordinary snapshot, compressed', async () => {
  const plain = await writeSnapshot(disk, directory, source(5n))
  const packed = await writeSnapshot(disk, directory, source(5n), {
    method: 'gz',
    compression: zlibCompression,
  })
  expect(packed.file).toBe('snapshot.5.gz')
  expect(packed.bytes).toBeLessThan(plain.bytes)
  const unpacked = gunzipSync(readFileSync(`${directory}/${packed.file}`))
  expect(unpacked.equals(readFileSync(`${directory}/${plain.file}`))).toBe(true)

  const sink = new CountingSink()
  await loadSnapshot(disk, directory, packed.file, sink, zlibCompression)
  expect(sink.nodes).toBe(10_001)

  writeFileSync(
    `${directory}/snapshot.6.gz`,
    readFileSync(`${directory}/${packed.file}`).subarray(0, -50),
  )
  await expect(
    loadSnapshot(disk, directory, 'snapshot.6.gz', new CountingSink(), zlibCompression),
  ).rejects.toThrow(/snapshot\.6\.gz is damaged/)
})

function source(zxid: bigint): SnapshotSource {
  let written = 0
  return {
    zxid,
    sessions: () => [],
    acls: () => [],
    writeNodes(writer, bytesMax) {
      const stop = writer.position + bytesMax
      for (; written <= 10_000; written++) {
        if (writer.position >= stop) return true
        writer.ustring(written === 0 ? '' : `/node-${written}`)
        writer.buffer(new Uint8Array(100))
        writer.long(-1n)
        writer.raw(new Uint8Array(60))
      }
      return false
    },
    finish: () => ({ zxid, digest: undefined }),
    release: () => {},
  }
}

class CountingSink implements SnapshotSink {
  nodes = 0

  expect(): void {}

  session(): void {}

  acl(): void {}

  digest(): void {}

  node(reader: Reader): boolean {
    if (reader.ustring() === '/') return false
    reader.buffer()
    for (let i = 0; i < 17; i++) reader.int()
    this.nodes++
    return true
  }
}
