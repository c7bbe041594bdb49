import type { Client } from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { expire, openProxied } from '../../test/support/trouble.ts'
import { catchUncaught } from '../../test/support/uncaught.ts'
import { TreeCache, type TreeCacheOptions } from '../tree-cache.ts'
import type { TreeProblem } from './tree-scope.ts'

const fixture = useServer()

async function open(client: Client, path: string, options: TreeCacheOptions): Promise<TreeCache> {
  const cache = await TreeCache.open(client, path, options)
  onTestFinished(() => cache.close())
  return cache
}

const paths = (cache: TreeCache): string[] => [...cache].map(({ path }) => path)

/** Records the nodes that are read from now on. */
function asked(client: Client): Set<string> {
  const seen = new Set<string>()
  for (const operation of ['get', 'exists', 'childrenWithStat'] as const) {
    const original = client[operation].bind(client) as (...args: unknown[]) => Promise<never>
    client[operation] = (...args: unknown[]): Promise<never> => {
      seen.add(String(args[0]))
      return original(...args)
    }
  }
  return seen
}

/** Records the changes that a cache reports from now on. */
function told(cache: TreeCache): string[] {
  const all: string[] = []
  cache.onChange((changes) => all.push(...changes.map(({ type, path }) => `${type} ${path}`)))
  return all
}

test.each([
  [0, ['']],
  [1, ['', '/a', '/b']],
  [2, ['', '/a', '/a/x', '/b']],
] as const)(
  'a cache of depth %i has so many levels, and asks for no more',
  async (depthMax, levels) => {
    const client = await fixture.open()
    const root = `/depth-${depthMax}`
    const within = levels.map((below) => `${root}${below}`)
    await client.ensure(`${root}/a/x/deep`)
    await client.ensure(`${root}/b`)
    const seen = asked(client)
    const cache = await open(client, root, { depthMax })
    expect(paths(cache)).toEqual(within)
    expect([...seen].toSorted()).toEqual(within)
    const names = [...new Set(within.slice(1).map((path) => path.split('/')[2]!))]
    expect(cache.children(root)).toEqual(names)
  },
)

test('changes that are too deep are not reported, those above them are', async () => {
  const client = await fixture.open()
  await client.ensure('/too-deep/a/x')
  const cache = await open(client, '/too-deep', { depthMax: 1 })
  const changes = told(cache)
  const seen = asked(client)
  await client.set('/too-deep/a/x', '1')
  await client.create('/too-deep/a/y')
  await client.delete('/too-deep/a/x')
  await client.create('/too-deep/b')
  await client.create('/too-deep/b/x')
  await client.set('/too-deep/a', '1')
  await cache.sync()
  expect(changes.toSorted()).toEqual(['added /too-deep/b', 'changed /too-deep/a'])
  expect(paths(cache)).toEqual(['/too-deep', '/too-deep/a', '/too-deep/b'])
  expect([...seen].toSorted()).toEqual(['/too-deep/a', '/too-deep/b'])
})

test('with depth 0 the server does not report what is below the node', async () => {
  const writer = await fixture.open()
  const client = await fixture.open()
  const cache = await open(client, '/alone', { depthMax: 0 })
  expect(cache.size).toBe(0)
  const changes = told(cache)
  await writer.ensure('/alone/a/b')
  await cache.sync()
  expect(changes.splice(0)).toEqual(['added /alone'])
  const before = client.stats().notifications
  await writer.set('/alone/a', '1')
  await writer.delete('/alone/a/b')
  await cache.sync()
  expect(client.stats().notifications).toBe(before)
  // The server reports created and deleted children; that is no change of the node.
  const seen = asked(client)
  await writer.delete('/alone/a')
  await cache.sync()
  expect([changes, [...seen], cache.isLive]).toEqual([[], [], true])
  await writer.delete('/alone')
  await cache.sync()
  expect([changes, cache.size]).toEqual([['removed /alone'], 0])
})

test('excluded nodes and everything below them are missing', async () => {
  const client = await fixture.open()
  await client.ensure('/filtered/in/x')
  await client.ensure('/filtered/out/in')
  const seen = asked(client)
  const include = (path: string): boolean => !path.endsWith('/out')
  const cache = await open(client, '/filtered', { include })
  const changes = told(cache)
  expect(paths(cache)).toEqual(['/filtered', '/filtered/in', '/filtered/in/x'])
  expect(cache.children('/filtered')).toEqual(['in'])
  await client.create('/filtered/out/new')
  await client.set('/filtered/out', '1')
  await client.deleteTree('/filtered/out')
  await client.create('/filtered/in/out')
  await client.create('/filtered/in/new')
  await cache.sync()
  expect(changes).toEqual(['added /filtered/in/new'])
  expect([...seen].filter((path) => path.includes('out'))).toEqual([])
  expect(cache.isLive).toBe(true)
})

test('the filter is not called for the node itself', async () => {
  const client = await fixture.open()
  await client.ensure('/itself/a')
  const cache = await open(client, '/itself', { include: () => false })
  expect(paths(cache)).toEqual(['/itself'])
  await client.deleteTree('/itself')
  await cache.sync()
  expect(cache.size).toBe(0)
})

test('included nodes show one moment, whatever is written together with them', async () => {
  const writer = await fixture.open()
  const names = ['left', 'out', 'right']
  for (const name of names) await writer.ensure(`/moment/${name}`)
  const include = (path: string): boolean => path !== '/moment/out'
  const cache = await open(await fixture.open(), '/moment', { include, patienceMs: 1e6 })
  const pairs = new Set<string>()
  const look = (): unknown =>
    pairs.add(['left', 'right'].map((name) => cache.get(`/moment/${name}`)!.stat.mzxid).join(' '))
  cache.onChange(look)
  for (let i = 0; i < 100; i++) {
    const all = writer.transaction()
    for (const name of names) all.set(`/moment/${name}`, `${i}`)
    await all.commit()
  }
  await cache.sync()
  expect([...pairs].filter((pair) => new Set(pair.split(' ')).size > 1)).toEqual([])
  const { stat } = await writer.get('/moment/out')
  expect(pairs).toContain(`${stat.mzxid} ${stat.mzxid}`)
})

test('filters survive lost connections and sessions', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  await other.ensure('/away/in/deep')
  await other.ensure('/away/out/deep')
  const include = (path: string): boolean => path !== '/away/out'
  const cache = await open(client, '/away', { depthMax: 1, include })
  const changes = told(cache)
  const seen = asked(client)
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.set('/away/in', '1')
  await other.set('/away/in/deep', '1')
  await other.deleteTree('/away/out')
  await other.create('/away/new')
  await proxy.heal()
  await cache.sync()
  expect(changes.splice(0)).toEqual(['changed /away/in', 'added /away/new'])
  await other.create('/away/out')
  await expire(client, fixture.connectString)
  await other.delete('/away/new')
  await cache.sync()
  expect(changes).toEqual(['removed /away/new'])
  expect([...seen].toSorted()).toEqual(['/away', '/away/in', '/away/new'])
})

test('a filter that throws is reported, and its node is excluded', async () => {
  const uncaught = catchUncaught()
  const client = await fixture.open()
  await client.ensure('/throwing/bad/x')
  await client.ensure('/throwing/good')
  const problems: TreeProblem[] = []
  const include = (path: string): boolean => {
    if (path.endsWith('/bad')) throw new Error(`what is ${path}?`)
    return true
  }
  const onProblem = (problem: TreeProblem): unknown => problems.push(problem)
  const cache = await open(client, '/throwing', { include, onProblem })
  expect(paths(cache)).toEqual(['/throwing', '/throwing/good'])
  expect(problems.splice(0)).toEqual([
    { path: '/throwing/bad', problem: new Error('what is /throwing/bad?') },
  ])
  await client.create('/throwing/good/bad')
  await client.create('/throwing/good/x')
  await cache.sync()
  expect(paths(cache)).toEqual(['/throwing', '/throwing/good', '/throwing/good/x'])
  expect(problems.map(({ path }) => path)).toEqual(['/throwing/good/bad'])
  const deaf = await open(client, '/throwing', { include })
  expect(deaf.size).toBe(3)
  expect([cache.signal.aborted, deaf.signal.aborted, uncaught]).toEqual([false, false, []])
})

test('an error in onProblem is uncaught, and the cache continues', async () => {
  const uncaught = catchUncaught()
  const client = await fixture.open()
  await client.ensure('/throwing-more/a')
  const fail = (message: string) => (): never => {
    throw new Error(message)
  }
  const options = { include: fail('filter'), onProblem: fail('listener') }
  const cache = await open(client, '/throwing-more', options)
  await client.set('/throwing-more', 'x')
  await cache.sync()
  expect(cache.get('/throwing-more')?.stat.version).toBe(1)
  await expect.poll(() => uncaught).toContainEqual(new Error('listener'))
})

test('invalid depths and filters are refused', async () => {
  const client = await fixture.open()
  const seen = asked(client)
  for (const depthMax of [-1, 1.5, Number.NaN, '1' as unknown as number])
    await expect(TreeCache.open(client, '/refused', { depthMax })).rejects.toThrow(
      /^depthMax is a whole number from 0 on, not /,
    )
  const include = '/a' as unknown as () => boolean
  const refused = TreeCache.open(client, '/refused', { include })
  await expect(refused).rejects.toThrow(new TypeError("include is a function, not '/a'"))
  expect(seen.size).toBe(0)
})
