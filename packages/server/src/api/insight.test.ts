/** The routes of the API about load, locks, sessions, quotas and the ensemble. */
import { createFlags } from '@zabra/protocol'
import { beforeAll, afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { DescribedApi } from '../../test/support/described-api.ts'
import { EmbeddedEnsemble } from '../../test/support/embedded-ensemble.ts'
import { freePorts } from '../../test/support/free-ports.ts'
import { RawClient } from '../../test/support/raw-client.ts'
import { digestOf } from '../auth/authenticator.ts'
import { startServer } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'

const withApi = {
  'admin.enableServer': 'true',
  'admin.serverPort': 0,
  'admin.identities': `digest:${digestOf('boss:secret')}`,
}
const boss = { scheme: 'digest', id: digestOf('boss:secret') }
const onlyBoss = [{ perms: 31, id: boss }]

let server: RunningServer
let api: DescribedApi

beforeAll(async () => {
  server = await startServer({ config: withApi })
  api = new DescribedApi(server)
})
afterAll(() => server.stop())

/** Results of a survey of all znodes are cached for a while; a new server has no cached results. */
async function startAnew(): Promise<void> {
  await server.stop()
  server = await startServer({ config: withApi })
  api = new DescribedApi(server)
}

async function connect(): Promise<RawClient> {
  const client = await RawClient.connect(server.clientPort)
  onTestFinished(() => client.close())
  return client
}

interface Load {
  readonly paths: readonly { readonly path: string; readonly readsPerSecond: number }[]
  readonly clients: readonly { readonly session: string; readonly connection: object | null }[]
  readonly slow: readonly object[]
  readonly hidden: number
}

test('load names the busiest path and client, and no path that is hidden from the caller', async () => {
  const client = await connect()
  await client.call('auth', { type: 0, scheme: 'digest', auth: Buffer.from('boss:secret') })
  await client.create('/busy')
  await client.must('create', { path: '/private', data: null, acl: onlyBoss, flags: 0 })
  await client.must('create', { path: '/private/inner', data: null, acl: onlyBoss, flags: 0 })
  const many = <T>(make: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: 700 }, make))
  await many(() => client.must('getData', { path: '/busy', watch: false }))
  await many(() => client.must('getData', { path: '/private/inner', watch: false }))
  const { body } = await api.get<Load>('/load')
  expect(body.paths[0]).toMatchObject({ path: '/busy' })
  expect(body.paths.some(({ path }) => path.startsWith('/private/'))).toBe(false)
  expect(body.hidden).toBeGreaterThan(0)
  const id = `0x${BigInt.asUintN(64, client.sessionId).toString(16)}`
  expect(body.clients[0]).toMatchObject({ session: id, connection: { watches: 0 } })
  const seen = await new DescribedApi(server, 'boss:secret').get<Load>('/load')
  expect(seen.body.paths.some(({ path }) => path === '/private/inner')).toBe(true)
})

test('large znodes are found by data, children and changes', async () => {
  await startAnew()
  const client = await connect()
  await client.create('/large')
  await client.create('/large/data', 'x'.repeat(5000))
  for (let i = 0; i < 30; i++) await client.create(`/large/n${i}`)
  for (let i = 0; i < 5; i++) {
    await client.must('setData', { path: '/large/n1', data: null, version: -1 })
  }
  const { body } = await api.get<Record<string, { path: string; value: number }[]>>('/load/large')
  expect(body['data']![0]).toEqual({ path: '/large/data', value: 5000 })
  expect(body['children']![0]).toEqual({ path: '/large', value: 31 })
  expect(body['versions']).toContainEqual({ path: '/large/n1', value: 5 })
})

interface Locks {
  readonly lines: readonly {
    readonly path: string
    readonly kind: string
    readonly total: number
    readonly contenders: readonly object[]
  }[]
  readonly deadlocks: readonly (readonly { readonly waiter: string; readonly path: string }[])[]
}

test('two sessions that wait for each other are a deadlock, whatever library each uses', async () => {
  const [one, other] = [await connect(), await connect()]
  const names = { curator: '_c_1-lock-', kazoo: `${'a'.repeat(32)}__lock__` }
  const flags = createFlags.ephemeralSequential
  await one.create('/dead')
  await one.create('/dead/a')
  await one.create('/dead/b')
  await one.create(`/dead/a/${names.curator}`, 'one', flags)
  await other.create(`/dead/a/${names.curator}`, 'other', flags)
  await other.create(`/dead/b/${names.kazoo}`, 'other', flags)
  await one.create(`/dead/b/${names.kazoo}`, 'one', flags)
  const { body } = await api.get<Locks>('/locks', { path: '/dead' })
  expect(body.lines.map(({ path, kind }) => [path, kind])).toEqual([
    ['/dead/a', 'lock'],
    ['/dead/b', 'lock'],
  ])
  expect(body.deadlocks).toHaveLength(1)
  expect(body.deadlocks[0]!.map(({ path }) => path).toSorted()).toEqual(['/dead/a', '/dead/b'])
})

test('queues and groups are shown with their items and members', async () => {
  await startAnew()
  const client = await connect()
  await client.create('/work')
  for (let i = 0; i < 3; i++) {
    await client.create('/work/entry-100-', `job ${i}`, createFlags.persistentSequential)
  }
  await client.create('/team')
  await client.create('/team/ann', '10.0.0.1', createFlags.ephemeral)
  await client.create('/team/not-a-member')
  const { body } = await api.get<Locks>('/locks', { path: '/' })
  expect(body.lines.find(({ path }) => path === '/work')).toMatchObject({
    kind: 'queue',
    total: 3,
    contenders: [{ id: 'job 0', holds: false }, { id: 'job 1' }, { id: 'job 2' }],
  })
  expect(body.lines.find(({ path }) => path === '/team')).toMatchObject({
    kind: 'group',
    total: 1,
    contenders: [{ id: '10.0.0.1', holds: true }],
  })
})

test('a lock below a znode that hides its children is counted, not shown', async () => {
  const client = await connect()
  await client.call('auth', { type: 0, scheme: 'digest', auth: Buffer.from('boss:secret') })
  await client.must('create', { path: '/sealed', data: null, acl: onlyBoss, flags: 0 })
  await client.create('/sealed/_c_1-lock-', 'x', createFlags.ephemeralSequential)
  const { body } = await api.get<Locks & { unreadable: number }>('/locks', { path: '/' })
  expect(body.lines.some(({ path }) => path === '/sealed')).toBe(false)
  expect(body.unreadable).toBeGreaterThan(0)
})

test('each answer names the last transaction that the server has applied', async () => {
  const client = await connect()
  const applied = async (): Promise<bigint> => {
    const response = await fetch(`${server.adminAddress}/api/v1/whoami`)
    return BigInt(response.headers.get('zabra-applied') ?? '')
  }
  const before = await applied()
  await client.create('/applied')
  const { stat } = await client.must('exists', { path: '/applied', watch: false })
  expect(stat.czxid).toBeGreaterThan(before)
  expect(await applied()).toBeGreaterThanOrEqual(stat.czxid)
})

test('a session is shown with its ephemerals and watches', async () => {
  const client = await connect()
  await client.create('/mine', '', createFlags.ephemeral)
  await client.must('getData', { path: '/mine', watch: true })
  await client.must('getChildren', { path: '/', watch: true })
  const id = `0x${BigInt.asUintN(64, client.sessionId).toString(16)}`
  const { body } = await api.get('/sessions/detail', { id })
  expect(body).toMatchObject({
    id,
    ephemerals: ['/mine'],
    ephemeralsTotal: 1,
    watches: [
      { path: '/mine', kinds: 'data' },
      { path: '/', kinds: 'children' },
    ],
    watchesTotal: 2,
    isLocal: false,
    isOfApi: false,
    connection: { address: '127.0.0.1', watches: 2 },
  })
  expect((await api.get('/sessions/detail', { id: '0x1' })).status).toBe(404)
})

test('a quota is set, counted, changed and taken away', async () => {
  const client = await connect()
  await client.create('/limited')
  await client.create('/limited/a', 'abc')
  const limits = { count: 10, bytes: -1, countHardLimit: -1, byteHardLimit: 1000 }
  const set = await api.send('PUT', '/quota', { path: '/limited' }, limits)
  expect(set.body).toMatchObject({ limits, used: { count: 2, bytes: 3 } })
  const more = await api.send('PUT', '/quota', { path: '/limited' }, { ...limits, count: 20 })
  expect(more.body).toMatchObject({ limits: { count: 20 } })
  const below = await api.send('PUT', '/quota', { path: '/limited/a' }, limits)
  expect([below.status, below.body.error?.code]).toEqual([409, 'quotaNested'])
  expect((await api.send('DELETE', '/quota', { path: '/limited' })).body).toMatchObject({
    limits: null,
  })
  expect(
    (await client.call('exists', { path: '/zookeeper/quota/limited', watch: false })).err,
  ).toBe(-101)
})

describe('an ensemble', () => {
  let ensemble: EmbeddedEnsemble
  let ports: number[]
  beforeAll(async () => {
    ports = await freePorts(3)
    ensemble = await EmbeddedEnsemble.start(
      { 'admin.enableServer': 'true', 'admin.identities': `digest:${boss.id}` },
      { hasClientPorts: true, settingsOf: (id) => ({ 'admin.serverPort': String(ports[id - 1]) }) },
    )
  })
  afterAll(() => ensemble.dispose())

  test('says which server may be restarted next, and the leader last', async () => {
    const { leader } = ensemble
    const { body } = await new DescribedApi(ensemble.server(leader)).get<{
      next: string
      servers: { id: string; verdict: string }[]
    }>('/ensemble/restart')
    expect(body.servers.map(({ verdict }) => verdict)).toEqual(['next', 'later', 'last'])
    expect(body.servers[2]!.id).toBe(String(leader))
  })

  test('says how many servers may fail', async () => {
    const { body } = await new DescribedApi(ensemble.server(ensemble.leader)).get('/ensemble')
    expect(body).toMatchObject({ failuresLeft: 1 })
  })

  test('keeps a time line of elections, on every server', async () => {
    for (const id of ensemble.ids) {
      const { body } = await new DescribedApi(ensemble.server(id)).get<{
        entries: { kind: string; leader: string | null }[]
      }>('/ensemble/timeline')
      expect(body.entries[0]).toMatchObject({ kind: 'looking' })
      const kind = id === ensemble.leader ? 'leading' : 'following'
      expect(body.entries.find((each) => each.kind === kind)).toMatchObject({
        leader: String(ensemble.leader),
      })
    }
  })

  test('lets the console of one member use the API of another, and no other page', async () => {
    const [first, second] = ensemble.ids
    const other = `http://127.0.0.1:${ports[second! - 1]}`
    const ask = (origin: string, method = 'GET'): Promise<Response> =>
      fetch(`http://127.0.0.1:${ports[first! - 1]}/api/v1/whoami`, {
        method,
        headers: { Origin: origin, 'Sec-Fetch-Site': 'same-site' },
      })
    const answer = await ask(other)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe(other)
    expect((await ask(other.replace('127.0.0.1', 'localhost'))).status).toBe(200)
    const preflight = await ask(other, 'OPTIONS')
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
    // Without it, a browser keeps its client certificate from another origin.
    expect(preflight.headers.get('access-control-allow-credentials')).toBe('true')
    const [stranger = 0] = await freePorts(1)
    for (const origin of [`http://127.0.0.1:${stranger}`, 'http://evil.example', 'null']) {
      const refused = await ask(origin)
      expect(refused.status).toBe(403)
      expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  test('lets a page go to members that have not answered yet, and else to no other port', async () => {
    const policyAt = async (id: number): Promise<string | undefined> => {
      const page = await fetch(`http://127.0.0.1:${ports[id - 1]}/`)
      await page.body?.cancel()
      return /connect-src ([^;]*)/.exec(page.headers.get('content-security-policy') ?? '')?.[1]
    }
    const first = ensemble.leader
    const [second, third] = ensemble.followers as [number, number]
    const exact = [first, second]
      .toSorted((a, b) => a - b)
      .map((id) => `http://127.0.0.1:${ports[id - 1]}`)
    await expect.poll(() => policyAt(third)).toBe(`'self' ${exact.join(' ')}`)
    await Promise.all([ensemble.stop(first), ensemble.stop(second)])
    await ensemble.stop(third)
    await ensemble.start(third)
    expect(await policyAt(third)).toBe("'self' http://127.0.0.1:* http://127.0.0.1:*")
  })
})
