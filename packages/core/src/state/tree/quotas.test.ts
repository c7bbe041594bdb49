import { decodeText, encodeText, type Txn } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Database } from '../database.ts'
import { QuotaLimits } from './quotas.ts'
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
  const numbers = new QuotaLimits(text)
  expect(numbers.get('count')).toBe(count)
  expect(numbers.get('bytes')).toBe(bytes)
  expect(numbers.get('countHardLimit')).toBe(countHardLimit)
  expect(numbers.get('byteHardLimit')).toBe(byteHardLimit)
})

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

  /** Sets a quota as the command-line tool does. */
  limit(path: string, limits: string): void {
    const at = `/zookeeper/quota${path}`
    this.createAll(at)
    this.create(`${at}/zookeeper_limits`, limits)
    this.create(`${at}/zookeeper_stats`, 'count=0,bytes=0')
  }

  /** Creates a node and its missing ancestors. */
  createAll(path: string): void {
    let at = ''
    for (const name of path.slice(1).split('/')) {
      at += `/${name}`
      if (this.db.tree.find(at) === noNode) this.create(at)
    }
  }

  usage(path: string): string | undefined {
    const id = this.db.tree.find(`/zookeeper/quota${path}/zookeeper_stats`)
    const data = id === noNode ? null : this.db.tree.data(id)
    return data === null ? undefined : decodeText(data)
  }
}

test('a new quota counts the existing nodes, whatever its creator wrote', () => {
  const world = new QuotaWorld()
  world.create('/a', '12345')
  world.create('/a/b', '123')
  world.create('/ab', 'not below')
  world.limit('/a', 'count=10,bytes=100')
  expect(world.usage('/a')).toBe('count=2,bytes=8')
})

test('a quota on a missing path counts nothing at first, then what is created', () => {
  const world = new QuotaWorld()
  world.limit('/a', 'count=10,bytes=100')
  expect(world.usage('/a')).toBe('count=0,bytes=0')
  world.create('/a', '12')
  expect(world.usage('/a')).toBe('count=1,bytes=2')
})

test('every change below is counted; null data counts as nothing', () => {
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

test('a change above a soft limit is reported and allowed', () => {
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

test('every quota above a change counts it', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.create('/a/b')
  world.limit('/a', 'count=10,bytes=100')
  world.limit('/a/b', 'count=10,bytes=100')
  world.create('/a/b/c', 'xyz')
  expect(world.usage('/a/b')).toBe('count=2,bytes=3')
  expect(world.usage('/a')).toBe('count=3,bytes=3')
})

test('counting changes no version and no time, fires no watch, and is not in the digest', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100')
  const { tree, watches } = world.db
  const id = tree.find('/zookeeper/quota/a/zookeeper_stats')
  const before = [tree.version(id), tree.mzxid(id), tree.mtime(id)]
  let told = 0
  const watcher = { identities: [], lastFiring: 0, watchWeight: 0, deliver: () => told++ }
  watches.data.add('/zookeeper/quota/a/zookeeper_stats', watcher, 2)
  world.create('/a/b', 'x')
  expect([tree.version(id), tree.mzxid(id), tree.mtime(id)]).toEqual(before)
  expect(tree.dataLength(id)).toBe('count=2,bytes=1'.length)
  expect(told).toBe(0)
})

test('a limit ends with its node, and counting continues while there is a stats node', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100=;countHardLimit=1')
  expect(world.db.quotas.isExceeded('/a/b', 1, 0)).toBe(true)
  world.delete('/zookeeper/quota/a/zookeeper_limits')
  expect(world.db.quotas.isExceeded('/a/b', 1, 0)).toBe(false)
  world.create('/a/b', 'x')
  expect(world.usage('/a')).toBe('count=2,bytes=1')
  world.delete('/zookeeper/quota/a/zookeeper_stats')
  world.create('/a/c', 'x')
  expect(world.db.quotas.hasAny).toBe(false)
})

test('limits that are set again find a current count', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100')
  world.delete('/zookeeper/quota/a/zookeeper_limits')
  world.create('/a/b')
  world.create('/zookeeper/quota/a/zookeeper_limits', 'count=10,bytes=100')
  world.create('/a/c')
  expect(world.usage('/a')).toBe('count=3,bytes=0')
})

test('a count that a client writes is replaced at once', () => {
  const world = new QuotaWorld()
  world.create('/a', '12345')
  world.limit('/a', 'count=10,bytes=100')
  world.set('/zookeeper/quota/a/zookeeper_stats', 'what is this')
  expect(world.usage('/a')).toBe('count=1,bytes=5')
})

test('the root cannot be limited', () => {
  const world = new QuotaWorld()
  world.create('/zookeeper/quota/zookeeper_limits', 'count=1,bytes=1')
  world.create('/zookeeper/quota/zookeeper_stats', 'count=1,bytes=1')
  expect(world.create('/a')).toBe(0)
  expect(world.db.quotas.hasAny).toBe(false)
})

test('invalid content of the stats node does no harm', () => {
  const world = new QuotaWorld()
  world.create('/a')
  world.limit('/a', 'count=10,bytes=100')
  world.set('/zookeeper/quota/a/zookeeper_stats', 'what is this')
  expect(world.create('/a/b', 'x')).toBe(0)
  world.delete('/zookeeper/quota/a/zookeeper_stats')
  expect(world.create('/a/c', 'x')).toBe(0)
})

test('hard limits are compared with committed usage', () => {
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

test('recounting after a restart gives the same as counting step by step', () => {
  const limits = 'zookeeper_limits'
  const stats = 'zookeeper_stats'
  const quotas = ['/a', '/a/b', '/zookeeper', '/zookeeper/quota', '/zookeeper/quota/a']
  const quotaNodes = quotas.flatMap((path) =>
    [limits, stats].map((name) => `/zookeeper/quota${path}/${name}`),
  )
  const steps = fc.array(
    fc.tuple(
      fc.constantFrom('/a', '/a/b', '/a/b/c', '/a/d', '/e', ...quotaNodes),
      fc.constantFrom('create', 'create', 'delete', 'set'),
      fc.string({ maxLength: 8 }),
    ),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(steps, (all) => {
      const world = new QuotaWorld()
      for (const path of quotas) world.createAll(`/zookeeper/quota${path}`)
      const { tree } = world.db
      for (const [path, what, text] of all) {
        const id = tree.find(path)
        if (what === 'create' && id === noNode) world.create(path, text)
        else if (what === 'set') world.set(path, text)
        else if (what === 'delete' && id !== noNode && tree.childCount(id) === 0) world.delete(path)
      }
      const before = quotas.map((path) => world.usage(path))
      const report = [...world.db.quotas.report()]
      world.db.quotas.rebuild()
      expect(quotas.map((path) => world.usage(path))).toEqual(before)
      const inOrder = (found: typeof report): typeof report =>
        found.toSorted((one, other) => one.path.localeCompare(other.path))
      expect(inOrder([...world.db.quotas.report()])).toEqual(inOrder(report))
    }),
    { numRuns: 500 },
  )
})

test('a tree of any depth can be counted', () => {
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
