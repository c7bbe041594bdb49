/** Sessions that only the server of their client knows. */
import { errorCodes, MultiResponse, Reader, type Acl } from '@zabra/protocol'
import { afterEach, describe, expect, test } from 'vitest'
import { LearnerProgress } from '../consensus/zab/learner-progress.ts'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'

const { ephemeralOnLocalSession, runtimeInconsistency, sessionExpired } = errorCodes
const open: Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const ephemeral = 1

let ensemble: TestEnsemble
let leader: TestServer
let follower: TestServer
let other: TestServer

async function serving(upgrading = true, areLocal = true): Promise<void> {
  const members = { 1: 'participant', 2: 'participant', 3: 'participant' } as const
  ensemble = new TestEnsemble(members, areLocal ? { localSessions: { upgrading } } : {})
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  leader = ensemble.leader
  ;[follower, other] = ensemble.followers as [TestServer, TestServer]
}

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

const roles = ['leader', 'follower'] as const
const serverOf = (role: (typeof roles)[number]): TestServer =>
  role === 'leader' ? leader : follower

describe.each(roles)('a session that is local to a %s', (role) => {
  test('costs no transaction, and no other server knows it', async () => {
    await serving()
    const here = serverOf(role)
    const client = await here.connect({ timeOut: 4000 })
    expect(client.sessionId >> 56n).toBe(here.id)
    expect(leader.lastZxid).toBe('1.0')
    expect(here.peer!.localSessions!.size).toBe(1)
    for (const server of [leader, follower, other]) {
      const again = await server.connect({ session: client, timeOut: 5000 })
      expect(again.timeoutMs).toBe(server === here ? 5000 : 0)
      expect(server.peer!.db.sessions.size).toBe(0)
    }
    expect(client.isClosed).toBe(true)
  })

  test('changes persistent nodes without becoming global', async () => {
    await serving()
    const client = await serverOf(role).connect()
    expect(await client.create('/a')).toBe(0)
    expect(await multi(client, ['/b', 0], ['/c', 2])).toBe(0)
    expect(await client.call('sync', { path: '/' })).toBe(0)
    expect(await client.call('delete', { path: '/a', version: -1 })).toBe(0)
    await ensemble.pass(50)
    for (const server of ensemble.servers.values()) {
      expect(server.lastZxid).toBe('1.3')
      expect(server.paths).toEqual(['/b', '/c0000000002'])
    }
  })

  test('becomes global with its first ephemeral, and the order of its requests is kept', async () => {
    await serving()
    const client = await serverOf(role).connect()
    await client.create('/a')
    const asked = [
      client.ask('exists', { path: '/e', watch: false }),
      client.askCreate('/b'),
      client.askCreate('/e', ephemeral),
      client.ask('exists', { path: '/e', watch: false }),
      client.askCreate('/e', ephemeral),
      client.askCreate('/f', ephemeral),
    ]
    await ensemble.until('all are answered', () => client.replies.length === 1 + asked.length)
    const replies = client.replies.slice(1)
    expect(replies.map(({ xid }) => xid)).toEqual(asked)
    expect(replies.map(({ err }) => err)).toEqual([-101, 0, 0, 0, -110, 0])
    // The third transaction is the one of the session.
    expect(replies.map(({ zxid }) => zxid & 0xffn)).toEqual([1n, 2n, 4n, 4n, 5n, 6n])
    expect(serverOf(role).peer!.localSessions!.size).toBe(0)
    const moved = await other.connect({ session: client })
    expect(moved.sessionId).toBe(client.sessionId)
    expect(await moved.call('closeSession', {} as never)).toBe(0)
    await ensemble.pass(50)
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/a', '/b'])
  })

  test('becomes global by a multi too, with the timeout it was given first', async () => {
    await serving()
    const first = await serverOf(role).connect({ timeOut: 4000 })
    const client = await serverOf(role).connect({ session: first, timeOut: 7000 })
    expect(await multi(client, ['/a', 0], ['/e', ephemeral])).toBe(0)
    await ensemble.pass(50)
    for (const server of ensemble.servers.values()) {
      expect([...server.peer!.db.sessions]).toEqual([[client.sessionId, 4000]])
    }
  })

  test('lives on as a global one while its client sends pings, and expires everywhere', async () => {
    await serving()
    const client = await serverOf(role).connect({ timeOut: 1000 })
    await client.create('/e', ephemeral)
    for (let passed = 0; passed < 4000; passed += 200) {
      client.ping()
      await ensemble.pass(200)
    }
    expect(leader.paths).toEqual(['/e'])
    await ensemble.until('it expires', () => client.isClosed, 2500)
    await ensemble.pass(50)
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual([])
  })

  test('gets the reply for its ephemeral even if its client numbers requests from zero', async () => {
    await serving()
    const client = await serverOf(role).connect()
    client['xid'] = -1
    expect(await client.create('/e', ephemeral)).toBe(0)
    expect(client.replies).toMatchObject([{ xid: 0, zxid: (1n << 32n) + 2n }])
  })

  test('that creates an ephemeral and ends removes the ephemeral', async () => {
    await serving()
    const client = await serverOf(role).connect()
    client.askCreate('/e', ephemeral)
    expect(await client.call('closeSession', {} as never)).toBe(0)
    await ensemble.pass(50)
    expect(leader.lastZxid).toBe('1.3')
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual([])
  })

  test('is closed without a transaction, after its earlier requests', async () => {
    await serving()
    const client = await serverOf(role).connect()
    client.askCreate('/a')
    client.ask('exists', { path: '/a', watch: false })
    client.ask('closeSession', {} as never)
    client.askCreate('/never')
    await ensemble.until('it is over', () => client.isClosed, 1000)
    expect(client.replies.map(({ xid, err }) => [xid, err])).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
    ])
    expect(serverOf(role).peer!.outstandingRequests).toBe(0)
    await ensemble.pass(50)
    expect(leader.lastZxid).toBe('1.1')
    expect(await serverOf(role).connect({ session: client })).toMatchObject({ timeoutMs: 0 })
  })

  test('is closed at once where nothing is in flight', async () => {
    await serving()
    const client = await serverOf(role).connect()
    expect(await client.call('closeSession', {} as never)).toBe(0)
    await ensemble.settle()
    expect(client.isClosed).toBe(true)
    expect(serverOf(role).peer!.localSessions!.size).toBe(0)
  })

  test('expires on its server, and no other server knows of it', async () => {
    await serving()
    const here = serverOf(role)
    const client = await here.connect({ timeOut: 1000 })
    for (let passed = 0; passed < 4000; passed += 200) {
      client.ping()
      await ensemble.pass(200)
    }
    expect(client.isClosed).toBe(false)
    await ensemble.until('it expires', () => client.isClosed, 1400)
    expect(here.peer!.stats.sessionsExpired).toBe(1)
    expect(leader.lastZxid).toBe('1.0')
    expect(await here.connect({ session: client })).toMatchObject({ timeoutMs: 0 })
  })

  test('ends with the role of its server', async () => {
    await serving()
    const here = serverOf(role)
    const client = await here.connect({ timeOut: 20_000 })
    for (const server of [leader, follower, other]) if (server !== here) server.crash()
    await ensemble.until('its connection ends', () => client.isClosed)
    await ensemble.start(...[1, 2, 3].filter((id) => BigInt(id) !== here.id))
    await ensemble.serving(3)
    expect(await here.connect({ session: client })).toMatchObject({ timeoutMs: 0 })
  })

  test('that may not become global is refused ephemerals, and nothing else', async () => {
    await serving(false)
    const here = serverOf(role)
    const client = await here.connect()
    expect(await client.create('/e', ephemeral)).toBe(ephemeralOnLocalSession)
    expect(await client.create('/no/such', 3)).toBe(ephemeralOnLocalSession)
    const parts = await multiParts(client, ['/a', 0], ['/e', ephemeral], ['/b', 0])
    // A follower does not look into what its leader refused.
    const reason = role === 'leader' ? ephemeralOnLocalSession : sessionExpired
    expect(parts).toEqual([0, reason, runtimeInconsistency])
    expect(await client.create('/a')).toBe(0)
    expect(leader.lastZxid).toBe('1.4')
    expect(here.peer!.localSessions!.size).toBe(1)
  })

  test('is refused an ephemeral in any kind of create', async () => {
    await serving()
    const client = await serverOf(role).connect()
    const request = { path: '/e', data: null, acl: open, flags: ephemeral }
    expect(await client.call('createContainer', request)).toBe(sessionExpired)
    expect(await client.call('createTTL', { ...request, ttl: -1n })).toBe(sessionExpired)
    expect(leader.lastZxid).toBe('1.2')
  })
})

test('a leader takes writes of sessions it does not know, but not of its own past ones', async () => {
  await serving()
  const idOf = (server: TestServer): bigint => (server.id << 56n) + 5n
  expect(await answerTo(idOf(follower))).toBe(errorCodes.noNode)
  expect(await answerTo(idOf(leader))).toBe(sessionExpired)
})

test('a leader takes no late write of a session of another server that has just ended', async () => {
  await serving()
  const client = await follower.connect()
  expect(await client.create('/e', ephemeral)).toBe(0)
  const { sessionId } = client
  expect(leader.peer!.db.sessions.has(sessionId)).toBe(true)
  expect(await client.call('closeSession', {})).toBe(0)
  expect(await answerTo(sessionId)).toBe(sessionExpired)
})

test('a leader without local sessions takes no writes of sessions it does not know', async () => {
  await serving(false, false)
  expect(await answerTo((follower.id << 56n) + 5n)).toBe(sessionExpired)
})

/** The leader's answer to a write that another server forwards for a session. */
async function answerTo(sessionId: bigint): Promise<number> {
  const { role } = leader.peer as unknown as {
    role: {
      proposer: {
        remoteWrite(from: object, request: object, body: Reader): void
        inFlight: { first: { txn: { body: { err: number } } } }
      }
    }
  }
  const { proposer } = role
  const body = new Reader(new Uint8Array([0, 0, 0, 2, 0x2f, 0x78, 0xff, 0xff, 0xff, 0xff]))
  const link = { remoteAddress: '', unsentBytes: 0, packetsSent: 0, packetsReceived: 0 }
  const learner = new LearnerProgress(link, 0)
  proposer.remoteWrite(learner, { sessionId, xid: 1, type: 2, identities: [] }, body)
  const { err } = proposer.inFlight.first.txn.body
  await ensemble.pass(100)
  return err
}

type Node = readonly [path: string, flags: number]

function multi(client: TestClient, ...nodes: Node[]): Promise<number> {
  const parts = nodes.map(([path, flags]) => ({
    type: 1 as const,
    request: { path, data: null, acl: open, flags },
  }))
  return client.call('multi', parts)
}

async function multiParts(client: TestClient, ...nodes: Node[]): Promise<number[]> {
  await multi(client, ...nodes)
  const { body } = client.replies.at(-1)!
  return MultiResponse.read(new Reader(body)).map(({ err }) => err)
}
