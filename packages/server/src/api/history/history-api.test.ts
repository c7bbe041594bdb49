import { createFlags } from '@zabra/protocol'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DescribedApi } from '../../../test/support/described-api.ts'
import { openAcl, RawClient } from '../../../test/support/raw-client.ts'
import { digestOf } from '../../auth/authenticator.ts'
import { startServer } from '../../embedded.ts'
import type { RunningServer } from '../../running/running-server.ts'

let server: RunningServer
let api: DescribedApi
let client: RawClient

beforeEach(async () => {
  server = await startServer({
    config: {
      'admin.enableServer': 'true',
      'admin.serverPort': 0,
      'admin.identities': `digest:${digestOf('boss:secret')}`,
    },
  })
  api = new DescribedApi(server)
  client = await RawClient.connect(server.clientPort)
})
afterEach(async () => {
  await client.close()
  await server.stop()
})

interface Change {
  readonly zxid: string
  readonly kind: string
  readonly path: string | null
  readonly version: number | null
  readonly data?: string
  readonly part: number
  readonly parts: number
  readonly session: string | null
  readonly client: object | null
}
interface Changes {
  readonly changes: readonly Change[]
  readonly next: string | null
  readonly upTo: string
}
interface Moment {
  readonly zxid: string
  readonly time: string
}
interface PastNode {
  readonly path: string
  readonly version: number
  readonly data?: string
}

const bytes = (text: string): Uint8Array => Buffer.from(text)

async function create(path: string, data = '', acl = openAcl, flags = 0): Promise<bigint> {
  const { zxid } = await client.call('create', { path, data: bytes(data), acl, flags })
  return zxid
}

async function set(path: string, data: string): Promise<bigint> {
  return (await client.call('setData', { path, data: bytes(data), version: -1 })).zxid
}

const remove = async (path: string): Promise<bigint> =>
  (await client.call('delete', { path, version: -1 })).zxid

const hex = (zxid: bigint): string => `0x${zxid.toString(16)}`

async function changes(parameters: object): Promise<readonly Change[]> {
  const { status, body } = await api.get<Changes>('/history/changes', parameters)
  expect(status).toBe(200)
  return body.changes
}

describe('changes', () => {
  test('are listed newest first, by path, kind, session and range, page by page', async () => {
    await create('/a', 'one')
    const second = await set('/a', 'two')
    await create('/b', 'other')
    await remove('/a')
    expect(await changes({ path: '/a', data: true })).toMatchObject([
      { kind: 'delete', path: '/a', version: null },
      { kind: 'set', path: '/a', version: 1, data: 'two', dataLength: 3 },
      { kind: 'create', path: '/a', nodeKind: 'persistent', data: 'one' },
    ])
    const [first] = await changes({ kinds: 'create', oldestFirst: true, limit: 1 })
    expect(first).toMatchObject({ path: '/a' })
    expect(await changes({ from: hex(second), to: hex(second) })).toMatchObject([{ kind: 'set' }])
    const page = await api.get<Changes>('/history/changes', { path: '/a', limit: 2 })
    expect(page.body.changes).toHaveLength(2)
    const rest = await changes({ path: '/a', limit: 2, next: page.body.next })
    expect(rest).toMatchObject([{ kind: 'create' }])
    const session = page.body.changes[0]!.session
    expect((await changes({ session })).map(({ kind }) => kind)).toEqual([
      'delete',
      'create',
      'set',
      'create',
      'openSession',
    ])
  })

  test('name the client of the session, without password hashes, as far as it is known', async () => {
    await client.must('auth', { type: 0, scheme: 'digest', auth: bytes('ann:secret') })
    await create('/who')
    await api.post('/node', { path: '/by-api' })
    const [made, byApi] = await changes({ path: '/', kinds: 'create', oldestFirst: true })
    expect(made!.client).toEqual({
      address: '127.0.0.1',
      identities: ['ip:127.0.0.1', 'digest:ann'],
      isOfApi: false,
    })
    expect(byApi!.client).toMatchObject({ address: '127.0.0.1', isOfApi: true })
    await client.close()
    client = await RawClient.connect(server.clientPort)
    const [after] = await changes({ path: '/who' })
    expect(after!.client).toMatchObject({ address: '127.0.0.1', identities: [] })
  })

  test('are on the pages up to a zxid that the answer names', async () => {
    const last = await create('/named')
    const { body } = await api.get<Changes>('/history/changes')
    expect(BigInt(body.upTo)).toBeGreaterThanOrEqual(last)
    const earlier = await api.get<Changes>('/history/changes', { to: hex(last - 1n) })
    expect(earlier.body.upTo).toBe(hex(last - 1n))
  })

  test('are counted by their time', async () => {
    await create('/counted')
    for (let i = 0; i < 20; i++) await set('/counted', String(i))
    const { body: all } = await api.get<{ first: Moment; last: Moment }>('/history')
    const { body } = await api.get<{ counts: number[]; total: number }>('/history/density', {
      from: all.first.time,
      to: all.last.time,
      bins: 7,
    })
    expect(body.counts).toHaveLength(7)
    const { length } = await changes({ from: all.first.time, to: all.last.time, limit: 1000 })
    expect(body.total).toBe(length)
    expect((await api.get('/history/density', { from: '0x1', to: '0x2' })).status).toBe(400)
    const reversed = { from: all.last.time, to: '2020-01-01T00:00Z' }
    expect((await api.get('/history/density', reversed)).status).toBe(400)
  })

  test('of a multi share a zxid, and refused ones are not listed', async () => {
    await client.call('multi', [
      { type: 1, request: { path: '/m', data: null, acl: openAcl, flags: 0 } },
      { type: 1, request: { path: '/m/n', data: null, acl: openAcl, flags: 0 } },
    ])
    await client.call('create', { path: '/x/y', data: null, acl: openAcl, flags: 0 })
    const found = await changes({ path: '/', kinds: 'create', oldestFirst: true })
    expect(found.map(({ path, part, parts }) => ({ path, part, parts }))).toEqual([
      { path: '/m', part: 0, parts: 2 },
      { path: '/m/n', part: 1, parts: 2 },
    ])
    expect(found[0]!.zxid).toBe(found[1]!.zxid)
  })

  test('include the ephemeral nodes that went with their session', async () => {
    await create('/e', '', openAcl, createFlags.ephemeral)
    await client.call('closeSession', {})
    expect(await changes({ path: '/e' })).toMatchObject([
      { kind: 'delete', cause: 'sessionEnd' },
      { kind: 'create', nodeKind: 'ephemeral' },
    ])
    client = await RawClient.connect(server.clientPort)
  })

  test('are streamed live, filtered', async () => {
    const response = await api.raw('/history/stream', { path: '/live', data: true })
    const events = eventsOf(response)
    expect((await events.next()).value).toMatchObject({ event: 'ready' })
    await create('/elsewhere')
    const zxid = await create('/live', 'now')
    expect((await events.next()).value).toMatchObject({
      event: 'changes',
      data: {
        changes: [{ zxid: hex(zxid), kind: 'create', path: '/live', data: 'now' }],
        missed: 0,
      },
    })
    await events.return(undefined)
  })
})

async function* eventsOf(
  response: Response,
): AsyncGenerator<{ event: string; data: unknown }, void, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? []
      text = text.slice(end + 2)
      if (event !== undefined) yield { event, data: JSON.parse(data ?? 'null') as unknown }
    }
  }
}

describe('the past', () => {
  test('has znodes, data, children and subtrees as they were', async () => {
    await create('/p', 'root')
    await create('/p/a', 'a0')
    const then = await create('/p/b', 'b0')
    await set('/p/a', 'a1')
    await remove('/p/b')
    await create('/p/c')
    const at = hex(then)
    expect((await api.get('/history/node', { path: '/p/a', at })).body).toMatchObject({
      zxid: at,
      node: { version: 0, dataLength: 2, acl: [{ scheme: 'world' }] },
    })
    const { body: parent } = await api.get<{ node: object }>('/history/node', { path: '/p', at })
    expect(parent.node).toMatchObject({ numChildren: 2, cversion: 2, pzxid: at })
    const made = (await api.get<{ after: object }>('/history/change', { path: '/p', zxid: at }))
      .body
    expect(made.after).toMatchObject({ numChildren: 2, cversion: 2, pzxid: at })
    const data = await api.raw('/history/data', { path: '/p/b', at })
    expect(await data.text()).toBe('b0')
    const part = await api.raw('/history/data', { path: '/p', at }, { Range: 'bytes=1-2' })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 1-2/4',
      'oo',
    ])
    const after = await api.raw('/history/data', { path: '/p', at }, { Range: 'bytes=4-' })
    expect(after.status).toBe(416)
    const { body } = await api.get<{ children: readonly PastNode[]; node: object }>(
      '/history/children',
      { path: '/p', at },
    )
    expect(body.children.map(({ path }) => path)).toEqual(['/p/a', '/p/b'])
    expect(body.node).toMatchObject({ numChildren: 2 })
    const lines = (await (await api.raw('/history/subtree', { path: '/p', at, data: true })).text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as PastNode)
    expect(lines).toMatchObject([
      { path: '/p', data: 'root' },
      { path: '/p/a', data: 'a0' },
      { path: '/p/b', data: 'b0' },
      { count: 3, isPartial: false },
    ])
    const gone = await api.get('/history/node', { path: '/p/c', at })
    expect([gone.status, gone.body.error?.code]).toEqual([404, 'noNode'])
    const future = await api.get('/history/node', { path: '/p', at: '0xffffffff' })
    expect([future.status, future.body.error?.code]).toEqual([404, 'notYet'])
    const old = await api.get('/history/node', { path: '/p', at: '2001-01-01T00:00Z' })
    expect([old.status, old.body.error?.code]).toEqual([410, 'tooOld'])
  })

  test('shows a change with the previous state, and the difference between two points', async () => {
    await create('/d')
    const first = await create('/d/stays', 'old')
    await create('/d/comes')
    const changed = await set('/d/stays', 'new')
    await remove('/d/comes')
    const last = await create('/d/made', 'x')
    expect(
      (await api.get('/history/change', { path: '/d/stays', zxid: hex(changed) })).body,
    ).toMatchObject({ before: { data: 'old' }, after: { data: 'new', version: 1 } })
    const { body } = await api.get('/history/diff', {
      path: '/d',
      from: hex(first),
      to: hex(last),
      data: true,
    })
    expect(body).toMatchObject({
      total: 2,
      isPartial: false,
      differences: [
        { path: '/d/made', before: null, after: { data: 'x' } },
        { path: '/d/stays', before: { data: 'old' }, after: { data: 'new' }, isDataChanged: true },
      ],
    })
  })

  test('says how far it reaches, and proves a tree by its digest', async () => {
    const last = await create('/here')
    const { body } = await api.get<{ last: { zxid: string } }>('/history')
    expect(BigInt(body.last.zxid)).toBeGreaterThanOrEqual(last)
    const admin = new DescribedApi(server, 'boss:secret')
    expect((await admin.get('/history/verify', { at: hex(last) })).body).toMatchObject({
      isVerified: true,
    })
  })
})

describe('a deleted subtree', () => {
  test('is restored with data, ACLs and kinds, and nothing else changes', async () => {
    const acl = [...openAcl, { perms: 1, id: { scheme: 'digest', id: 'ann:x' } }]
    await create('/u', 'top')
    await create('/u/kept', 'now')
    await create('/u/lost', 'lost data', acl)
    const container = { data: bytes('b'), acl: openAcl, flags: createFlags.container }
    await client.call('createContainer', { path: '/u/lost/below', ...container })
    await create('/u/lost/e', '', openAcl, createFlags.ephemeral)
    await remove('/u/lost/e')
    await remove('/u/lost/below')
    await remove('/u/lost')
    const dry = await api.post('/history/undelete', { path: '/u/lost', dryRun: true })
    expect(dry.body).toMatchObject({ isDone: false, created: 1 })
    const [deletion] = await changes({ path: '/u/lost/e', exact: true, kinds: 'delete' })
    const at = hex(BigInt(deletion!.zxid) - 1n)
    const done = await api.post('/history/undelete', { path: '/u/lost', at })
    expect(done.body).toMatchObject({ isDone: true, created: 2, ephemerals: 1, existing: 0 })
    const back = await client.must('getData', { path: '/u/lost', watch: false })
    expect(Buffer.from(back.data!).toString()).toBe('lost data')
    expect((await client.must('getACL', { path: '/u/lost' })).acl).toEqual(acl)
    expect((await api.get('/node', { path: '/u/lost/below' })).body).toMatchObject({
      kind: 'container',
    })
    expect((await client.must('getData', { path: '/u/kept', watch: false })).stat.version).toBe(0)
  })

  test('an old version can replace the version that the caller has seen', async () => {
    const then = await create('/v', 'good')
    await set('/v', 'bad')
    const at = hex(then)
    const stale = await api.post('/history/restore', { path: '/v', at, version: 0 })
    expect([stale.status, stale.body.error?.code]).toEqual([409, 'badVersion'])
    const done = await api.post('/history/restore', { path: '/v', at, version: 1 })
    expect(done.body).toMatchObject({ zxid: at, node: { version: 2 } })
    const now = await client.must('getData', { path: '/v', watch: false })
    expect(Buffer.from(now.data!).toString()).toBe('good')
  })
})

test('clients of sessions are visible to administrators only, where others reach the port', async () => {
  const exposed = await startServer({
    config: {
      'admin.enableServer': 'true',
      'admin.serverPort': 0,
      'admin.serverAddress': '0.0.0.0',
      'admin.identities': `digest:${digestOf('boss:secret')}`,
      'api.anonymous': 'read',
    },
  })
  onTestFinished(() => exposed.stop())
  const writer = await RawClient.connect(exposed.clientPort)
  onTestFinished(() => writer.close())
  await writer.create('/x')
  const clientFor = async (credentials?: string): Promise<object | null | undefined> => {
    const caller = new DescribedApi(exposed, credentials)
    const { body } = await caller.get<Changes>('/history/changes', { path: '/x' })
    return body.changes[0]?.client
  }
  expect(await clientFor()).toBeNull()
  expect(await clientFor('boss:secret')).toMatchObject({ address: '127.0.0.1' })
})

test('a server without history says so', async () => {
  const off = await startServer({
    config: { 'admin.enableServer': 'true', 'admin.serverPort': 0, 'history.enabled': 'false' },
  })
  onTestFinished(() => off.stop())
  const { status, body } = await new DescribedApi(off).get('/history')
  expect([status, body.error?.code]).toEqual([501, 'historyOff'])
})
