import { expect, test } from 'vitest'
import { acl, SessionExpiredError, type Change, type WatchEvent } from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'

const fixture = useServer()

const brief = ({ type, path, missed }: Change): string =>
  `${type} ${path}${missed ? ' missed' : ''}`

async function take(changes: AsyncIterator<Change>, count: number): Promise<string[]> {
  const result: string[] = []
  while (result.length < count) {
    const { value, done } = await changes.next()
    if (done === true) break
    result.push(brief(value as Change))
  }
  return result
}

test('a one-shot watch is called once, with the zxid of the change', async () => {
  const client = await fixture.open()
  await client.create('/once')
  const events: WatchEvent[] = []
  await client.get('/once', { watch: (event) => events.push(event) })
  const { mzxid } = await client.set('/once', '1')
  await client.set('/once', '2')
  const zxid = fixture.isTerse ? undefined : mzxid
  expect(events).toEqual([{ type: 'changed', path: '/once', zxid }])
})

test('exists, get and children each set their own watch', async () => {
  const client = await fixture.open()
  const events: string[] = []
  const watch = ({ type, path }: WatchEvent): unknown => events.push(`${type} ${path}`)
  await client.exists('/watched', { watch })
  await client.create('/watched')
  await client.children('/watched', { watch })
  await client.create('/watched/child')
  await client.exists('/watched/child', { watch })
  await client.delete('/watched/child')
  expect(events).toEqual(['created /watched', 'children /watched', 'deleted /watched/child'])
})

test('one-shot watches are restored on a new connection, and get changes of the meantime', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await fixture.open()
  await other.ensure('/again/child')
  const events: string[] = []
  const watch = ({ type, path }: WatchEvent): unknown => events.push(`${type} ${path}`)
  await client.get('/again', { watch })
  await client.exists('/again/new', { watch })
  await client.children('/again/child', { watch })
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.set('/again', 'x')
  await other.create('/again/new')
  proxy.heal()
  await client.sync()
  expect(events.toSorted()).toEqual(['changed /again', 'created /again/new'])
  await other.create('/again/child/x')
  await client.sync()
  expect(events).toContain('children /again/child')
})

test('one-shot watches are called when the session has expired', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 300 })
  const lost = new Promise<WatchEvent>((resolve) => {
    void client.exists('/never', { watch: resolve })
  })
  await client.sync()
  proxy.cut()
  expect(await lost).toEqual({ type: 'lost', path: '/never', zxid: undefined })
})

test('watching a node reports everything that happens to it', async () => {
  const client = await fixture.open()
  await using changes = client.watch('/node', { initial: true })
  expect(await take(changes, 1)).toEqual(['initial /node'])
  await client.create('/node')
  await client.set('/node', 'x')
  await client.create('/node/child')
  // Changes that were not read in time are merged.
  expect(await take(changes, 2)).toEqual(['created /node missed', 'children /node'])
  await client.delete('/node/child')
  await client.delete('/node')
  expect(await take(changes, 2)).toEqual(['children /node', 'deleted /node'])
})

test('watching a tree reports everything below it', async () => {
  const client = await fixture.open()
  await client.ensure('/watched-tree/a')
  const changes = client.watch('/watched-tree', { recursive: true, initial: true })
  expect(await take(changes, 2)).toEqual(['initial /watched-tree', 'initial /watched-tree/a'])
  await client.create('/watched-tree/a/b')
  await client.set('/watched-tree/a', '')
  await client.delete('/watched-tree/a/b')
  expect(await take(changes, 2)).toEqual([
    'changed /watched-tree/a',
    'deleted /watched-tree/a/b missed',
  ])
  await changes.return()
  expect(await changes.next()).toEqual({ value: undefined, done: true })
  await client.sync()
  expect(await client.checkWatches('/watched-tree')).toBe(false)
})

test('changes during a lost connection are found, and marked', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await fixture.open()
  await other.ensure('/away/gone')
  await other.ensure('/away/stays')
  const changes = client.watch('/away', { recursive: true })
  await changes.ready
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.delete('/away/gone')
  await other.create('/away/new')
  await other.set('/away/stays', '1')
  proxy.heal()
  expect((await take(changes, 3)).toSorted()).toEqual([
    'changed /away/stays missed',
    'created /away/new missed',
    'deleted /away/gone missed',
  ])
  await other.set('/away/stays', '2')
  expect(await take(changes, 1)).toEqual(['changed /away/stays'])
})

test('a watch is drained when its reader waits and nothing is left to find', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await fixture.open()
  await other.ensure('/drained/a')
  const changes = client.watch('/drained', { recursive: true, initial: true })
  let isCalm = false
  const drained = changes.drained().then(() => (isCalm = true))
  await take(changes, 2)
  expect([changes.isDrained, isCalm]).toEqual([false, false])
  const next = changes.next()
  await drained
  expect(changes.isDrained).toBe(true)
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.set('/drained/a', 'x')
  const resumed = nextState(client, 'connected')
  proxy.heal()
  await resumed
  await client.sync()
  const caughtUp = changes.drained()
  expect(brief((await next).value!)).toBe('changed /drained/a missed')
  expect(changes.isDrained).toBe(false)
  const last = changes.next()
  await caughtUp
  await changes.return()
  expect((await last).done).toBe(true)
})

test('a watch that starts while connections are lost succeeds', async () => {
  const { client, proxy } = await fixture.openProxied({ retry: { repeatsMax: 0 } })
  await client.ensure('/troubled/child')
  proxy.mute()
  const changes = client.watch('/troubled', { recursive: true, initial: true })
  for (let losses = 0; losses < 3; losses++) {
    const lost = nextState(client, 'suspended')
    const back = nextState(client, 'connected')
    await new Promise((resolve) => setImmediate(resolve))
    proxy.drop()
    await lost
    proxy.heal()
    await back
    proxy.mute()
  }
  proxy.heal()
  proxy.drop()
  await changes.ready
  expect((await take(changes, 2)).toSorted()).toEqual([
    'initial /troubled',
    'initial /troubled/child',
  ])
  await client.create('/troubled/new')
  expect(await take(changes, 1)).toEqual(['created /troubled/new'])
})

test('a slow reader gets the last state of each node, not each step', async () => {
  const client = await fixture.open()
  await client.create('/slow')
  const changes = client.watch('/slow')
  await changes.ready
  for (let i = 0; i < 100; i++) await client.set('/slow', `${i}`)
  expect(await take(changes, 1)).toEqual(['changed /slow missed'])
  await client.set('/slow', 'last')
  expect(await take(changes, 1)).toEqual(['changed /slow'])
})

test('a slow reader of a queue gets the existing nodes, and the last deletion', async () => {
  const client = await fixture.open()
  await client.create('/slow-queue')
  await client.create('/slow-queue/old')
  const changes = client.watch('/slow-queue', { recursive: true })
  await changes.ready
  await client.delete('/slow-queue/old')
  for (let i = 0; i < 20; i++) {
    await client.create(`/slow-queue/${i}`)
    await client.delete(`/slow-queue/${i}`)
  }
  await client.create('/slow-queue/new')
  expect(await take(changes, 3)).toEqual([
    'deleted /slow-queue/old',
    'deleted /slow-queue/19 missed',
    'created /slow-queue/new',
  ])
})

test('after expiry a watch continues and says so, or fails if asked', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 300 })
  const other = await fixture.open()
  await other.create('/renewed')
  const renewed = client.watch('/renewed')
  const failing = client.watch('/renewed', { renew: false })
  await Promise.all([renewed.ready, failing.ready])
  const expired = nextState(client, 'expired')
  proxy.cut()
  await expired
  await expect(failing.next()).rejects.toBeInstanceOf(SessionExpiredError)
  await other.set('/renewed', 'x')
  proxy.heal()
  expect(await take(renewed, 2)).toEqual([
    'sessionExpired /renewed missed',
    'changed /renewed missed',
  ])
  await other.set('/renewed', 'y')
  expect(await take(renewed, 1)).toEqual(['changed /renewed'])
})

test('an aborted signal ends the iteration with its reason', async () => {
  const client = await fixture.open()
  const controller = new AbortController()
  const changes = client.watch('/watch-aborted', { signal: controller.signal })
  const next = changes.next()
  controller.abort('enough')
  await expect(next).rejects.toBe('enough')
  expect((await changes.next()).done).toBe(true)
})

test('closing the client ends its watches', async () => {
  const client = await fixture.open()
  const changes = client.watch('/closing')
  await changes.ready
  const next = changes.next()
  await client.close()
  await expect(next).rejects.toMatchObject({ code: 'closed' })
})

test('a watch that is ended before it could be set is not set later', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.create('/never-watched')
  const lost = nextState(client, 'suspended')
  proxy.cut()
  await lost
  const controller = new AbortController()
  const changes = client.watch('/never-watched', { signal: controller.signal })
  controller.abort('enough')
  await expect(changes.next()).rejects.toBe('enough')
  const other = client.watch('/never-watched', { recursive: true })
  await other.return()
  proxy.heal()
  await client.connected()
  // Both kinds, and twice on releases before 3.9, which do not know the kind.
  for (let i = 0; i < 4; i++) await client.sync()
  expect(await client.checkWatches('/never-watched')).toBe(false)
})

test('a node that may not be read any more is not reported deleted', async () => {
  const { client, proxy } = await fixture.openProxied()
  const owner = await fixture.open({ auth: [{ scheme: 'digest', credentials: 'a:b' }] })
  await owner.ensure('/hidden/x/y')
  const changes: string[] = []
  await using watching = client.watch('/hidden', { recursive: true })
  void (async () => {
    for await (const { type, path } of watching) changes.push(`${type} ${path}`)
  })()
  await watching.ready
  await owner.setAcl('/hidden/x', acl.creator)
  const connected = nextState(client, 'connected')
  proxy.drop()
  await connected
  await owner.create('/hidden/z')
  await watching.drained()
  expect(changes.filter((change) => change !== 'changed /hidden/x')).toEqual(['created /hidden/z'])
})

test('a recursive watch with a filter reads and reports only the included nodes', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await fixture.open()
  for (const path of ['/some/in/deep/deeper', '/some/out/deep']) await other.ensure(path)
  const looked = new Set<string>()
  const list = client.childrenWithStat.bind(client)
  client.childrenWithStat = (path, options) => {
    looked.add(path)
    return list(path, options)
  }
  const include = (path: string): boolean => !path.endsWith('/out')
  const options = { recursive: true, initial: true, depthMax: 2, include }
  await using changes = client.watch('/some', options)
  const initial = ['initial /some', 'initial /some/in', 'initial /some/in/deep']
  expect(await take(changes, 3)).toEqual(initial)
  await other.delete('/some/out/deep')
  for (const path of ['/some/out/new', '/some/in/deep/new', '/some/in/new'])
    await other.create(path)
  expect(await take(changes, 1)).toEqual(['created /some/in/new'])
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.create('/some/out/newer')
  await other.delete('/some/in/new')
  await other.set('/some/out', 'x')
  await other.set('/some', 'x')
  proxy.heal()
  const missed = ['changed /some missed', 'deleted /some/in/new missed']
  expect(await take(changes, 2)).toEqual(missed)
  expect([...looked]).toEqual(['/some', '/some/in'])
})

test('a filter that throws ends the iteration, during a comparison or at a change', async () => {
  const client = await fixture.open()
  await client.ensure('/filter/there')
  const include = (path: string): boolean => {
    throw new Error(`asked about ${path}`)
  }
  const looking = client.watch('/filter', { recursive: true, include })
  await expect(looking.next()).rejects.toThrow('asked about /filter/there')
  await client.delete('/filter/there')
  const hearing = client.watch('/filter', { recursive: true, include })
  await hearing.ready
  const failed = expect(hearing.next()).rejects.toThrow('asked about /filter/new')
  await client.create('/filter/new')
  await failed
})
