import fc from 'fast-check'
import { expect, test } from 'vitest'
import { apacheSnapshot, zabraSnapshot } from '../../test/support/fuzzy-snapshots.ts'
import { contentOf, places, RecordedWorld, type Noted } from '../../test/support/recorded-world.ts'
import { anyStep } from '../../test/support/world.ts'
import { changesOf, type Change } from './change.ts'
import { passes } from './filter.ts'
import { History } from './history.ts'
import { nodeAt, subtreeAt } from './selection.ts'

/** Leaves out quota usage: each server counts it by itself, and only if it has the whole tree. */
function withoutUsage(content: Iterable<[string, Noted]>): Map<string, Noted> {
  return new Map(
    Array.from(content, ([path, node]) =>
      path.endsWith('/zookeeper_stats')
        ? [path, { ...node, data: '', stat: { ...node.stat, dataLength: 0 } }]
        : [path, node],
    ),
  )
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
            // Alone, a znode has the same stat, with its children counted.
            const alone = await history.treeAt({ zxid }, nodeAt(top))
            expect(alone.node(top)?.stat).toEqual(expected.get(top)?.stat)
          }
        },
      ),
      { numRuns: 40 },
    )
  },
)

const keyOf = ({ zxid, part, kind, path }: Change): string => `${zxid} ${part} ${kind} ${path}`

test('pages of changes, from either end, together contain every change', async () => {
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

test('transactions are counted by their time, wherever the blocks of the index end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { maxLength: 150, size: 'max' }),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(300, 2000, 1_000_000),
      fc.nat(),
      fc.nat(),
      async (steps, count, blockBytes, one, other) => {
        const recorded = new RecordedWorld(zabraSnapshot)
        await recorded.start()
        for (const step of steps) await recorded.do(step)
        await recorded.end()
        const times = recorded.world.log.map(({ header }) => Number(header.time))
        const [fromMs, toMs] = [one, other]
          .map((at) => times[at % times.length]!)
          .toSorted((a, b) => a - b) as [number, number]
        const history = new History(recorded.disk, { places, blockBytes })
        const width = Math.max(1, toMs - fromMs) / count
        const expected = Array.from({ length: count }, () => 0)
        for (const time of times) {
          if (time < fromMs || time > toMs) continue
          expected[Math.min(count - 1, Math.floor((time - fromMs) / width))]!++
        }
        expect(await history.density({ fromMs, toMs, count })).toEqual(expected)
      },
    ),
    { numRuns: 60 },
  )
})

test('the difference between two points equals that of the two trees', async () => {
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
