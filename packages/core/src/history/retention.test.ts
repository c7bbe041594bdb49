import { encodeText } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { zabraSnapshot } from '../../test/support/fuzzy-snapshots.ts'
import { contentOf, directory, places, RecordedWorld } from '../../test/support/recorded-world.ts'
import { anyStep, type Step } from '../../test/support/world.ts'
import { loadDatabase } from '../storage/recovery/load.ts'
import { snapshotsAmong } from '../storage/disk/files.ts'
import { purge } from '../storage/purge.ts'
import { HistoryError } from './error.ts'
import { History } from './history.ts'
import { PastTree } from './past-tree.ts'
import { historyFolder, pastFiles } from './places.ts'
import { expireHistory, halveHistory, markBreak, retire, syncRetired } from './retention.ts'

const folder = `${directory}/${historyFolder}`
const everything = { retainBytes: Infinity, retainMs: Infinity }
const databaseOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 1,
  acl: { skipAcl: false, schemes: new Set<string>() },
}

async function purged({ disk }: RecordedWorld): Promise<void> {
  await purge(disk, {
    ...places,
    retainCount: 1,
    dispose: {
      take: (from, { name }) => retire(disk, from, name),
      sync: (from) => syncRetired(disk, from),
    },
  })
}

async function recorded(steps: readonly Step[]): Promise<RecordedWorld> {
  const world = new RecordedWorld(zabraSnapshot)
  await world.start()
  for (const step of steps) await world.do(step)
  await world.end()
  return world
}

/** Produces several logs and snapshots. */
const steps = fc
  .array(fc.array(anyStep, { minLength: 5, maxLength: 25 }), { minLength: 4, maxLength: 8 })
  .map((parts) =>
    parts.flatMap((part): Step[] => [...part, { op: 'write' }, ...part, ...writes(60)]),
  )

function writes(count: number): Step[] {
  return Array.from({ length: count }, () => ({ op: 'write' }))
}

const openAcl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const createOf = (path: string): Step => ({
  op: 'change',
  session: 1n,
  change: { op: 'create', path, data: encodeText(path), acl: openAcl, kind: 'plain' },
})
/** Snapshots with little log between them. */
const longSteps = [0, 1, 2, 3].flatMap((round): Step[] => [
  createOf(`/${round}a`),
  createOf(`/${round}b`),
  ...writes(100),
])

test('files that recovery no longer needs are moved away, and the past is complete', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (some) => {
      const world = await recorded(some)
      const { disk } = world
      const before = (await disk.list(directory)).map(({ name }) => name)
      await purged(world)
      const after = (await disk.list(directory)).map(({ name }) => name)
      const moved = (await disk.list(folder)).map(({ name }) => name)
      expect([...after, ...moved].toSorted()).toEqual(before.toSorted())
      expect(moved.length).toBeGreaterThan(0)

      await expireHistory(disk, places, everything, 0)
      const history = new History(disk, { places })
      for (const [zxid, expected] of world.ledger) {
        expect(contentOf(await history.treeAt({ zxid }))).toEqual(expected)
      }
      const { db } = await loadDatabase(
        disk,
        { snapshotDir: directory, logDir: directory },
        databaseOptions,
      )
      const last = world.ledger.get(world.db.lastZxid)
      expect(contentOf(new PastTree(db, db.lastZxid))).toEqual(last)
    }),
    { numRuns: 25 },
  )
})

test('too much history is deleted, oldest first, and the rest is shown correctly or refused', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 0, max: 20_000 }), async (some, retainBytes) => {
      const world = await recorded(some)
      const { disk } = world
      await purged(world)
      const needed = await disk.list(directory)
      await expireHistory(disk, places, { retainBytes, retainMs: Infinity }, 0)
      expect(await disk.list(directory)).toEqual(needed)
      const left = await disk.list(folder)
      expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(retainBytes)
      const history = new History(disk, { places })
      let isShown = false
      for (const [zxid, expected] of world.ledger) {
        const tree = await history.treeAt({ zxid }).catch((error: unknown) => {
          if (!(error instanceof HistoryError)) throw error
          return undefined
        })
        // The past has no gaps: after its beginning nothing is missing.
        if (isShown) expect(tree).toBeDefined()
        if (tree === undefined) continue
        isShown = true
        expect(contentOf(tree)).toEqual(expected)
      }
      expect(isShown).toBe(true)
    }),
    { numRuns: 25 },
  )
})

test('history that is too old is deleted, and on a full disk the older half', async () => {
  const [some] = fc.sample(steps, { numRuns: 1, seed: 7 })
  const world = await recorded(some!)
  const { disk } = world
  await purged(world)
  const size = async (): Promise<number> =>
    (await disk.list(folder)).reduce((sum, { bytes }) => sum + bytes, 0)
  const all = await size()
  const history = new History(disk, { places })
  const { first, last } = await history.extent()
  const middleMs = Math.floor((first!.timeMs + last!.timeMs) / 2)
  await expireHistory(
    disk,
    places,
    { retainBytes: Infinity, retainMs: last!.timeMs - middleMs },
    last!.timeMs,
  )
  const newer = await size()
  expect(newer).toBeLessThan(all)
  expect(newer).toBeGreaterThan(0)
  const extent = await history.extent()
  expect(extent.first!.timeMs).toBeLessThanOrEqual(middleMs)
  while ((await size()) > 0) {
    const before = await size()
    await halveHistory(disk, places)
    expect(await size()).toBeLessThanOrEqual(before / 2)
  }
  await history.treeAt({ zxid: last!.zxid })
})

test('a history that is read while files are moved is the same', async () => {
  const [some] = fc.sample(steps, { numRuns: 1, seed: 11 })
  const expected = await read(await recorded(some!), () => Promise.resolve())
  let wasMoved = 0
  for (let moveBefore = 0; moveBefore < expected.calls; moveBefore++) {
    const world = await recorded(some!)
    const { content } = await read(world, async (call) => {
      if (call === moveBefore) await purged(world)
    })
    expect(content).toEqual(expected.content)
    wasMoved += (await world.disk.list(folder)).length > 0 ? 1 : 0
  }
  expect(wasMoved).toBeGreaterThan(10)

  /** All changes, and the tree in the middle; `before` is told of each listing and opening. */
  async function read(world: RecordedWorld, before: (call: number) => Promise<void>) {
    const { disk, ledger } = world
    let calls = 0
    let isMoving = false
    const told = async (): Promise<void> => {
      if (isMoving) return
      isMoving = true
      await before(calls++)
      isMoving = false
    }
    const list = disk.list.bind(disk)
    const openRead = disk.openRead.bind(disk)
    disk.list = async (path) => {
      await told()
      return list(path)
    }
    disk.openRead = async (path) => {
      await told()
      return openRead(path)
    }
    const history = new History(disk, { places })
    const changes: string[] = []
    const { first, last } = await history.extent()
    await history.forEachChange({ from: first!.zxid, to: last!.zxid }, {}, ({ zxid, path }) => {
      changes.push(`${zxid} ${path}`)
    })
    const zxids = [...ledger.keys()]
    const middle = zxids[Math.floor(zxids.length / 2)]!
    const tree = contentOf(await history.treeAt({ zxid: middle }))
    Object.assign(disk, { list, openRead })
    return { content: { changes, tree }, calls }
  }
})

test('the first snapshot after a break is never superfluous', async () => {
  const world = await recorded(longSteps)
  const { disk } = world
  const all = snapshotsAmong(await disk.list(directory))
  const middle = all[Math.floor(all.length / 2)]!
  await markBreak(disk, places, middle.zxid)
  await purged(world)
  const history = new History(disk, { places })
  const zxid = middle.zxid + 1n
  const expected = world.ledger.get(zxid)
  expect(contentOf(await history.treeAt({ zxid }))).toEqual(expected)
  await expireHistory(disk, places, everything, 0)
  expect(contentOf(await history.treeAt({ zxid }))).toEqual(expected)
})

test('the marks of breaks go with the history before them', async () => {
  const world = await recorded(longSteps)
  const { disk } = world
  const newest = snapshotsAmong(await disk.list(directory)).at(-1)!
  await markBreak(disk, places, 3n)
  await markBreak(disk, places, newest.zxid)
  await purged(world)
  await expireHistory(disk, places, everything, 0)
  const breaksOf = async (): Promise<readonly bigint[]> => (await pastFiles(disk, places)).breaks
  expect(await breaksOf()).toEqual([3n, newest.zxid])
  await expireHistory(disk, places, { retainBytes: 0, retainMs: Infinity }, 0)
  expect((await breaksOf()).every((zxid) => zxid === newest.zxid)).toBe(true)
})

test('the oldest tree is found while it is moved', async () => {
  const world = await recorded(longSteps)
  const { disk } = world
  const history = new History(disk, { places })
  const { oldestTree } = await history.extent()
  const openRead = disk.openRead.bind(disk)
  let isMoved = false
  disk.openRead = async (path) => {
    if (!isMoved && path.includes('/snapshot.')) {
      isMoved = true
      await purged(world)
    }
    return openRead(path)
  }
  expect((await history.extent()).oldestTree).toBe(oldestTree)
  expect(isMoved).toBe(true)
})
