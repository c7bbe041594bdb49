import { OperationError, type Client } from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { TreeCache, type TreeChange } from './tree-cache.ts'

const fixture = useServer()

const textOf = (data: Uint8Array): string => Buffer.from(data).toString()
const brief = (changes: readonly TreeChange[]): string[] =>
  changes.map(({ type, path }) => `${type} ${path}`)

/** The content of the cache, and of the server. */
function shown(cache: TreeCache): Record<string, string> {
  return Object.fromEntries(
    [...cache].map(({ path, data, stat }) => [path, `${stat.czxid} ${stat.mzxid} ${textOf(data)}`]),
  )
}

async function there(client: Client, path: string): Promise<Record<string, string>> {
  const { data, stat } = await client.get(path)
  const children = (await client.children(path)).toSorted()
  const below = await Promise.all(children.map((name) => there(client, `${path}/${name}`)))
  const own = { [path]: `${stat.czxid} ${stat.mzxid} ${textOf(data)}` }
  return Object.assign(own, ...below) as Record<string, string>
}

async function open(client: Client, path: string): Promise<TreeCache> {
  const cache = await TreeCache.open(client, path)
  onTestFinished(() => cache.close())
  return cache
}

test('a cache starts complete, with parents before children', async () => {
  const client = await fixture.open()
  await client.ensure('/begin/b/c')
  await client.ensure('/begin/a')
  await client.set('/begin/b/c', 'deep')
  const cache = await open(client, '/begin')
  expect([...cache].map(({ path }) => path)).toEqual([
    '/begin',
    '/begin/a',
    '/begin/b',
    '/begin/b/c',
  ])
  expect(cache.size).toBe(4)
  expect(cache.children('/begin')).toEqual(['a', 'b'])
  expect(textOf(cache.get('/begin/b/c')!.data)).toBe('deep')
  expect(cache.get('/begin/none')).toBeUndefined()
  expect(cache.isLive).toBe(true)
})

test('a cache of a missing tree is empty, and sees it come and go', async () => {
  const client = await fixture.open()
  const cache = await open(client, '/later')
  expect(cache.size).toBe(0)
  await client.ensure('/later/x')
  await cache.sync()
  expect(shown(cache)).toEqual(await there(client, '/later'))
  await client.deleteTree('/later')
  await cache.sync()
  expect([cache.size, cache.children('/later')]).toEqual([0, []])
})

test('changes are reported after they are visible, removals from the leaves up', async () => {
  const client = await fixture.open()
  await client.ensure('/told/old/leaf')
  const cache = await open(client, '/told')
  const told: string[][] = []
  cache.onChange((changes) => {
    for (const { path, node } of changes) expect(cache.get(path)).toBe(node)
    told.push(brief(changes))
  })
  await client
    .transaction()
    .delete('/told/old/leaf')
    .delete('/told/old')
    .create('/told/new')
    .create('/told/new/leaf')
    .set('/told', 'x')
    .commit()
  await cache.sync()
  expect(told).toEqual([
    [
      'removed /told/old/leaf',
      'removed /told/old',
      'changed /told',
      'added /told/new',
      'added /told/new/leaf',
    ],
  ])
})

test('a transaction that is reported in pieces becomes visible at once', async () => {
  const writer = await fixture.open()
  const { client, proxy } = await openProxied(fixture.connectString)
  await writer.ensure('/pieces/old')
  const cache = await open(client, '/pieces')
  const told: string[][] = []
  cache.onChange((changes) => told.push(brief(changes)))
  proxy.fragment(16, { direction: 'toClient' })
  await writer.transaction().delete('/pieces/old').create('/pieces/new').commit()
  await cache.sync()
  expect(told).toEqual([['removed /pieces/old', 'added /pieces/new']])
})

test('the changes of one transaction become visible together', async () => {
  const writer = await fixture.open()
  const reader = await fixture.open()
  await writer.ensure('/atomic/a')
  await writer.ensure('/atomic/b')
  const cache = await open(reader, '/atomic')
  const pairs = new Set<string>()
  cache.onChange(() => {
    const [a, b] = ['/atomic/a', '/atomic/b'].map((path) => textOf(cache.get(path)!.data))
    pairs.add(`${a} ${b}`)
  })
  for (let i = 0; i < 200; i++) {
    await writer.transaction().set('/atomic/a', `${i}`).set('/atomic/b', `${i}`).commit()
    if (i === 99) {
      // Servers that do not report the zxid of a change leave it to a pause.
      if (fixture.server !== undefined) expect(pairs.size).toBeGreaterThan(1)
      await cache.sync()
    }
  }
  await cache.sync()
  expect([...pairs].filter((pair) => new Set(pair.split(' ')).size > 1)).toEqual([])
  expect(pairs).toContain('99 99')
  expect(pairs).toContain('199 199')
})

test('a slow reader gets all changes as one', async () => {
  const client = await fixture.open()
  await client.ensure('/slow/a')
  const cache = await open(client, '/slow')
  const changes = cache.changes()
  await client.set('/slow/a', '1')
  await cache.sync()
  await client.set('/slow/a', '2')
  await client.create('/slow/b')
  await cache.sync()
  await client.delete('/slow/b')
  await cache.sync()
  const [change, ...others] = (await changes.next()).value!
  expect(others).toEqual([])
  expect(change).toMatchObject({ type: 'changed', path: '/slow/a' })
  expect([change!.before, change!.node].map((node) => textOf(node!.data))).toEqual(['', '2'])
  await cache.close()
  expect((await changes.next()).done).toBe(true)
})

test('a node deleted and created again is reported as changed, with another czxid', async () => {
  const client = await fixture.open()
  await client.ensure('/anew/a')
  const cache = await open(client, '/anew')
  const changes = cache.changes()
  await client.transaction().delete('/anew/a').create('/anew/a', 'x').commit()
  const [change] = (await changes.next()).value!
  expect(change).toMatchObject({ type: 'changed', path: '/anew/a' })
  expect(change!.node!.stat.czxid).not.toBe(change!.before!.stat.czxid)
})

test('changes during a lost connection become visible together', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  await other.ensure('/away/gone/deep')
  await other.ensure('/away/stays')
  const cache = await open(client, '/away')
  const told: string[][] = []
  cache.onChange((changes) => told.push(brief(changes)))
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.deleteTree('/away/gone')
  await other.set('/away/stays', 'x')
  await other.create('/away/new')
  expect(cache.isLive).toBe(false)
  expect(cache.get('/away/gone/deep')).toBeDefined()
  await proxy.heal()
  await cache.sync()
  expect(told).toEqual([
    ['removed /away/gone/deep', 'removed /away/gone', 'added /away/new', 'changed /away/stays'],
  ])
})

test('a cache continues in the next session', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  await other.ensure('/renewed/a')
  const cache = await open(client, '/renewed')
  await expire(client, fixture.connectString)
  await other.set('/renewed/a', 'x')
  await cache.sync()
  expect(shown(cache)).toEqual(await there(other, '/renewed'))
  await other.create('/renewed/b')
  await cache.sync()
  expect(cache.children('/renewed')).toEqual(['a', 'b'])
})

test.each(['get', 'exists'] as const)(
  'a cache continues after a server has refused for a while, asked by: %s',
  async (operation) => {
    const client = await fixture.open()
    const path = `/refused-${operation}`
    await client.ensure(`${path}/old`)
    const cache = await open(client, path)
    const original = client[operation].bind(client) as (...args: unknown[]) => Promise<never>
    client[operation] = (...args: unknown[]): Promise<never> => {
      client[operation] = original
      return Promise.reject(new OperationError('throttledOp', { path: String(args[0]) }))
    }
    await client.transaction().create(`${path}/new`).delete(`${path}/old`).commit()
    await cache.sync()
    expect(cache.children(path)).toEqual(['new'])
    expect(cache.signal.aborted).toBe(false)
  },
)

test('iterations fail when the client is closed, and opening can be aborted', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const cache = await TreeCache.open(client, '/closing')
  const failed = expect(cache.changes().next()).rejects.toMatchObject({ code: 'closed' })
  proxy.cut()
  await expect(TreeCache.open(client, '/closing', { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'timeout',
  })
  await client.close()
  await failed
  await expect(cache.sync()).rejects.toMatchObject({ code: 'closed' })
})

test('waiting for a consistent view can be aborted', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 400 })
  const cache = await open(client, '/patient')
  const expired = nextState(client, 'expired')
  proxy.cut()
  await expired
  const controller = new AbortController()
  const given = cache.consistent({ signal: controller.signal }).catch((error: unknown) => error)
  await expect(cache.consistent({ timeoutMs: 30 })).rejects.toMatchObject({ code: 'timeout' })
  const enough = new Error('enough')
  controller.abort(enough)
  expect(await given).toBe(enough)
  const patient = cache.consistent()
  await proxy.heal()
  await patient
  expect(cache.isLive).toBe(true)
})

const seed = Number(process.env['ZABRA_SEED'] ?? Math.floor(Math.random() * 1e9))

test(`after random changes and lost connections a cache is the tree, or its part of it (seed ${seed})`, async () => {
  const random = generator(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  await other.ensure('/random')
  const cache = await open(client, '/random')
  const include = (path: string): boolean => path !== '/random/b'
  const part = await TreeCache.open(client, '/random', { depthMax: 2, include })
  onTestFinished(() => part.close())
  const isInPart = (path: string): boolean =>
    path.split('/').length <= 4 && !/^\/random\/b\b/.test(path)
  const names = ['a', 'b', 'c']
  const paths = names.flatMap((x) => [
    `/random/${x}`,
    ...names.flatMap((y) => [`/random/${x}/${y}`, `/random/${x}/${y}/leaf`]),
  ])
  for (let round = 0; round < 20; round++) {
    const writes: Promise<unknown>[] = []
    for (let i = 0; i < 60; i++) {
      const path = pick(paths)
      const chance = random()
      if (chance < 0.4) writes.push(other.create(path, `${round}.${i}`))
      else if (chance < 0.7) writes.push(other.set(path, `${round}.${i}`))
      else if (chance < 0.95) writes.push(other.delete(path))
      else writes.push(other.deleteTree(path))
      if (random() < 0.02) proxy.reset()
      if (random() < 0.1) await Promise.allSettled(writes)
    }
    await Promise.allSettled(writes)
    if (round % 4 === 3) await expire(client, fixture.connectString)
    await Promise.all([cache.sync(), part.sync()])
    const tree = await there(other, '/random')
    expect(shown(cache)).toEqual(tree)
    const within = Object.entries(tree).filter(([path]) => isInPart(path))
    expect(shown(part)).toEqual(Object.fromEntries(within))
  }
})

function generator(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
