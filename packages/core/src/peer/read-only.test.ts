/** A server and its clients while there is no leader. */
import { errorCodes, type Acl } from '@zabra/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'

const { notReadOnly, ok } = errorCodes
const open: Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const readOnly = true

let ensemble: TestEnsemble
/** The server that is cut off, and a session that the ensemble knows. */
let alone: TestServer
let member: TestClient

beforeEach(async () => {
  const members = { 1: 'participant', 2: 'participant', 3: 'participant' } as const
  ensemble = new TestEnsemble(members, { readOnlyMode: true })
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  alone = ensemble.followers[0]!
  member = await alone.connect({ timeOut: 60_000, readOnly })
  await member.create('/a')
  await member.create('/e', 1)
})

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

const others = (): TestServer[] => [...ensemble.servers.values()].filter((one) => one !== alone)

async function cutOff(): Promise<void> {
  for (const server of others()) server.crash()
  await ensemble.until('it serves reads', () => alone.peer!.isReadOnly)
}

test('with a quorum, a read-only client may write', () => {
  expect(member.isReadOnly).toBe(false)
  expect(alone.peer!.isReadOnly).toBe(false)
})

describe('a server that finds no leader', () => {
  test('serves no client for two seconds, and then reads', async () => {
    for (const server of others()) server.crash()
    await ensemble.until('it looks', () => alone.peer!.state === 'looking')
    await ensemble.pass(1950)
    expect(await alone.connect({ readOnly })).toMatchObject({
      isClosed: true,
      timeoutMs: undefined,
    })
    await ensemble.pass(100)
    expect(alone.events.at(-1)).toEqual({ type: 'readOnly', afterMs: 2000 })
    const client = await alone.connect({ readOnly })
    expect(client.isReadOnly).toBe(true)
    expect(client.sessionId >> 56n).toBe(alone.id)
    expect(await client.exists('/a')).toBe(ok)
  })

  test('may have been the leader', async () => {
    const { leader } = ensemble
    ensemble.isolate(leader)
    await ensemble.until('it serves reads', () => leader.peer!.isReadOnly)
    expect(await leader.connect({ readOnly })).toMatchObject({ isReadOnly: true })
    ensemble.heal()
    await ensemble.until('it follows', () => leader.isServing && !leader.peer!.isReadOnly)
  })

  test('may never have had one', async () => {
    await cutOff()
    alone.crash()
    await alone.start()
    await ensemble.until('it serves reads', () => alone.peer!.isReadOnly)
    const client = await alone.connect({ readOnly })
    expect(await client.exists('/a')).toBe(ok)
  })

  test('refuses requests that need a quorum, in order', async () => {
    await cutOff()
    const client = await alone.connect({ readOnly })
    const node = { path: '/b', data: null, acl: open, flags: 0 }
    const { lastZxid } = alone
    client.ask('exists', { path: '/a', watch: true })
    client.ask('create', node)
    client.ask('create2', node)
    client.ask('createContainer', { ...node, flags: 4 })
    client.ask('createTTL', { ...node, flags: 5, ttl: 1000n })
    client.ask('setData', { path: '/a', data: null, version: -1 })
    client.ask('setACL', { path: '/a', acl: open, version: -1 })
    client.ask('delete', { path: '/a', version: -1 })
    client.ask('multi', [])
    client.ask('sync', { path: '/' })
    client.ask('multiRead', [])
    await ensemble.settle()
    expect(client.replies.map(({ xid }) => xid)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    const refusals = Array.from({ length: 9 }, () => notReadOnly)
    expect(client.replies.map(({ err }) => err)).toEqual([ok, ...refusals, ok])
    expect(alone.lastZxid).toBe(lastZxid)
    expect(alone.paths).toEqual(['/a', '/e'])
  })

  test('refuses clients that are not read-only, without a reply', async () => {
    await cutOff()
    expect(await alone.connect()).toMatchObject({ isClosed: true, timeoutMs: undefined })
  })

  test('refuses a global session, whatever its password', async () => {
    await cutOff()
    for (const password of [member.password, new Uint8Array(16)]) {
      const session = { sessionId: member.sessionId, password }
      const client = await alone.connect({ session, readOnly })
      expect(client).toMatchObject({ isClosed: true, timeoutMs: undefined })
    }
    await alone.connect({ readOnly })
    expect(alone.peer!.db.sessions.has(member.sessionId)).toBe(true)
  })

  test('keeps sessions for itself: they are resumed, closed and expire here', async () => {
    await cutOff()
    const client = await alone.connect({ readOnly, timeOut: 1000 })
    const again = await alone.connect({ session: client, readOnly, timeOut: 1000 })
    expect(again).toMatchObject({ sessionId: client.sessionId, isReadOnly: true })
    expect(client.isClosed).toBe(true)
    const short = await alone.connect({ readOnly })
    expect(await short.call('closeSession', {} as never)).toBe(ok)
    for (let passed = 0; passed < 3000; passed += 200) {
      again.ping()
      await ensemble.pass(200)
    }
    expect(again.isClosed).toBe(false)
    await ensemble.until('it expires', () => again.isClosed, 1400)
    for (const session of [short, again]) {
      const gone = await alone.connect({ session, readOnly })
      expect(gone).toMatchObject({ timeoutMs: 0, isReadOnly: true })
    }
    expect(alone.peer!.localSessions!.size).toBe(0)
  })

  test('sends its clients away when there is a quorum again, and the ensemble goes on', async () => {
    await cutOff()
    const client = await alone.connect({ readOnly, timeOut: 60_000 })
    await others()[0]!.start()
    await ensemble.serving(2)
    expect(alone.peer!.isReadOnly).toBe(false)
    expect(client.isClosed).toBe(true)
    expect(await alone.connect({ session: client, readOnly })).toMatchObject({ timeoutMs: 0 })
    const back = await alone.connect({ session: member, readOnly })
    expect(back).toMatchObject({ sessionId: member.sessionId, isReadOnly: false })
    expect(await back.create('/b')).toBe(ok)
  })

  test('may get a snapshot from its next leader, even if clients had watches', async () => {
    await cutOff()
    alone.crash()
    for (const { name } of await alone.disk.list('data/version-2')) {
      await alone.disk.remove(`data/version-2/${name}`)
    }
    await alone.start()
    await ensemble.until('it serves reads', () => alone.peer!.isReadOnly)
    const client = await alone.connect({ readOnly })
    client.ask('exists', { path: '/a', watch: true })
    for (const server of others()) await server.start()
    await ensemble.serving(3)
    expect(alone.paths).toEqual(['/a', '/e'])
  })

  test('can be stopped', async () => {
    await cutOff()
    const client = await alone.connect({ readOnly })
    await alone.stop()
    expect(client.isClosed).toBe(true)
  })
})

describe('a server whose disk is full', () => {
  async function fillDisk(): Promise<void> {
    alone.disk.fault = (call) => (call === 'write' || call === 'create' ? 'ENOSPC' : undefined)
    const client = await ensemble.leader.connect()
    expect(await client.create('/later')).toBe(ok)
    await ensemble.until('it serves reads', () => alone.peer!.isReadOnly)
  }

  test('serves reads until there is room', async () => {
    await fillDisk()
    expect(alone.events.at(-1)).toEqual({ type: 'readOnlyWhileFull' })
    const client = await alone.connect({ readOnly })
    expect(client.isReadOnly).toBe(true)
    expect(await client.exists('/a')).toBe(ok)
    expect(await client.create('/b')).toBe(notReadOnly)
    alone.disk.fault = undefined
    await ensemble.until('it follows', () => alone.isServing && !alone.peer!.isReadOnly)
    expect(client.isClosed).toBe(true)
    const back = await alone.connect({ session: member, readOnly })
    expect(await back.exists('/later')).toBe(ok)
    expect(await back.create('/b')).toBe(ok)
  })

  test('serves no client that wants to write or has a global session', async () => {
    await fillDisk()
    expect(await alone.connect()).toMatchObject({ isClosed: true, timeoutMs: undefined })
    expect(await alone.connect({ session: member, readOnly })).toMatchObject({ isClosed: true })
  })

  test('does not show uncommitted transactions when there is room again', async () => {
    await fillDisk()
    const client = await alone.connect({ readOnly })
    client.ask('exists', { path: '/later', watch: true })
    await ensemble.settle()
    const told = client.replies.length
    alone.disk.fault = undefined
    await ensemble.until('it follows', () => alone.isServing && !alone.peer!.isReadOnly)
    expect(client.replies).toHaveLength(told)
  })

  test('serves reads even if it starts with a full disk', async () => {
    alone.crash()
    await ensemble.pass(100)
    const promised = alone.epochs!.accepted
    ensemble.leader.crash()
    await ensemble.pass(100)
    for (const server of others()) if (!server.isUp) await server.start()
    await ensemble.until('they go on', () => others().every((one) => one.isServing))
    await alone.start()
    alone.disk.fault = (call) => (call === 'write' || call === 'create' ? 'ENOSPC' : undefined)
    await ensemble.until('it serves reads', () => alone.peer!.isReadOnly)
    expect(alone.epochs!.accepted).toBe(promised)
    const client = await alone.connect({ readOnly })
    expect(await client.exists('/a')).toBe(ok)
    alone.disk.fault = undefined
    await ensemble.until('it follows', () => alone.isServing && !alone.peer!.isReadOnly)
  })

  test('can be stopped', async () => {
    await fillDisk()
    const client = await alone.connect({ readOnly })
    await alone.stop()
    expect(client.isClosed).toBe(true)
  })
})
