import { decodeText, encodeText, type Txn } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Database } from '../database.ts'
import { QuotaNumbers } from './quotas.ts'
import { noNode } from './tree.ts'

// --- the text ------------------------------------------------------------------------------------

test.each([
  ['count=3,bytes=20', 3, 20, -1, -1],
  ['count=3,bytes=20=;byteHardLimit=30;countHardLimit=5', 3, 20, 5, 30],
  ['bytes=7', -1, 7, -1, -1],
  ['count=,bytes=1', -1, 1, -1, -1],
  ['count', -1, -1, -1, -1],
  ['', -1, -1, -1, -1],
  [',,;;count=2;;', 2, -1, -1, -1],
  ['count=many,bytes=1e999', -1, -1, -1, -1],
])('%j is understood', (text, count, bytes, countHardLimit, byteHardLimit) => {
  const numbers = new QuotaNumbers(text)
  expect(numbers.get('count')).toBe(count)
  expect(numbers.get('bytes')).toBe(bytes)
  expect(numbers.get('countHardLimit')).toBe(countHardLimit)
  expect(numbers.get('byteHardLimit')).toBe(byteHardLimit)
})

test.each(['count=3,bytes=20', 'count=3,bytes=20=;byteHardLimit=30;countHardLimit=5'])(
  '%j is written as it was read',
  (text) => {
    expect(new QuotaNumbers(text).toString()).toBe(text)
  },
)

// --- what the server does ------------------------------------------------------------------------

const open = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

class QuotaWorld {
  readonly db = new Database({
    extendedTypes: true,
    digests: true,
    hashSeed: 1,
    acl: { skipAcl: false, schemes: new Set() },
  })
  private zxid = 0n

  constructor() {
    this.db.createSystemNodes()
  }

  apply(txn: Txn): number {
    const zxid = ++this.zxid
    return this.db.apply({ clientId: 1n, cxid: 1, zxid, time: 1000n, type: txn.type }, txn)
  }

  create(path: string, text: string | null = ''): number {
    const data = text === null ? null : encodeText(text)
    const body = { path, data, acl: open, ephemeral: false, parentCVersion: -1 }
    return this.apply({ type: 1, body })
  }

  delete(path: string): number {
    return this.apply({ type: 2, body: { path } })
  }

  set(path: string, text: string, version = 1): number {
    return this.apply({ type: 5, body: { path, data: encodeText(text), version } })
  }

  /** A quota, as the command line tool sets it. */
  limit(path: string, limits: string): void {
    let at = '/zookeeper/quota'
    for (const name of path.slice(1).split('/')) {
      at += `/${name}`
      if (this.db.tree.find(at) === noNode) this.create(at)
    }
    this.create(`${at}/zookeeper_limits`, limits)
    this.create(`${at}/zookeeper_stats`, 'count=0,bytes=0')
  }

  usage(path: string): string | undefined {
    const id = this.db.tree.find(`/zookeeper/quota${path}/zookeeper_stats`)
    const data = id === noNode ? null : this.db.tree.data(id)
    return data === null ? undefined : decodeText(data)
  }
}

test('a new quota counts what is there already, whatever its creator wrote', () => {
  const world = new QuotaWorld()
  world.create('/a', '12345')
  world.create('/a/b', '123')
  world.create('/ab', 'not below')
  world.limit('/a', 'count=10,bytes=100')
  expect(world.usage('/a')).toBe('count=2,bytes=8')
})

test('a quota on a path that is not there yet counts nothing, then what comes', () => {
  const world = new QuotaWorld()
  world.limit('/a', 'count=10,bytes=100')
  expect(world.usage('/a')).toBe('count=0,bytes=0')
  world.create('/a', '12')
  expect(world.usage('/a')).toBe('count=1,bytes=2')
})

test('every change below is counted, and null data as nothing', () => {
  const world = new QuotaWorld()
  world.create('/a', '12345')
  world.limit('/a', 'count=10,bytes=100')
  world.create('/a/b', '123')
  expect(world.usage('/a')).toBe('count=2,bytes=8')
  world.create('/a/c', null)
  expect(world.usage('/a')).toBe('count=3,bytes=8')
  world.set('/a/b', '1234567')
  expect(world.usage('/a')).toBe('count=3,bytes=12')
  world.delete('/a/b')
  expect(world.usage('/a')).toBe('count=2,bytes=5')
})

test('a change above a soft limit is told, and allowed', () => {
  const world = new QuotaWorld()
  const told: unknown[] = []
  world.db.quotas.onExceeded = (excess) => told.push(excess)
  world.create('/q')
  world.limit('/q', 'count=1,bytes=3')
  world.create('/q/a', 'four')
  expect(told).toEqual([
    { path: '/q', what: 'count', used: 2, limit: 1 },
    { path: '/q', what: 'bytes', used: 4, limit: 3 },
  ])
})

test('only the deepest quota above a change is kept up', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.create('/a/b')
  world.limit('/a', 'count=10,bytes=100')
  world.limit('/a/b', 'count=10,bytes=100')
  world.create('/a/b/c', 'xyz')
  expect(world.usage('/a/b')).toBe('count=2,bytes=3')
  expect(world.usage('/a')).toBe('count=2,bytes=0')
})

test('counting touches neither versions nor times, fires no watch, and is no part of the digest', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100')
  const { tree, watches } = world.db
  const id = tree.find('/zookeeper/quota/a/zookeeper_stats')
  const before = [tree.version(id), tree.mzxid(id), tree.mtime(id)]
  let told = 0
  const watcher = { identities: [], lastFiring: 0, deliver: () => told++ }
  watches.data.add('/zookeeper/quota/a/zookeeper_stats', watcher, 2)
  world.create('/a/b', 'x')
  expect([tree.version(id), tree.mzxid(id), tree.mtime(id)]).toEqual(before)
  expect(tree.dataLength(id)).toBe('count=2,bytes=1'.length)
  expect(told).toBe(0)
})

test('a quota ends with its limits', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100')
  world.delete('/zookeeper/quota/a/zookeeper_limits')
  world.create('/a/b', 'x')
  expect(world.usage('/a')).toBe('count=1,bytes=0')
  expect(world.db.quotas.hasAny).toBe(false)
})

test('the root cannot be limited', () => {
  const world = new QuotaWorld()
  world.create('/zookeeper/quota/zookeeper_limits', 'count=1,bytes=1')
  world.create('/zookeeper/quota/zookeeper_stats', 'count=1,bytes=1')
  expect(world.create('/a')).toBe(0)
  expect(world.db.quotas.hasAny).toBe(false)
})

test('nonsense in the stats node harms nobody', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100')
  world.set('/zookeeper/quota/a/zookeeper_stats', 'what is this')
  expect(world.create('/a/b', 'x')).toBe(0)
  world.delete('/zookeeper/quota/a/zookeeper_stats')
  expect(world.create('/a/c', 'x')).toBe(0)
})

test('hard limits are compared with what is committed', () => {
  const world = new QuotaWorld()
  world.create('/a', '12345')
  world.limit('/a', 'count=-1,bytes=-1=;byteHardLimit=8;countHardLimit=2')
  const { quotas } = world.db
  expect(quotas.isExceeded('/a/b', 1, 3)).toBe(false)
  expect(quotas.isExceeded('/a/b', 1, 4)).toBe(true)
  expect(quotas.isExceeded('/a', 0, 3)).toBe(false)
  expect(quotas.isExceeded('/a', 0, 4)).toBe(true)
  world.create('/a/b')
  expect(quotas.isExceeded('/a/c', 1, 0)).toBe(true)
  expect(quotas.isExceeded('/a/b', 0, 1)).toBe(false)
  expect(quotas.isExceeded('/other', 1, 1000)).toBe(false)
})

test('a write that shrinks but stays above the limit is refused, one of equal length is not', () => {
  const world = new QuotaWorld()
  world.create('/a', '1234567890')
  world.limit('/a', 'count=-1,bytes=-1=;byteHardLimit=5')
  expect(world.db.quotas.isExceeded('/a', 0, -1)).toBe(true)
  expect(world.db.quotas.isExceeded('/a', 0, -5)).toBe(false)
  expect(world.db.quotas.isExceeded('/a', 0, 0)).toBe(false)
})

test('soft limits refuse nothing', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=1,bytes=1')
  expect(world.db.quotas.isExceeded('/a/b', 1, 1000)).toBe(false)
})

test('counting anew after a restart gives what was counted step by step', () => {
  const steps = fc.array(
    fc.tuple(
      fc.constantFrom('/a', '/a/b', '/a/b/c', '/a/d', '/e'),
      fc.constantFrom('create', 'delete', 'set'),
      fc.string({ maxLength: 8 }),
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(steps, (all) => {
      const world = new QuotaWorld()
      world.limit('/a', 'count=10,bytes=100')
      const { tree, quotas } = world.db
      for (const [path, what, text] of all) {
        const id = tree.find(path)
        if (what === 'create') world.create(path, text)
        else if (what === 'set') world.set(path, text)
        else if (id !== noNode && tree.childCount(id) === 0) world.delete(path)
      }
      const usage = world.usage('/a')
      quotas.rebuild()
      expect(world.usage('/a')).toBe(usage)
      expect([...quotas.report()].map(({ path }) => path)).toEqual(['/a'])
    }),
  )
})

test('however deep a tree is, it can be counted', () => {
  const world = new QuotaWorld()
  const { tree } = world.db
  const made = { data: encodeText('x'), aclId: -1, owner: 0n, zxid: 1n, time: 1n }
  const depth = 8_000
  let id = tree.find('/')
  let path = ''
  for (let i = 0; i < depth; i++) id = tree.insert((path += '/d'), id, made)
  world.limit('/d', 'count=1,bytes=1')
  expect(world.usage('/d')).toBe(`count=${depth},bytes=${depth}`)
  world.db.quotas.rebuild()
})
