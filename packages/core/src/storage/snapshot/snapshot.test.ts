import { beforeEach, describe, expect, test } from 'vitest'
import { adler32 } from '../../base/checksum.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { loadSnapshot, SnapshotError, writeSnapshot } from './snapshot.ts'
import { directory, TestDatabase } from '../../../test/support/storage.ts'

let disk: MemoryDisk

beforeEach(async () => {
  disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
})

async function load(file: string): Promise<TestDatabase> {
  const database = new TestDatabase()
  await loadSnapshot(disk, directory, file, database)
  return database
}

function contentOf(file: string): Buffer {
  return Buffer.from(disk.content(`${directory}/${file}`))
}

function text(value: string): string {
  const length = Buffer.alloc(4)
  length.writeInt32BE(value.length)
  return length.toString('hex') + Buffer.from(value).toString('hex')
}

function sealed(hex: string): string {
  const checksum = adler32(Buffer.from(hex, 'hex')) >>> 0
  return `${hex}${checksum.toString(16).padStart(16, '0')}${text('/')}`
}

test('snapshot.0 of an empty tree has the bytes that Apache writes', async () => {
  const database = TestDatabase.fresh()
  database.acl(1n, [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }])
  const { file, bytes } = await writeSnapshot(disk, directory, database.source(0n))
  expect(file).toBe('snapshot.0')
  const node = `00000000${'ff'.repeat(8)}${'00'.repeat(60)}`
  const body =
    '5a4b534e00000002ffffffffffffffff' +
    '00000000' +
    `0000000100000000000000010000000100000001${text('world')}${text('anyone')}` +
    `${text('')}${node}${text('/zookeeper')}${node}${text('/zookeeper/quota')}${node}` +
    text('/')
  const withDigest = `${sealed(body)}0000000000000000000000020000000000000000`
  const withZxid = `${sealed(withDigest)}0000000000000000`
  expect(contentOf(file).toString('hex')).toBe(sealed(withZxid))
  expect(bytes).toBe(contentOf(file).length)
})

test('a snapshot without the third seal, or without the second, loads as well', async () => {
  const database = TestDatabase.fresh()
  database.digestValue = 1371985504n
  const { file } = await writeSnapshot(disk, directory, database.source(0n))
  const whole = contentOf(file)
  const lastSection = 8 + 8 + 5
  const digestSection = 8 + 4 + 8 + 8 + 5
  await disk.put(`${directory}/snapshot.2`, whole.subarray(0, whole.length - lastSection))
  await disk.put(
    `${directory}/snapshot.1`,
    whole.subarray(0, whole.length - lastSection - digestSection),
  )
  expect((await load('snapshot.2')).digestValue).toBe(1371985504n)
  expect((await load('snapshot.1')).digestValue).toBeUndefined()
})

test('a written snapshot is read back', async () => {
  const database = TestDatabase.fresh()
  database.lastZxid = 0x200000005n
  database.digestValue = 0xfedcba9876543210n
  database.session(0x0100000ce84e0000n, 10000)
  database.session(-5n, 40000)
  database.acl(3n, [{ perms: 31, id: { scheme: 'digest', id: 'a:b' } }])
  database.put('/ä/\u{1f600}', 'x'.repeat(100))
  database.nodes.set('/null', { ...database.nodes.get('')!, data: null, aclId: 3n })
  const { file } = await writeSnapshot(disk, directory, database.source())
  expect(file).toBe('snapshot.200000005')
  const loaded = await load(file)
  expect(loaded.nodes).toEqual(database.nodes)
  expect(loaded.sessions).toEqual(database.sessions)
  expect(loaded.acls).toEqual(database.acls)
  expect(loaded.digestZxid).toBe(0x200000005n)
  expect(loaded.digestValue).toBe(0xfedcba9876543210n)
})

test('a large tree is written in slices of any size', async () => {
  const database = TestDatabase.fresh()
  for (let i = 0; i < 20_000; i++) database.put(`/node-${i}`, 'y'.repeat(i % 700))
  database.put('/large', 'z'.repeat(9_000_000))
  const { bytes } = await writeSnapshot(disk, directory, database.source(7n), {
    sliceBytes: () => 5000,
  })
  expect(bytes).toBeGreaterThan(15_000_000)
  const loaded = await load('snapshot.7')
  expect(loaded.nodes.size).toBe(database.nodes.size)
  expect(loaded.nodes.get('/large')!.data!.length).toBe(9_000_000)
  await writeSnapshot(disk, directory, database.source(8n))
  expect(contentOf('snapshot.8').length).toBe(bytes)
})

test('the snappy form of snappy-java is written and read', async () => {
  const database = TestDatabase.fresh()
  for (let i = 0; i < 3000; i++) database.put(`/node-${i}`, 'y'.repeat(100))
  const { file } = await writeSnapshot(disk, directory, database.source(1n), { method: 'snappy' })
  expect(file).toBe('snapshot.1.snappy')
  expect(contentOf(file).subarray(0, 16).toString('hex')).toBe('82534e41505059000000000100000001')
  expect((await load(file)).nodes).toEqual(database.nodes)
})

describe('a snapshot that is not sound is refused with its name', () => {
  let whole: Buffer

  beforeEach(async () => {
    const database = TestDatabase.fresh()
    database.session(1n, 1)
    database.acl(1n, [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }])
    database.put('/a', 'data')
    await writeSnapshot(disk, directory, database.source(5n))
    whole = contentOf('snapshot.5')
  })

  test('cut anywhere but where an older version would have ended', async () => {
    const olderEnds = [whole.length - 21, whole.length - 21 - 33]
    for (let length = 0; length < whole.length; length++) {
      await disk.put(`${directory}/snapshot.6`, whole.subarray(0, length))
      if (olderEnds.includes(length)) await load('snapshot.6')
      else await expect(load('snapshot.6'), `cut at ${length}`).rejects.toThrow(SnapshotError)
    }
  })

  test('with any byte changed, except unused ones', async () => {
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole)
      changed[at] = changed[at]! ^ 0x10
      await disk.put(`${directory}/snapshot.6`, changed)
      await expect(load('snapshot.6'), `byte ${at}`).rejects.toThrow(SnapshotError)
    }
  })
})

describe('a crash or a fault while a snapshot is written', () => {
  test('leaves no file that anyone takes for a snapshot', async () => {
    const calls = ['create', 'write', 'sync', 'rename', 'syncDirectory'] as const
    for (const failing of calls) {
      disk.fault = (call) => (call === failing ? 'EIO' : undefined)
      let released = 0
      const source = { ...TestDatabase.fresh().source(9n), release: () => released++ }
      await expect(writeSnapshot(disk, directory, source)).rejects.toThrow('EIO')
      disk.fault = undefined
      expect(released).toBe(1)
      disk.crash()
      expect(await disk.list(directory)).toEqual([])
    }
  })

  test('after the promise resolved the snapshot is there for good', async () => {
    await writeSnapshot(disk, directory, TestDatabase.fresh().source(9n))
    disk.crash()
    await load('snapshot.9')
  })
})

test('a snapshot with a znode of 80 MiB can be loaded', async () => {
  const db = TestDatabase.fresh()
  const data = new Uint8Array(80 * 1024 * 1024).fill(7)
  db.put('/large', 'x')
  db.nodes.set('/large', { ...db.nodes.get('/large')!, data })
  const { file } = await writeSnapshot(disk, directory, db.source(1n))
  const read = new TestDatabase()
  await loadSnapshot(disk, directory, file, read)
  expect(Buffer.compare(read.nodes.get('/large')!.data!, data)).toBe(0)
})
