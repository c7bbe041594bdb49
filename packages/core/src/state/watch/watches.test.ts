import {
  eventTypes,
  parentOf,
  ReplyHeader,
  Reader,
  WatcherEvent,
  type Acl,
  type Id,
} from '@zabra/protocol'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { AclTable } from '../acl/acl-table.ts'
import { watchModes } from './watch-table.ts'
import { Watches, type Watcher } from './watches.ts'

const { standard, persistent, recursive } = watchModes
const { nodeCreated, nodeDeleted, nodeDataChanged, nodeChildrenChanged } = eventTypes
const { open } = new AclTable()
const bobOnly = new AclTable().intern([
  { perms: 31, id: { scheme: 'digest', id: 'bob:h' } },
] satisfies Acl[])

type Told = [type: number, path: string, zxid: bigint]

class TestWatcher implements Watcher {
  lastFiring = 0
  watchWeight = 0
  readonly told: Told[] = []
  readonly identities: readonly Id[]

  constructor(identities: readonly Id[] = []) {
    this.identities = identities
  }

  deliver(frame: Uint8Array): void {
    const reader = new Reader(frame)
    expect(reader.int()).toBe(frame.length - 4)
    const { xid, zxid, err } = ReplyHeader.read(reader)
    const { type, state, path } = WatcherEvent.read(reader)
    expect([xid, err, state, reader.remaining]).toEqual([-1, 0, 3, 0])
    this.told.push([type, path, zxid])
  }
}

let watches: Watches
let ann: TestWatcher
beforeEach(() => {
  watches = new Watches({ skipAcl: false, schemes: new Set(['digest']) })
  ann = new TestWatcher()
})

/** The events that a connection received since the last call, without zxids. */
function told(watcher: TestWatcher): [type: number, path: string][] {
  return watcher.told.splice(0).map(([type, path]) => [type, path])
}

test('a notification is the frame that clients expect', () => {
  const frames: Uint8Array[] = []
  const watcher: Watcher = {
    identities: [],
    lastFiring: 0,
    watchWeight: 0,
    deliver: (f) => frames.push(f.slice()),
  }
  watches.data.add('/a', watcher, standard)
  watches.dataChanged('/a', 0x48n, open)
  expect(frames.map((frame) => Buffer.from(frame).toString('hex'))).toEqual([
    '0000001effffffff0000000000000048000000000000000300000003000000022f61',
  ])
})

test('a one-shot watch fires once', () => {
  watches.data.add('/a', ann, standard)
  watches.dataChanged('/a', 1n, open)
  watches.dataChanged('/a', 2n, open)
  expect(ann.told).toEqual([[nodeDataChanged, '/a', 1n]])
  expect(watches.count).toBe(0)
})

test('a create notifies the watchers of the path, then those of its parent', () => {
  watches.data.add('/a/b', ann, standard)
  watches.children.add('/a', ann, standard)
  watches.created('/a/b', 7n, open, open)
  expect(ann.told).toEqual([
    [nodeCreated, '/a/b', 7n],
    [nodeChildrenChanged, '/a', 7n],
  ])
})

test('the parent of a top-level node is the root', () => {
  watches.children.add('/', ann, standard)
  watches.created('/a', 1n, open, open)
  expect(told(ann)).toEqual([[nodeChildrenChanged, '/']])
})

test('a delete notifies a connection once, however many watches it has on the node', () => {
  watches.data.add('/a/b', ann, standard)
  watches.children.add('/a/b', ann, standard)
  watches.children.add('/a', ann, standard)
  const other = new TestWatcher()
  watches.children.add('/a/b', other, standard)
  watches.deleted('/a/b', 1n, open, open)
  expect(told(ann)).toEqual([
    [nodeDeleted, '/a/b'],
    [nodeChildrenChanged, '/a'],
  ])
  expect(told(other)).toEqual([[nodeDeleted, '/a/b']])
  expect(watches.count).toBe(0)
})

test('a child watch does not fire for data or grandchildren', () => {
  watches.children.add('/a', ann, standard)
  watches.dataChanged('/a', 1n, open)
  watches.dataChanged('/a/b', 1n, open)
  watches.created('/a/b/c', 1n, open, open)
  expect(told(ann)).toEqual([])
})

test('a persistent watch fires for all four kinds of events, again and again', () => {
  watches.data.add('/a', ann, persistent)
  watches.children.add('/a', ann, persistent)
  for (let round = 0; round < 2; round++) {
    watches.created('/a', 1n, open, open)
    watches.dataChanged('/a', 2n, open)
    watches.created('/a/b', 3n, open, open)
    watches.deleted('/a/b', 4n, open, open)
    watches.deleted('/a', 5n, open, open)
    expect(told(ann)).toEqual([
      [nodeCreated, '/a'],
      [nodeDataChanged, '/a'],
      [nodeChildrenChanged, '/a'],
      [nodeChildrenChanged, '/a'],
      [nodeDeleted, '/a'],
    ])
  }
})

test('a recursive watch fires for everything below, but never for lists of children', () => {
  watches.data.add('/a', ann, recursive)
  watches.created('/a', 1n, open, open)
  watches.created('/a/b', 2n, open, open)
  watches.created('/a/b/c', 3n, open, open)
  watches.dataChanged('/a/b/c', 4n, open)
  watches.deleted('/a/b/c', 5n, open, open)
  watches.created('/ab', 6n, open, open)
  expect(told(ann)).toEqual([
    [nodeCreated, '/a'],
    [nodeCreated, '/a/b'],
    [nodeCreated, '/a/b/c'],
    [nodeDataChanged, '/a/b/c'],
    [nodeDeleted, '/a/b/c'],
  ])
})

test('a recursive watch on the root fires for every node', () => {
  watches.data.add('/', ann, recursive)
  watches.dataChanged('/', 1n, open)
  watches.created('/x/y/z', 2n, open, open)
  expect(told(ann)).toEqual([
    [nodeDataChanged, '/'],
    [nodeCreated, '/x/y/z'],
  ])
})

test('overlapping watches of one connection give one event for each change', () => {
  for (const path of ['/', '/a', '/a/b']) watches.data.add(path, ann, recursive)
  watches.data.add('/a/b', ann, persistent)
  watches.data.add('/a/b', ann, standard)
  watches.dataChanged('/a/b', 1n, open)
  expect(told(ann)).toEqual([[nodeDataChanged, '/a/b']])
})

test('modes on one path coexist, and only the one-shot mode is used up', () => {
  watches.data.add('/a', ann, persistent)
  watches.data.add('/a', ann, standard)
  watches.data.add('/a', ann, recursive)
  expect(watches.data.modes('/a', ann)).toBe(standard | persistent | recursive)
  watches.dataChanged('/a', 1n, open)
  expect(watches.data.modes('/a', ann)).toBe(persistent | recursive)
  expect(watches.data.remove('/a', ann, persistent)).toBe(true)
  expect(watches.data.remove('/a', ann, persistent)).toBe(false)
  watches.dataChanged('/a/b', 2n, open)
  expect(told(ann)).toHaveLength(2)
})

test('a client that may not read the node gets no event, and its one-shot watch is used up', () => {
  const bob = new TestWatcher([{ scheme: 'digest', id: 'bob:h' }])
  for (const watcher of [ann, bob]) {
    watches.data.add('/a', watcher, standard)
    watches.children.add('/', watcher, standard)
  }
  watches.deleted('/a', 1n, bobOnly, open)
  expect(told(bob)).toEqual([
    [nodeDeleted, '/a'],
    [nodeChildrenChanged, '/'],
  ])
  expect(told(ann)).toEqual([[nodeChildrenChanged, '/']])
  expect(watches.count).toBe(0)
})

test('the ACL of the parent decides who gets an event about its children', () => {
  watches.data.add('/a/b', ann, standard)
  watches.children.add('/a', ann, standard)
  watches.created('/a/b', 1n, open, bobOnly)
  expect(told(ann)).toEqual([[nodeCreated, '/a/b']])
  expect(watches.count).toBe(0)
})

test('watches end with their connection', () => {
  const other = new TestWatcher()
  for (const watcher of [ann, other]) {
    watches.data.add('/a', watcher, persistent)
    watches.data.add('/b', watcher, recursive)
    watches.children.add('/a', watcher, standard)
  }
  watches.dropWatcher(ann)
  watches.dropWatcher(ann)
  watches.dataChanged('/a', 1n, open)
  watches.dataChanged('/b/c', 1n, open)
  expect(told(ann)).toEqual([])
  expect(told(other)).toHaveLength(2)
  watches.dropWatcher(other)
  expect(watches.count).toBe(0)
  expect(watches.data.hasRecursive).toBe(false)
})

test('a missed event carries no zxid and reaches one connection only', () => {
  const other = new TestWatcher()
  watches.data.add('/a', other, persistent)
  watches.catchUp(ann, nodeDeleted, '/a')
  watches.catchUp(ann, nodeCreated, '/b')
  watches.dataChanged('/a', 5n, open)
  expect(ann.told).toEqual([
    [nodeDeleted, '/a', -1n],
    [nodeCreated, '/b', -1n],
  ])
  expect(other.told).toEqual([[nodeDataChanged, '/a', 5n]])
})

test('all watchers get the same bytes, and all are counted', () => {
  const many = Array.from({ length: 50 }, () => new TestWatcher())
  for (const watcher of many) watches.data.add('/a', watcher, standard)
  watches.dataChanged('/a', 9n, open)
  for (const watcher of many) expect(watcher.told).toEqual([[nodeDataChanged, '/a', 9n]])
  expect(watches.delivered).toBe(50)
})

// --- against the rules, written down as plainly as possible --------------------------------------

interface ModelWatch {
  who: number
  table: 'data' | 'child'
  path: string
  mode: number
}

class ModelWatches {
  list: ModelWatch[] = []

  add(watch: ModelWatch): void {
    const same = (other: ModelWatch): boolean => JSON.stringify(other) === JSON.stringify(watch)
    if (!this.list.some(same)) this.list.push(watch)
  }

  /** The watchers that an event notifies; `already` are those that it notified before. */
  fire(table: 'data' | 'child', path: string, already: ReadonlySet<number>): Set<number> {
    const ancestors = [path]
    for (let at = path; at !== '/';) ancestors.push((at = parentOf(at)))
    const matching = this.list.filter(
      (watch) =>
        watch.table === table &&
        (watch.path === path ||
          (table === 'data' && watch.mode === recursive && ancestors.includes(watch.path))),
    )
    this.list = this.list.filter(
      (watch) => !matching.includes(watch) || watch.mode !== standard || watch.path !== path,
    )
    return new Set(matching.map(({ who }) => who).filter((who) => !already.has(who)))
  }
}

test('any mix of watches and changes gives the events that the rules require', () => {
  const paths = ['/', '/a', '/a/b', '/a/b/c', '/d']
  const path = fc.constantFrom(...paths)
  const who = fc.integer({ min: 0, max: 2 })
  const watch = fc.oneof(
    fc.record({
      who,
      table: fc.constantFrom('data' as const, 'child' as const),
      path,
      mode: fc.constantFrom(standard, persistent),
    }),
    fc.record({ who, table: fc.constant('data' as const), path, mode: fc.constant(recursive) }),
  )
  const change = fc.record({ what: fc.constantFrom('created', 'deleted', 'dataChanged'), path })
  const steps = fc.array(
    fc.oneof({ weight: 2, arbitrary: watch }, change, fc.record({ drop: who })),
    {
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(steps, (all) => {
      const real = new Watches({ skipAcl: false, schemes: new Set() })
      const model = new ModelWatches()
      const watchers = [0, 1, 2].map(() => new TestWatcher())
      const expected: Told[][] = [[], [], []]
      for (const [i, step] of all.entries()) {
        const zxid = BigInt(i + 1)
        if ('drop' in step) {
          real.dropWatcher(watchers[step.drop]!)
          model.list = model.list.filter((each) => each.who !== step.drop)
        } else if ('table' in step) {
          const table = step.table === 'data' ? real.data : real.children
          table.add(step.path, watchers[step.who]!, step.mode)
          model.add({ who: step.who, table: step.table, path: step.path, mode: step.mode })
        } else {
          const tell = (type: number, at: string, whom: ReadonlySet<number>): void => {
            for (const each of whom) expected[each]!.push([type, at, zxid])
          }
          if (step.path === '/' && step.what !== 'dataChanged') continue
          const none = new Set<number>()
          if (step.what === 'dataChanged') {
            real.dataChanged(step.path, zxid, open)
            tell(nodeDataChanged, step.path, model.fire('data', step.path, none))
            continue
          }
          const type = step.what === 'created' ? nodeCreated : nodeDeleted
          if (step.what === 'created') real.created(step.path, zxid, open, open)
          else real.deleted(step.path, zxid, open, open)
          const first = model.fire('data', step.path, none)
          tell(type, step.path, first)
          if (type === nodeDeleted) tell(type, step.path, model.fire('child', step.path, first))
          const parent = parentOf(step.path)
          tell(nodeChildrenChanged, parent, model.fire('child', parent, none))
        }
      }
      expect(watchers.map((watcher) => watcher.told)).toEqual(expected)
      const pairs = new Set(model.list.map((each) => `${each.who} ${each.table} ${each.path}`))
      expect(real.count).toBe(pairs.size)
      expect(real.data.hasRecursive).toBe(model.list.some(({ mode }) => mode === recursive))
    }),
    { numRuns: 300 },
  )
})

test('watches can be listed by path and by watcher', () => {
  const other = new TestWatcher()
  watches.data.add('/a', ann, standard)
  watches.data.add('/a', other, standard)
  watches.data.add('/b', ann, persistent)
  expect([...watches.data.paths()]).toEqual([
    ['/a', [ann, other]],
    ['/b', [ann]],
  ])
  expect([...watches.data.watchers()].map(([who, paths]) => [who, [...paths]])).toEqual([
    [ann, ['/a', '/b']],
    [other, ['/a']],
  ])
  expect([watches.data.pathCount, watches.data.watcherCount, watches.data.size]).toEqual([2, 2, 3])
})
