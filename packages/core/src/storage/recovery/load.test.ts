/** Files that are sound one by one, and whose log says that the tree was another one. */
import { encodeText } from '@zabra/protocol'
import { beforeEach, expect, test } from 'vitest'
import { zabraSnapshot } from '../../../test/support/fuzzy-snapshots.ts'
import {
  contentOf,
  directory,
  places,
  RecordedWorld,
} from '../../../test/support/recorded-world.ts'
import { PastTree } from '../../history/past-tree.ts'
import type { Database } from '../../state/database.ts'
import { snapshotsAmong } from '../disk/files.ts'
import { loadDatabase } from './load.ts'
import type { RecoveryEvent } from './recovery-events.ts'
import type { RecoveryOptions } from './recovery.ts'

const databaseOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 1,
  acl: { skipAcl: false, schemes: new Set<string>() },
}

const openAcl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

let world: RecordedWorld
let events: RecoveryEvent[]
let replayed: number

beforeEach(async () => {
  world = new RecordedWorld(zabraSnapshot)
  events = []
  await world.start()
})

async function create(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await world.do({
      op: 'change',
      session: 1n,
      change: { op: 'create', path, data: encodeText(path), acl: openAcl, kind: 'plain' },
    })
  }
}

async function takeSnapshot(): Promise<void> {
  for (let i = 0; i < 100; i++) await world.do({ op: 'write' })
}

async function load(options: Partial<RecoveryOptions> = {}): Promise<Database> {
  const trace = (event: RecoveryEvent): void => void events.push(event)
  replayed = 0
  const listener = { begin: () => void (replayed = 0), replayed: () => void replayed++ }
  const recovery = { ...places, trace, ...options }
  const { db } = await loadDatabase(world.disk, recovery, databaseOptions, listener)
  return db
}

function expectEverything(db: Database): void {
  expect(contentOf(new PastTree(db, db.lastZxid))).toEqual(world.ledger.get(world.db.lastZxid))
}

async function snapshots(): Promise<string[]> {
  return snapshotsAmong(await world.disk.list(directory)).map(({ name }) => name)
}

test('an older snapshot in the place of a newer one is put aside, and nothing is missing', async () => {
  await create('/a', '/b')
  await takeSnapshot()
  await create('/c')
  await takeSnapshot()
  await create('/d')
  await world.end()
  const names = await snapshots()
  const [older, newest] = names.slice(-2)
  await world.disk.put(`${directory}/${newest}`, world.disk.content(`${directory}/${older}`))

  expectEverything(await load())
  expect(events).toContainEqual({ type: 'snapshotDiffers', file: `${directory}/${newest}` })
  expect(await snapshots()).toEqual(names.slice(0, -1))
  // Only what the last load replayed counts.
  const afterFirst = replayed
  expectEverything(await load())
  expect(replayed).toBe(afterFirst)
})

test('if no snapshot leads to the tree of the log, the newest is used', async () => {
  await create('/a', '/b')
  await takeSnapshot()
  world.db.tree.digest.add(1)
  await create('/c')
  await world.end()
  const names = await snapshots()
  expectEverything(await load())
  expect(await snapshots()).toEqual(names)
})

/** Checksum, length, then the header: session, number, zxid. */
function startOfRecord(log: Buffer, zxid: bigint): number {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(zxid)
  for (let at = 16; at < log.length; at++) {
    if (log.subarray(at + 24, at + 32).equals(bytes)) return at
  }
  throw new Error('no such record')
}

async function twoEpochs(): Promise<string> {
  await create('/a', '/b', '/c')
  const first = (await world.disk.list(directory)).find(({ name }) => name.startsWith('log.'))!
  const before = await snapshots()
  await world.do({ op: 'write' })
  world.db.advance(2n ** 32n)
  await create('/d')
  await world.end()
  for (const name of await snapshots())
    if (!before.includes(name)) await world.disk.remove(`${directory}/${name}`)
  return `${directory}/${first.name}`
}

test.each([
  ['its last record', 0],
  ['the end of its last record', 20],
])('a log that has lost %s stops recovery, although a new epoch follows it', async (_, kept) => {
  const path = await twoEpochs()
  const bytes = Buffer.from(world.disk.content(path))
  const last = startOfRecord(bytes, 5n)
  await world.disk.put(path, bytes.fill(0, last + kept))
  await expect(load()).rejects.toThrow(
    /begins a new epoch with another tree than .*log\.1 leads to/,
  )
  expect((await load({ acceptDamage: true })).lastZxid).toBe(world.db.lastZxid)
})

test('a log without an end mark is complete if the next epoch has the right tree', async () => {
  const path = await twoEpochs()
  const bytes = world.disk.content(path)
  await world.disk.put(path, bytes.slice(0, -24))
  expectEverything(await load())
})

test('damage below the snapshot passes at the next start, when a new epoch follows it', async () => {
  await create('/a', '/b', '/c')
  const log = (await world.disk.list(directory)).find(({ name }) => name.startsWith('log.'))!
  await takeSnapshot()
  world.db.advance(2n ** 32n)
  await create('/d')
  await world.end()
  const names = await snapshots()
  for (const name of names.filter((each) => each !== 'snapshot.0' && each !== 'snapshot.5'))
    await world.disk.remove(`${directory}/${name}`)
  const path = `${directory}/${log.name}`
  const bytes = Buffer.from(world.disk.content(path))
  const damaged = Buffer.from(bytes).fill(
    99,
    startOfRecord(bytes, 4n) + 40,
    startOfRecord(bytes, 4n) + 42,
  )
  await world.disk.put(path, damaged)
  expectEverything(await load())
})

test.each([false, true])(
  'damage below the newest snapshot does not cost what follows it, where the log has another digest (acceptDamage=%s)',
  async (acceptDamage) => {
    await create('/a', '/b')
    await takeSnapshot()
    await create('/c', '/d')
    await takeSnapshot()
    world.db.tree.digest.add(1)
    await create('/e', '/f')
    await world.end()
    // The newest may not have been complete before the last transaction, and then says less.
    await world.disk.remove(`${directory}/${(await snapshots()).at(-1)!}`)
    const files = await world.disk.list(directory)
    const oldest = files.map(({ name }) => name).find((name) => name.startsWith('log.'))!
    const bytes = Uint8Array.from(world.disk.content(`${directory}/${oldest}`))
    bytes.fill(0xff, 60, 80)
    await world.disk.put(`${directory}/${oldest}`, bytes)
    const db = await load({ acceptDamage })
    expect(db.lastZxid).toBe(world.db.lastZxid)
    const left = await world.disk.list(directory)
    expect(left.map(({ name }) => name).toSorted()).toEqual(
      expect.arrayContaining(files.map(({ name }) => name)),
    )
  },
)
