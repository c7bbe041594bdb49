import { Ajv2020 } from 'ajv/dist/2020.js'
import { createFlags } from '@zabra/protocol'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { digestOf } from '../auth/authenticator.ts'
import { startServer, type StartOptions } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'
import { RawClient, openAcl } from '../../test/support/raw-client.ts'
import { EmbeddedEnsemble } from '../../test/support/embedded-ensemble.ts'
import { until } from '../../test/support/until.ts'

const withApi = {
  'admin.enableServer': 'true',
  'admin.serverPort': 0,
  'admin.identities': `digest:${digestOf('boss:secret')}`,
}
const boss = { Authorization: `Basic ${Buffer.from('boss:secret').toString('base64')}` }
const json = { 'Content-Type': 'application/json' }

interface Node {
  readonly path: string
  readonly version: number
  readonly kind: string
}
interface Reply<T> {
  readonly status: number
  readonly body: T & { readonly error?: { readonly code: string; readonly node?: Node } }
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly responses: Readonly<
              Record<string, { content: Readonly<Record<string, { schema?: object }>> }>
            >
          }
        >
      >
    >
  >
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

let server: RunningServer
let document: Document

beforeEach(async () => {
  server = await startServer({ config: withApi })
  document = (await (await fetch(`${server.adminAddress}/api/openapi.json`)).json()) as Document
})
afterEach(() => server.stop())

async function startAnother(config: NonNullable<StartOptions['config']>): Promise<RunningServer> {
  const another = await startServer({ config: { ...withApi, ...config } })
  onTestFinished(() => another.stop())
  return another
}

const ajv = new Ajv2020({ strict: false, allErrors: true })

/** Sends a request, and checks the answer against the description of the API. */
async function call<T = Record<string, unknown>>(
  method: string,
  pathAndQuery: string,
  init: { body?: unknown; headers?: Record<string, string>; at?: RunningServer } = {},
): Promise<Reply<T>> {
  const { body, headers = {}, at = server } = init
  const response = await fetch(`${at.adminAddress}/api/v1${pathAndQuery}`, {
    method,
    headers: { ...(method === 'GET' ? {} : json), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const reply = (await response.json()) as Reply<T>['body']
  const path = `/api/v1${pathAndQuery.split('?', 1)[0]}`
  const described = document.paths[path]?.[method.toLowerCase()]?.responses[response.status]
  const schema = described?.content['application/json']?.schema ?? {}
  const isError = '$ref' in schema
  const check = ajv.compile(isError ? document.components.schemas['Error']! : schema)
  if (!check(reply)) throw new Error(`${path}: ${ajv.errorsText(check.errors)}`)
  expect(described, `${method} ${path} ${response.status} is described`).toBeDefined()
  return { status: response.status, body: reply }
}

const create = (path: string, rest: object = {}): Promise<Reply<Node>> =>
  call('POST', '/node', { body: { path, ...rest } })
const query = (parameters: object): string =>
  `?${new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)] as [string, string]))}`

async function connect(): Promise<RawClient> {
  const client = await RawClient.connect(server.clientPort)
  onTestFinished(() => client.close())
  return client
}

describe('znodes', () => {
  test('are created, read, changed and deleted as other clients see it', async () => {
    const client = await connect()
    expect(await create('/a', { data: 'one' })).toMatchObject({
      status: 200,
      body: { path: '/a', kind: 'persistent', version: 0, dataLength: 3 },
    })
    expect(Buffer.from((await client.must('getData', { path: '/a', watch: false })).data!)).toEqual(
      Buffer.from('one'),
    )
    const set = await call<Node>('PUT', `/data${query({ path: '/a', version: 0 })}`, {
      body: { data: Buffer.from([0, 255]).toString('base64'), encoding: 'base64' },
    })
    expect(set.body.version).toBe(1)
    const { data } = await client.must('getData', { path: '/a', watch: false })
    expect([...data!]).toEqual([0, 255])
    expect((await call('DELETE', `/node${query({ path: '/a', version: 1 })}`)).body).toMatchObject({
      isDone: true,
      nodes: 1,
    })
    expect((await call('GET', `/node${query({ path: '/a' })}`)).body.error?.code).toBe('noNode')
  })

  test('keep their data if the version does not match, and return the current one', async () => {
    await create('/a', { data: 'one' })
    await call('PUT', `/data${query({ path: '/a', version: 0 })}`, { body: { data: 'two' } })
    const late = await call('PUT', `/data${query({ path: '/a', version: 0 })}`, {
      body: { data: 'three' },
    })
    expect(late.status).toBe(409)
    expect(late.body.error).toMatchObject({ code: 'badVersion', path: '/a', node: { version: 1 } })
    const gone = await call('DELETE', `/node${query({ path: '/a', version: 0 })}`)
    expect(gone.body.error).toMatchObject({ code: 'badVersion', node: { version: 1 } })
  })

  test('can be of every kind', async () => {
    expect((await create('/c', { kind: 'container' })).body.kind).toBe('container')
    expect((await create('/t', { kind: 'ttl', ttlMs: 60_000 })).body).toMatchObject({
      kind: 'ttl',
      ttlMs: 60_000,
    })
    expect((await create('/s-', { isSequential: true })).body.path).toBe('/s-0000000002')
    const client = await connect()
    await client.create('/e', '', createFlags.ephemeral)
    expect((await call('GET', `/node${query({ path: '/e' })}`)).body).toMatchObject({
      kind: 'ephemeral',
      ephemeralOwner: `0x${BigInt.asUintN(64, client.sessionId).toString(16)}`,
    })
    expect((await create('/x', { kind: 'ttl' })).body.error?.code).toBe('badRequest')
  })

  test('can be read as bytes, whole or in part', async () => {
    await create('/a', { data: '0123456789' })
    const read = (headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${server.adminAddress}/api/v1/data?path=/a`, { headers })
    const whole = await read()
    expect(whole.headers.get('zabra-version')).toBe('0')
    expect(await whole.text()).toBe('0123456789')
    const part = await read({ Range: 'bytes=2-4' })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 2-4/10',
      '234',
    ])
    expect(await (await read({ Range: 'bytes=-3' })).text()).toBe('789')
    expect((await read({ Range: 'bytes=10-' })).status).toBe(416)
    await call('PUT', '/data?path=/a&version=0', { body: { data: 'other' } })
    // A part of the old version must not be mixed with one of the new.
    const other = await read({ Range: 'bytes=2-4', 'If-Range': whole.headers.get('etag')! })
    expect([other.status, await other.text()]).toEqual([200, 'other'])
  })

  test('accept raw bytes', async () => {
    await create('/a')
    const response = await fetch(`${server.adminAddress}/api/v1/data?path=/a&version=0`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/octet-stream' },
      body: Buffer.from([1, 2, 3]),
    })
    expect(await response.json()).toMatchObject({ dataLength: 3, version: 1 })
  })

  test('are listed in pages, sorted', async () => {
    const client = await connect()
    const names = Array.from({ length: 3000 }, (_, i) => `n${(i * 7919) % 3000}`)
    await client.create('/many')
    await Promise.all(names.map((name) => client.create(`/many/${name}`)))
    const sorted = names.toSorted()
    const page = (parameters: object) =>
      call<{ total: number; matching: number; children: { name: string }[] }>(
        'GET',
        `/children${query({ path: '/many', ...parameters })}`,
      )
    const { body } = await page({ offset: 2500, limit: 1000 })
    expect(body.total).toBe(3000)
    expect(body.children.map(({ name }) => name)).toEqual(sorted.slice(2500))
    expect((await page({ filter: '299' })).body.matching).toBe(
      sorted.filter((name) => name.includes('299')).length,
    )
    // The cached rest of a listing must not outlive a change, nor the right to read it.
    await client.create('/many/aaa')
    expect((await page({ limit: 1 })).body.children[0]?.name).toBe('aaa')
    const mine = [{ perms: 31, id: { scheme: 'digest', id: digestOf('boss:secret') } }]
    await client.must('setACL', { path: '/many', acl: mine, version: -1 })
    expect((await page({ limit: 1 })).body.error?.code).toBe('noAuth')
  })

  test('that may not be read are listed by name, and do not hide the others', async () => {
    const client = await connect()
    const mine = [{ perms: 31, id: { scheme: 'digest', id: digestOf('boss:secret') } }]
    await client.create('/p')
    await client.create('/p/open')
    await client.must('create', { path: '/p/shut', data: Buffer.from('x'), acl: mine, flags: 0 })
    expect((await call('GET', '/children?path=/p')).body).toMatchObject({
      total: 2,
      children: [{ name: 'open' }],
      hidden: ['shut'],
    })
    expect((await call('GET', '/node?path=/p/shut')).body.error?.code).toBe('noAuth')
    // Deleting a znode is a right in the ACL of its parent.
    expect((await call('DELETE', '/node?path=/p/shut')).body).toMatchObject({ isDone: true })
  })

  test('have ACLs', async () => {
    await create('/a')
    const acl = [{ perms: 'r', scheme: 'world', id: 'anyone' }]
    expect((await call('PUT', '/acl?path=/a&version=0', { body: { acl } })).body).toMatchObject({
      aversion: 1,
    })
    expect((await call('GET', '/acl?path=/a')).body).toEqual({ acl, aversion: 1 })
    expect((await call('PUT', '/acl?path=/a', { body: { acl } })).body.error?.code).toBe('noAuth')
  })

  test('change together, or not at all', async () => {
    await create('/a')
    const failed = await call('POST', '/txn', {
      body: {
        operations: [
          { op: 'create', path: '/b' },
          { op: 'set', path: '/a', version: 5, data: 'x' },
        ],
      },
    })
    expect(failed.body.error).toMatchObject({ code: 'badVersion', path: '/a', operation: 1 })
    expect((await call('GET', '/node?path=/b')).status).toBe(404)
    const done = await call<{ results: object[] }>('POST', '/txn', {
      body: {
        operations: [
          { op: 'check', path: '/a', version: 0 },
          { op: 'create', path: '/b' },
          { op: 'set', path: '/b', data: 'x' },
          { op: 'delete', path: '/a' },
        ],
      },
    })
    expect(done.body.results).toMatchObject([{}, { path: '/b' }, { node: { version: 1 } }, {}])
  })

  test('are deleted recursively once the caller knows the impact', async () => {
    const client = await connect()
    await client.create('/top', 'abc')
    await Promise.all(Array.from({ length: 1200 }, (_, i) => client.create(`/top/${i}`, 'x')))
    await client.create('/top/7/e', '', createFlags.ephemeral)
    const dry = await call('DELETE', '/node?path=/top&recursive=true&dryRun=true')
    expect(dry.body).toEqual({
      path: '/top',
      isDone: false,
      nodes: 1202,
      bytes: 1203,
      ephemerals: 1,
      unreadable: 0,
    })
    expect((await call('DELETE', '/node?path=/top')).body.error?.code).toBe('notEmpty')
    expect((await call('DELETE', '/node?path=/top&recursive=true')).body).toMatchObject({
      isDone: true,
      nodes: 1202,
    })
    expect((await client.call('exists', { path: '/top', watch: false })).err).toBe(-101)
  })

  test('have quotas', async () => {
    await create('/app')
    expect((await call('GET', '/quota?path=/app')).body).toMatchObject({ limits: null })
    await create('/zookeeper/quota/app')
    await create('/zookeeper/quota/app/zookeeper_limits', { data: 'count=5,bytes=100' })
    await create('/zookeeper/quota/app/zookeeper_stats', { data: 'count=1,bytes=0' })
    expect((await call('GET', '/quota?path=/app')).body).toMatchObject({
      limits: { count: 5, bytes: 100, countHardLimit: -1 },
    })
  })

  test('are found by path and by data', async () => {
    const client = await connect()
    await client.create('/find', 'needle in hay')
    await client.create('/find/me-Needle', '')
    await client.must('create', {
      path: '/find/hidden',
      data: Buffer.from('needle'),
      acl: [{ perms: 4, id: openAcl[0]!.id }],
      flags: 0,
    })
    const find = async (parameters: object): Promise<unknown[]> => {
      const url = `${server.adminAddress}/api/v1/search${query({ path: '/find', text: 'NEEDLE', ...parameters })}`
      const lines = (await (await fetch(url)).text()).trim().split('\n')
      return lines.map((line) => JSON.parse(line) as unknown)
    }
    expect(await find({})).toEqual([
      { path: '/find/me-Needle' },
      { done: true, isTruncated: false, hits: 1, scanned: 3, unreadable: 1 },
    ])
    expect(await find({ in: 'data' })).toEqual([
      { path: '/find', excerpt: 'needle in hay' },
      { done: true, isTruncated: false, hits: 1, scanned: 3, unreadable: 1 },
    ])
    expect((await find({ text: 'find', limit: 1 })).at(-1)).toMatchObject({ isTruncated: true })
  })

  test('are found in a subtree only, also below a znode that hides its children', async () => {
    const client = await connect()
    await client.create('/veil')
    await client.create('/veil/top', 'pearl')
    await client.create('/veil/top/pearl')
    await client.create('/veil/top-pearl')
    await client.create('/veiled-pearl')
    const sealed = [{ perms: 1, id: { scheme: 'digest', id: 'somebody:else' } }]
    await client.must('setACL', { path: '/veil', acl: sealed, version: -1 })
    const find = async (path: string, text: string): Promise<unknown[]> => {
      const url = `${server.adminAddress}/api/v1/search${query({ path, text })}`
      const lines = (await (await fetch(url)).text()).trim().split('\n')
      return lines.map((line) => JSON.parse(line) as unknown)
    }
    expect(await find('/veil/top', 'pearl')).toEqual([
      { path: '/veil/top/pearl' },
      { done: true, isTruncated: false, hits: 1, scanned: 2, unreadable: 0 },
    ])
    const all = await find('/', 'pearl')
    expect(all.slice(0, -1)).toEqual([{ path: '/veiled-pearl' }])
    expect(all.at(-1)).toMatchObject({ hits: 1, unreadable: 1 })
  })
})

describe('requests', () => {
  test('that are malformed are refused with a reason', async () => {
    const codeOf = async (method: string, path: string, body?: unknown): Promise<unknown> =>
      (await call(method, path, { body })).body.error
    expect(await codeOf('GET', '/node')).toMatchObject({ message: 'path is missing' })
    expect(await codeOf('GET', '/node?path=a')).toMatchObject({ code: 'badRequest' })
    expect(await codeOf('GET', '/node?path=/a&pth=1')).toMatchObject({
      message: 'There is no parameter pth',
    })
    expect(await codeOf('POST', '/node', { path: '/a', kind: 'odd' })).toMatchObject({
      message: 'kind must be persistent or container or ttl',
    })
    expect(
      await codeOf('POST', '/node', { path: '/a', data: '*', encoding: 'base64' }),
    ).toMatchObject({ message: 'data is not valid base64' })
    expect(await codeOf('GET', '/children?path=/&limit=1001')).toMatchObject({ code: 'badRequest' })
  })

  test('that change something need a content type that pages of other origins cannot send', async () => {
    const url = `${server.adminAddress}/api/v1/node`
    const body = '{"path":"/csrf"}'
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
      const response = await fetch(url, { method: 'POST', body, headers: { 'Content-Type': type } })
      expect(response.status).toBe(415)
    }
    const foreign = await fetch(url, {
      method: 'POST',
      body,
      headers: { ...json, Origin: 'http://elsewhere.example' },
    })
    expect(foreign.status).toBe(403)
    expect((await call('GET', '/node?path=/csrf')).status).toBe(404)
  })

  test('that are too long are refused, and the next ones are served', async () => {
    const data = 'x'.repeat(1_200_000)
    expect((await create('/long', { data })).body.error?.code).toBe('tooLarge')
    expect((await create('/short', { data: 'x' })).status).toBe(200)
  })

  test('of one caller share one session', async () => {
    await Promise.all(Array.from({ length: 20 }, () => call('GET', '/node?path=/')))
    expect(server.peer.db.sessions.size).toBe(1)
  })
})

describe('roles', () => {
  test('of everybody come from api.anonymous, which by default needs a loopback address', async () => {
    expect((await call('GET', '/whoami')).body).toMatchObject({ role: 'write' })
    const reader = await startAnother({ 'api.anonymous': 'read' })
    expect(
      await call('GET', '/data?path=/zookeeper/config', { at: reader, headers: {} }).catch(
        () => undefined,
      ),
    ).toBeUndefined()
    expect((await call('POST', '/node', { at: reader, body: { path: '/a' } })).status).toBe(401)
    const closed = await startAnother({ 'admin.serverAddress': '0.0.0.0' })
    expect((await call('GET', '/node?path=/', { at: closed })).body.error?.code).toBe('signIn')
    const other = { Authorization: 'digest someone:else' }
    expect((await call('GET', '/node?path=/', { at: closed, headers: other })).status).toBe(403)
    expect((await call('GET', '/node?path=/', { at: closed, headers: boss })).status).toBe(200)
  })

  test('metadata allows names and no values', async () => {
    const at = await startAnother({ 'api.anonymous': 'metadata' })
    expect((await call('GET', '/children?path=/', { at })).status).toBe(200)
    expect((await fetch(`${at.adminAddress}/api/v1/data?path=/`)).status).toBe(401)
    expect((await call('GET', '/search?path=/&text=a&in=data', { at })).status).toBe(403)
  })

  test('admin has the same members as for the admin commands', async () => {
    expect((await call('GET', '/whoami', { headers: boss })).body).toMatchObject({
      role: 'admin',
      identities: [
        { scheme: 'ip', id: '127.0.0.1' },
        { scheme: 'digest', id: 'boss' },
      ],
    })
    expect((await call('DELETE', '/sessions?id=0x1')).status).toBe(401)
    expect((await call('DELETE', '/sessions?id=0x1', { headers: boss })).status).toBe(404)
  })

  test('need api.enabled', async () => {
    const off = await startAnother({ 'api.enabled': 'false' })
    expect((await fetch(`${off.adminAddress}/api/v1/whoami`)).status).toBe(404)
  })
})

test('ACLs allow the same as on the client port', async () => {
  const users = [undefined, 'ann:1', 'bob:2'] as const
  const who = {
    everybody: { scheme: 'world', id: 'anyone' },
    ann: { scheme: 'digest', id: digestOf('ann:1') },
    here: { scheme: 'ip', id: '127.0.0.1' },
    elsewhere: { scheme: 'ip', id: '10.0.0.0/8' },
  }
  const client = await connect()
  const acls = Object.values(who).flatMap((id) =>
    [1, 2, 4, 8, 16, 31].map((perms) => ({ perms, id })),
  )
  let n = 0
  let allowed = 0
  let compared = 0
  for (const user of users) {
    const raw = await connect()
    if (user !== undefined)
      await raw.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(user) })
    const headers: Record<string, string> =
      user === undefined ? {} : { Authorization: `digest ${user}` }
    for (const entry of acls) {
      // Each operation gets its own znodes, one for each of the two ways.
      const make = async (): Promise<string> => {
        const path = `/n${n++}`
        await client.create(path)
        await client.create(`${path}/child`)
        await client.must('setACL', { path, acl: [entry], version: -1 })
        return path
      }
      const [a, b] = [await make(), await make()]
      const pairs: [number, number][] = []
      const pair = async (err: Promise<{ err: number }>, http: Promise<number>): Promise<void> => {
        pairs.push([(await err).err === 0 ? 200 : 403, await http])
      }
      const status = async (method: string, path: string, body?: unknown): Promise<number> =>
        (await call(method, path, { headers, body })).status
      const dataStatus = async (path: string): Promise<number> =>
        (await fetch(`${server.adminAddress}/api/v1/data?path=${path}`, { headers })).status
      const anyone = openAcl
      await pair(raw.call('getData', { path: a, watch: false }), dataStatus(b))
      await pair(
        raw.call('getChildren2', { path: a, watch: false }),
        status('GET', `/children?path=${b}`),
      )
      await pair(raw.call('getACL', { path: a }), status('GET', `/acl?path=${b}`))
      await pair(
        raw.call('setData', { path: a, data: null, version: -1 }),
        status('PUT', `/data?path=${b}&version=-1`, {}),
      )
      await pair(
        raw.call('create2', { path: `${a}/x`, data: null, acl: anyone, flags: 0 }),
        status('POST', '/node', { path: `${b}/x` }),
      )
      await pair(
        raw.call('delete', { path: `${a}/child`, version: -1 }),
        status('DELETE', `/node?path=${b}/child`),
      )
      await pair(
        raw.call('setACL', { path: a, acl: anyone, version: -1 }),
        status('PUT', `/acl?path=${b}`, {
          acl: [{ perms: 'crwda', scheme: 'world', id: 'anyone' }],
        }),
      )
      for (const [onPort, onHttp] of pairs) {
        compared++
        if (onPort === 200) allowed++
        expect(onHttp, `${user} ${JSON.stringify(entry)} ${pairs.join(' ')}`).toBe(onPort)
      }
    }
  }
  expect(compared).toBe(3 * 24 * 7)
  expect(allowed).toBeGreaterThan(100)
  expect(allowed).toBeLessThan(compared - 100)
})

describe('sessions', () => {
  test('are listed with their connections, and can be ended', async () => {
    const client = await RawClient.connect(server.clientPort)
    await client.create('/e', '', createFlags.ephemeral)
    const id = `0x${BigInt.asUintN(64, client.sessionId).toString(16)}`
    const { body } = await call<{ sessions: { id: string }[] }>('GET', '/sessions')
    expect(body.sessions[0]).toMatchObject({
      id,
      ephemerals: 1,
      isOfApi: false,
      connection: { address: '127.0.0.1', lastOperation: 'create2' },
    })
    expect(body.sessions[1]).toMatchObject({ isOfApi: true, connection: null })
    const idsOf = async (parameters: object): Promise<readonly string[]> => {
      const found = await call<typeof body & { total: number }>(
        'GET',
        `/sessions${query(parameters)}`,
      )
      expect(found.body.total).toBe(2)
      return found.body.sessions.map((each) => each.id)
    }
    expect(await idsOf({ filter: '127.0.0.1' })).toEqual([id])
    expect(await idsOf({ filter: id.slice(4) })).toEqual([id])
    expect(await idsOf({ filter: 'nobody' })).toEqual([])
    expect(await idsOf({ ids: `${id},0x77` })).toEqual([id])
    expect((await call('GET', '/sessions?ids=seven')).status).toBe(400)
    const end = await call('DELETE', `/sessions?id=${id}`, { headers: boss })
    expect(end.body).toEqual({ id, isDone: true })
    await client.ended
    expect((await call('GET', '/node?path=/e')).status).toBe(404)
  })
})

test('locks show holders and waiters in order', async () => {
  const client = await connect()
  const other = await connect()
  await client.create('/lock')
  await client.create('/lock/_c_a-lock-', 'first', createFlags.ephemeralSequential)
  await other.create('/lock/_c_b-lock-', 'second', createFlags.ephemeralSequential)
  const { body } = await call<{ lines: unknown[] }>('GET', '/locks?path=/')
  expect(body.lines).toMatchObject([
    {
      path: '/lock',
      kind: 'lock',
      contenders: [
        { id: 'first', holds: true },
        { id: 'second', holds: false },
      ],
    },
  ])
})

describe('events', () => {
  /** Reads events until the condition holds. */
  async function read(response: Response, isEnough: (text: string) => boolean): Promise<string> {
    let text = ''
    const decoder = new TextDecoder()
    for await (const piece of response.body!) {
      text += decoder.decode(piece as Uint8Array, { stream: true })
      if (isEnough(text)) break
    }
    return text
  }

  test('report changes below a path that the caller may read', async () => {
    const client = await connect()
    await client.create('/w')
    const response = await fetch(`${server.adminAddress}/api/v1/events?path=/w`)
    await client.create('/other')
    await client.create('/w/a')
    await client.must('setData', { path: '/w/a', data: null, version: -1 })
    const mine = [{ perms: 31, id: { scheme: 'digest', id: digestOf('boss:secret') } }]
    await client.must('create', { path: '/w/hidden', data: null, acl: mine, flags: 0 })
    await client.must('delete', { path: '/w/a', version: -1 })
    const text = await read(response, (all) => all.includes('deleted'))
    expect(text).toContain('event: ready')
    expect(text).toContain('{"type":"created","path":"/w/a"}')
    expect(text).toContain('{"type":"changed","path":"/w/a"}')
    expect(text).not.toContain('other')
    expect(text).not.toContain('hidden')
  })

  test('have a limit for one caller', async () => {
    const url = `${server.adminAddress}/api/v1/events?path=/`
    const gone = new AbortController()
    const open = (): Promise<Response> => fetch(url, { signal: gone.signal })
    const streams = await Promise.all(Array.from({ length: 64 }, open))
    expect(streams.every(({ status }) => status === 200)).toBe(true)
    const { status, body } = await call('GET', '/events?path=/')
    expect([status, body.error?.code]).toEqual([503, 'tooManyStreams'])
    expect(server.peer.stats.limitsReached.event_streams).toBe(1)
    gone.abort()
    await until(() => server.peer.db.watches.count === 0)
    const another = new AbortController()
    expect((await fetch(url, { signal: another.signal })).status).toBe(200)
    another.abort()
  })

  test('remove their watch when it is no longer needed', async () => {
    const gone = new AbortController()
    const response = await fetch(`${server.adminAddress}/api/v1/events?path=/`, {
      signal: gone.signal,
    })
    await read(response, (all) => all.includes('ready'))
    gone.abort()
    await until(() => server.peer.db.watches.count === 0)
  })
})

describe('an ensemble', () => {
  test('shows its members, and can hand leadership over', async () => {
    const ensemble = await EmbeddedEnsemble.start({
      ...withApi,
      'admin.serverPort': '0',
    } as Record<string, string>)
    onTestFinished(() => ensemble.dispose())
    const follower = ensemble.server(ensemble.followers[0]!)
    const before = ensemble.leader
    const { body } = await call<{ members: object[]; leader: string }>('GET', '/ensemble', {
      at: follower,
    })
    expect(body).toMatchObject({ mode: 'ensemble', leader: String(before) })
    expect(body.members).toHaveLength(3)
    expect(body.members).toContainEqual(
      expect.objectContaining({ isSelf: true, role: 'follower', state: 'serving' }),
    )
    // A write through a follower reaches every server.
    await call('POST', '/node', { at: follower, body: { path: '/a' } })
    const client = await ensemble.connect(before)
    await client.must('sync', { path: '/' })
    await client.must('getData', { path: '/a', watch: false })
    await client.close()
    // Sessions of other servers can be ended here.
    const far = await ensemble.connect(before)
    const id = `0x${BigInt.asUintN(64, far.sessionId).toString(16)}`
    expect(
      (await call('DELETE', `/sessions?id=${id}`, { at: follower, headers: boss })).status,
    ).toBe(200)
    await far.ended
    const leader = ensemble.server(before)
    const over = await call<{ leader: string }>('POST', '/ensemble/hand-over', {
      at: leader,
      headers: boss,
      body: {},
    })
    expect(over.body.leader).not.toBe(String(before))
  })

  test('without a quorum shows its state, and refuses the rest', async () => {
    const ensemble = await EmbeddedEnsemble.start({ ...withApi, 'admin.serverPort': '0' } as Record<
      string,
      string
    >)
    onTestFinished(() => ensemble.dispose())
    const [one, two] = ensemble.followers as [number, number]
    await Promise.all([ensemble.stop(two), ensemble.stop(ensemble.leader)])
    const at = ensemble.server(one)
    await until(() => !at.peer.isServing)
    expect((await call('GET', '/node?path=/', { at })).body.error?.code).toBe('notServing')
    expect((await call('GET', '/ensemble', { at })).body).toMatchObject({ leader: null })
  })
})
