import { decodeText, TxnHeader, writeTxnBody, type Acl } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  apacheSnapshot,
  zabraSnapshot,
  type SnapshotPieces,
} from '../../test/support/fuzzy-snapshots.ts'
import { anyStep, World, type Step } from '../../test/support/world.ts'
import type { Database } from '../state/database.ts'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { snapshotName } from '../storage/disk/files.ts'
import { LogBatch } from '../storage/log/log-batch.ts'
import { TxnLog } from '../storage/log/txn-log.ts'
import { subtreeAt } from './selection.ts'
import { changesOf, type Change } from './change.ts'
import { passes } from './filter.ts'
import { History } from './history.ts'
import { PastTree } from './past-tree.ts'

const directory = 'data/version-2'
const places = { logDir: directory, snapshotDir: directory }

/** A node as both a ledger and the past have it. */
interface Noted {
  readonly data: string | null
  readonly acl: readonly Acl[]
  readonly kind: string
  readonly stat: object
}

function contentOf(tree: PastTree, top = '/'): Map<string, Noted> {
  const content = new Map<string, Noted>()
  for (const { path, data, acl, kind, stat } of tree.walk(top))
    content.set(path, { data: data && decodeText(data), acl, kind, stat })
  return content
}

/** What is used of a quota is counted by each server, and only where it has the whole tree. */
function withoutUsage(content: Iterable<[string, Noted]>): Map<string, Noted> {
  return new Map(
    Array.from(content, ([path, node]) =>
      path.endsWith('/zookeeper_stats')
        ? [path, { ...node, data: '', stat: { ...node.stat, dataLength: 0 } }]
        : [path, node],
    ),
  )
}

/** A world whose log and snapshots are in files, with a ledger of every state it was in. */
class RecordedWorld {
  readonly disk = new MemoryDisk()
  readonly world = new World()
  readonly ledger = new Map<bigint, Map<string, Noted>>()
  private logged = 0
  private log = this.newLog()
  private snapshot: { readonly zxid: bigint; readonly pieces: SnapshotPieces } | undefined
  private readonly write: (db: Database) => SnapshotPieces

  constructor(write: (db: Database) => SnapshotPieces) {
    this.write = write
    this.note()
  }

  get db(): Database {
    return this.world.db
  }

  private newLog(): TxnLog {
    return new TxnLog(this.disk, { directory, preAllocBytes: 0, lastZxid: this.world.db.lastZxid })
  }

  async start(): Promise<void> {
    await this.disk.makeDirectory(directory)
    this.beginSnapshot()
    await this.endSnapshot()
    this.world.do({ op: 'begin', session: 1n })
    await this.logAll()
    this.world.do({ op: 'begin', session: 2n })
    await this.logAll()
  }

  async do(step: Step): Promise<void> {
    if (step.op === 'write') {
      if (this.snapshot === undefined) {
        await this.roll()
        this.beginSnapshot()
      } else if (this.snapshot.pieces.next().done === true) {
        this.beginSnapshot()
        await this.endSnapshot()
      }
      return
    }
    this.world.do(step)
    await this.logAll()
  }

  async end(): Promise<void> {
    await this.endSnapshot()
    await this.log.close()
  }

  private note(): void {
    this.ledger.set(this.db.lastZxid, contentOf(new PastTree(this.db, this.db.lastZxid)))
  }

  private async logAll(): Promise<void> {
    for (const { header, txn } of this.world.log.slice(this.logged)) {
      const batch = new LogBatch()
      batch.begin()
      TxnHeader.write(batch.writer, header)
      writeTxnBody(batch.writer, txn)
      batch.writer.int(2)
      batch.writer.long(BigInt.asIntN(64, this.db.tree.digest.value))
      batch.end(header.zxid)
      await this.log.append(batch)
      this.note()
    }
    this.logged = this.world.log.length
  }

  private async roll(): Promise<void> {
    await this.log.close()
    this.log = this.newLog()
  }

  private beginSnapshot(): void {
    this.snapshot = { zxid: this.db.lastZxid, pieces: this.write(this.db) }
  }

  private async endSnapshot(): Promise<void> {
    if (this.snapshot === undefined) return
    const { zxid, pieces } = this.snapshot
    this.snapshot = undefined
    let piece = pieces.next()
    while (piece.done !== true) piece = pieces.next()
    const file = await this.disk.create(`${directory}/${snapshotName(zxid)}`)
    await file.write(piece.value, 0)
    await file.close()
  }
}

test.each([
  ['zabra', zabraSnapshot],
  ['Apache', apacheSnapshot],
] as const)(
  'the tree as of every transaction is the one that there was, from snapshots of %s',
  async (_, write) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { maxLength: 150, size: 'max' }),
        fc.constantFrom('/a', '/a/b', '/a/b/c', '/zookeeper/quota/a'),
        async (steps, top) => {
          const recorded = new RecordedWorld(write)
          await recorded.start()
          for (const step of steps) await recorded.do(step)
          await recorded.end()
          const history = new History(recorded.disk, { places, keepsIndexes: true })
          for (const [zxid, expected] of recorded.ledger) {
            const tree = await history.treeAt({ zxid })
            expect(contentOf(tree)).toEqual(expected)
            expect(tree.isVerified).not.toBe(false)
            const part = await history.treeAt({ zxid }, subtreeAt(top, true))
            const below = [...expected].filter(
              ([path]) => path === top || path.startsWith(`${top}/`),
            )
            expect(withoutUsage(contentOf(part, top))).toEqual(withoutUsage(below))
          }
        },
      ),
      { numRuns: 40 },
    )
  },
)

const keyOf = ({ zxid, part, kind, path }: Change): string => `${zxid} ${part} ${kind} ${path}`

test('pages of changes, from either end, are together every change that there was', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { maxLength: 150, size: 'max' }),
      fc.constantFrom(undefined, '/', '/a', '/a/b', '/a/b/c'),
      fc.boolean(),
      fc.integer({ min: 1, max: 20 }),
      async (steps, path, isExact, limit) => {
        const recorded = new RecordedWorld(zabraSnapshot)
        await recorded.start()
        for (const step of steps) await recorded.do(step)
        await recorded.end()
        const history = new History(recorded.disk, { places, keepsIndexes: true, blockBytes: 300 })
        const filter = { path, isExact }
        const all: string[] = []
        await history.forEachChange(await history.range(undefined, undefined), filter, (change) => {
          all.push(keyOf(change))
        })
        const expected: string[] = []
        for (const { header, txn } of recorded.world.log) {
          for (const change of changesOf(header, txn))
            if (passes(change, filter)) expected.push(keyOf(change))
        }
        expect(all).toEqual(expected)
        for (const isOldestFirst of [true, false]) {
          let range = await history.range(undefined, undefined)
          const found: string[] = []
          for (;;) {
            const page = await history.page(range, filter, { limit, isOldestFirst })
            found.push(...page.changes.map(keyOf))
            if (page.next === undefined) break
            range = isOldestFirst ? { ...range, from: page.next } : { ...range, to: page.next }
          }
          expect(found).toEqual(isOldestFirst ? expected : expected.toReversed())
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('the difference between two points is that of the two trees', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 20, maxLength: 150, size: 'max' }),
      fc.constantFrom('/', '/a', '/a/b'),
      fc.nat(),
      fc.nat(),
      async (steps, top, one, other) => {
        const recorded = new RecordedWorld(zabraSnapshot)
        await recorded.start()
        for (const step of steps) await recorded.do(step)
        await recorded.end()
        const zxids = [...recorded.ledger.keys()]
        const [from, to] = [one, other]
          .map((at) => zxids[at % zxids.length]!)
          .toSorted((a, b) => (a < b ? -1 : 1)) as [bigint, bigint]
        const history = new History(recorded.disk, { places, blockBytes: 300 })
        const found = await history.compare({ zxid: from }, { zxid: to }, top)
        const [before, after] = [recorded.ledger.get(from)!, recorded.ledger.get(to)!]
        const expected = [...new Set([...before.keys(), ...after.keys()])]
          .filter((path) => path === top || path.startsWith(top === '/' ? '/' : `${top}/`))
          .filter((path) => !path.endsWith('/zookeeper_stats'))
          .filter((path) => isDifferent(before.get(path), after.get(path)))
          .toSorted()
        const paths = found.map(({ path }) => path)
        expect(paths.filter((path) => !path.endsWith('/zookeeper_stats'))).toEqual(expected)
      },
    ),
    { numRuns: 60 },
  )
})

function isDifferent(before: Noted | undefined, after: Noted | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after
  const czxidOf = ({ stat }: Noted): unknown => (stat as { czxid: bigint }).czxid
  return (
    before.data !== after.data ||
    JSON.stringify(before.acl) !== JSON.stringify(after.acl) ||
    czxidOf(before) !== czxidOf(after)
  )
}
