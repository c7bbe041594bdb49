/** An ensemble from its first start on, told as short stories. */
import { afterEach, describe, expect, test } from 'vitest'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'
import { Deferred } from '../base/deferred.ts'

let ensemble: TestEnsemble

function three(): TestEnsemble {
  ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' })
  return ensemble
}

async function threeServing(): Promise<{ leader: TestServer; followers: TestServer[] }> {
  await three().start(1, 2, 3)
  await ensemble.serving(3)
  const { leader, followers } = ensemble
  return { leader, followers }
}

/** How the leader brought a server up. */
function plans(by: TestServer, to: TestServer): string[] {
  return by.events.flatMap((event) =>
    event.type === 'synchronizing' && event.sid === to.id ? [event.plan] : [],
  )
}

/** How a server says that it was brought up. */
function takeovers(of: TestServer): string[] {
  return of.events.flatMap((event) => (event.type === 'takingOver' ? [event.plan] : []))
}

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

describe('a new ensemble', () => {
  test('elects a leader, which begins the first epoch', async () => {
    const { leader, followers } = await threeServing()
    expect(leader.epochs).toMatchObject({ accepted: 1n, current: 1n })
    expect(followers.map(({ peer }) => peer!.state)).toEqual(['following', 'following'])
    expect(leader.lastZxid).toBe('1.0')
  })

  test('has a write of one server on all servers', async () => {
    const { leader, followers } = await threeServing()
    const client = await followers[0]!.connect()
    expect(await client.create('/a')).toBe(0)
    await ensemble.until('all know', () => followers[1]!.lastZxid === leader.lastZxid)
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/a'])
  })

  test('serves no client without a quorum', async () => {
    await three().start(1)
    await ensemble.pass(5000)
    expect(ensemble.server(1).isServing).toBe(false)
    const client = await ensemble.server(1).connect()
    expect(client).toMatchObject({ isClosed: true, timeoutMs: undefined })
  })
})

test('a leader configured not to serve clients refuses them, and leads', async () => {
  const members = { 1: 'participant', 2: 'participant', 3: 'participant' } as const
  ensemble = new TestEnsemble(members, { leaderServes: false })
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  const { leader, followers } = ensemble
  expect(await leader.connect()).toMatchObject({ isClosed: true, timeoutMs: undefined })
  const client = await followers[0]!.connect()
  expect(await client.create('/a')).toBe(0)
  leader.crash()
  await ensemble.serving(2)
  expect(await ensemble.followers[0]!.connect()).toMatchObject({ isClosed: false })
})

/** Snapshots go no further than the creation of their file before this is resolved. */
function holdSnapshots({ disk }: TestServer): Deferred<void> {
  const held = new Deferred<void>()
  const create = disk.create.bind(disk)
  disk.create = async (path) => {
    const file = await create(path)
    if (path.includes('snapshot.')) await held.promise
    return file
  }
  return held
}

async function snapshotsOn({ disk }: TestServer): Promise<string[]> {
  const files = await disk.list('data/version-2')
  return files.map(({ name }) => name).filter((name) => name.startsWith('snapshot.'))
}

describe('a leader that was paused until it was replaced', () => {
  /** It goes on, cut off, and does not know what was written elsewhere. */
  async function unaware(): Promise<{ old: TestServer; client: TestClient }> {
    const { leader: old } = await threeServing()
    const client = await old.connect()
    await client.create('/a')
    await ensemble.pass(100)
    ensemble.isolate(old)
    old.hasClock = false
    const others = [...ensemble.servers.values()].filter((one) => one !== old)
    await ensemble.until('another leads', () => others.some((one) => one.isLeading))
    const elsewhere = await others.find((one) => one.isLeading)!.connect()
    expect(await elsewhere.create('/b')).toBe(0)
    old.hasClock = true
    return { old, client }
  }

  test('answers no read and no sync, and takes no session', async () => {
    const { old, client } = await unaware()
    const before = client.replies.length
    client.ask('exists', { path: '/b', watch: false })
    client.ask('sync', { path: '/' })
    const late = TestClient.open(ensemble, old.peer!)
    await ensemble.until('it gives up', () => old.peer!.state === 'looking')
    expect(client.replies).toHaveLength(before)
    expect(late.timeoutMs).toBeUndefined()
    expect(client.isClosed).toBe(true)
  })

  test('answers its requests, if it was not replaced after all', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    ensemble.isolate(leader)
    leader.hasClock = false
    await ensemble.pass(600)
    leader.hasClock = true
    const xid = client.ask('exists', { path: '/', watch: false })
    await ensemble.step()
    expect(client.replies.some((reply) => reply.xid === xid)).toBe(false)
    ensemble.heal()
    await ensemble.until('it is answered', () => client.replies.some((reply) => reply.xid === xid))
    expect(leader.isLeading).toBe(true)
    expect(await client.create('/a')).toBe(0)
  })
})

describe('a snapshot that was started before', () => {
  test('the end of a role does not contain its uncommitted transactions', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    await client.create('/a')
    await ensemble.pass(100)
    const before = await snapshotsOn(leader)
    const held = holdSnapshots(leader)
    void leader.journal!.snapshot()
    ensemble.isolate(leader)
    client.askCreate('/x')
    await ensemble.until('it gives up', () => leader.peer!.state === 'looking')
    await ensemble.until('it has taken in what its log holds', () => leader.paths.includes('/x'))
    held.resolve()
    await ensemble.pass(100)
    expect(await snapshotsOn(leader)).toEqual(before)
    await ensemble.until('another leads', () => followers.some((one) => one.isLeading))
    ensemble.healWithLoss()
    await ensemble.serving(3)
    expect(takeovers(leader).at(-1)).toBe('trunc')
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/a'])
  })

  test('a synchronization does not contain the new history before it has a quorum', async () => {
    const voter = 'participant'
    ensemble = new TestEnsemble({ 1: voter, 2: voter, 3: voter, 4: voter, 5: voter })
    await ensemble.start(1, 2, 3, 4, 5)
    await ensemble.serving(5)
    const { leader } = ensemble
    const client = await leader.connect()
    await client.create('/a')
    await ensemble.pass(100)
    ensemble.isolate(leader)
    client.askCreate('/x')
    await ensemble.pass(20)
    const [learner, late, ...others] = ensemble.followers as [TestServer, TestServer, TestServer]
    for (const server of ensemble.servers.values()) server.crash()
    ensemble.healWithLoss()

    // The only server that holds it is elected by two others, and one of these takes it over.
    ensemble.onSaid = ({ to, name }) => {
      if (name === 'diff' && to === late.id) ensemble.hold(leader, late)
    }
    await leader.start()
    await late.start()
    await learner.start()
    const before = await snapshotsOn(learner)
    const held = holdSnapshots(learner)
    void learner.journal!.snapshot()
    await ensemble.until('it has taken that over', () => learner.paths.includes('/x'))
    held.resolve()
    await ensemble.pass(50)
    expect(await snapshotsOn(learner)).toEqual(before)
    leader.crash()
    ensemble.onSaid = undefined
    ensemble.isolate(learner)
    for (const server of others) await server.start()
    await ensemble.until(
      'another leads',
      () => others.some((one) => one.isLeading) || late.isLeading,
    )
    ensemble.healWithLoss()
    await ensemble.serving(4)
    expect(takeovers(learner).at(-1)).toBe('trunc')
    for (const server of ensemble.followers) expect(server.paths).toEqual(['/a'])
  })
})

describe('a server that lacks the data it should have', () => {
  test('is not elected, and gets a snapshot', async () => {
    three().server(3).lacksData = true
    await ensemble.start(1, 2, 3)
    await ensemble.serving(3)
    expect(ensemble.leader.id).not.toBe(3n)
    expect(takeovers(ensemble.server(3))).toEqual(['snap'])
  })

  test('does not lead, even if the others lack theirs too', async () => {
    three()
    for (const server of ensemble.servers.values()) server.lacksData = true
    await ensemble.start(1, 2, 3)
    await ensemble.pass(5000)
    for (const server of ensemble.servers.values()) expect(server.isServing).toBe(false)
  })
})

describe('a server that comes back', () => {
  test('gets the transactions it missed', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    await client.create('/a')
    await ensemble.pass(100)
    const [away] = followers as [TestServer]
    away.crash()
    await client.create('/b')
    await client.create('/c')
    await away.start()
    await ensemble.serving(3)
    expect(plans(leader, away).at(-1)).toBe('diff')
    expect(takeovers(away).at(-1)).toBe('diff')
    expect(away.paths).toEqual(['/a', '/b', '/c'])
  })

  test.each([
    ['everything, where that is wanted always', { alwaysSendSnapshot: true }, 2, 'snap'],
    ['what it missed from the logs, however much', { snapshotSizeFactor: 0 }, 1200, 'diff'],
    ['everything, where the logs hold more than that', {}, 1200, 'snap'],
    ['everything, where logs are not to be sent', { snapshotSizeFactor: -1 }, 1200, 'snap'],
  ] as const)('gets %s', async (_, options, count, plan) => {
    ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' }, options)
    await ensemble.start(1, 2, 3)
    await ensemble.serving(3)
    const { leader, followers } = ensemble
    const [away] = followers as [TestServer]
    const client = await leader.connect()
    await client.create('/known')
    await ensemble.pass(100)
    away.crash()
    for (let i = 0; i < count; i++) await client.create(`/${i}`)
    await away.start()
    await ensemble.serving(3)
    expect(plans(leader, away).at(-1)).toBe(plan)
    expect(away.paths).toHaveLength(count + 1)
  })

  test('tries again while the leader synchronizes others', async () => {
    const members = { 1: 'participant', 2: 'participant', 3: 'participant' } as const
    const more = { 4: 'participant', 5: 'participant' } as const
    const options = { alwaysSendSnapshot: true, syncsMax: { snaps: 1, diffs: 1 } }
    ensemble = new TestEnsemble({ ...members, ...more }, options)
    await ensemble.start(1, 2, 3)
    await ensemble.serving(3)
    const { leader } = ensemble
    const refusals = (): string[] =>
      leader.events.flatMap((event) => (event.type === 'learnerRefused' ? [event.reason] : []))
    // Before there is a quorum, nobody is sent away.
    expect(refusals()).toEqual([])
    await ensemble.start(4, 5)
    await ensemble.serving(5)
    expect(refusals()[0]).toMatch(/^server [45] has to wait: 1 others are being synchronized$/)
  })

  test('gets no transaction it has, even after an epoch without writes', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    await client.create('/a')
    leader.crash()
    await ensemble.serving(2)
    await leader.start()
    await ensemble.serving(3)
    const second = ensemble.leader
    // Nothing happens in epoch 2. One of its followers misses the beginning of epoch 3.
    const [late] = ensemble.followers.filter((one) => one !== leader) as [TestServer]
    ensemble.isolate(late)
    expect(late.lastZxid).toBe('2.0')
    second.crash()
    await second.start()
    await ensemble.until('epoch 3', () => [leader, second].some((one) => one.isLeading))
    const third = ensemble.leader
    ensemble.heal()
    await ensemble.serving(3)
    expect(plans(third, late).at(-1)).toBe('diff')
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/a'])
  })

  test('gets a long history in parts, followed by newer transactions', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    const [away] = followers as [TestServer]
    away.crash()
    for (let i = 0; i < 20; i++) client.askCreate(`/n${i}`, 0, new Uint8Array(20_000))
    await ensemble.until('all are answered', () => client.replies.length === 20)
    const moments = new Map<number, number>()
    const said: string[] = []
    ensemble.onSaid = ({ to, name }) => {
      if (to !== away.id || name === 'ping') return
      said.push(name)
      if (name !== 'proposal') return
      moments.set(ensemble.nowMs, (moments.get(ensemble.nowMs) ?? 0) + 1)
      if (moments.size === 2) client.askCreate('/meanwhile')
    }
    await away.start()
    await ensemble.serving(3)
    await ensemble.until('it knows all', () => away.paths.includes('/meanwhile'))
    expect(moments.size).toBeGreaterThan(4)
    expect(Math.max(...moments.values())).toBeLessThan(6)
    const end = said.indexOf('newLeader')
    expect(said.slice(0, end).filter((name) => name === 'proposal')).toHaveLength(20)
    expect(said.slice(end)).toEqual(expect.arrayContaining(['upToDate', 'proposal', 'commit']))
  })

  test('gets a snapshot if its disk is lost', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    for (let i = 0; i < 30; i++) await client.create(`/n${i}`)
    const [away] = followers as [TestServer]
    away.crash()
    away.disk = away.disk.copy()
    for (const { name } of await away.disk.list('data/version-2')) {
      await away.disk.remove(`data/version-2/${name}`)
    }
    await away.start()
    await ensemble.serving(3)
    expect(plans(leader, away).at(-1)).toBe('snap')
    expect(takeovers(away).at(-1)).toBe('snap')
    expect(away.paths).toHaveLength(30)
    away.crash()
    await away.start()
    await ensemble.serving(3)
    expect(plans(leader, away).at(-1)).toBe('diff')
    expect(away.paths).toHaveLength(30)
  })

  test('drops transactions that only it had logged', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    await client.create('/kept')
    await ensemble.pass(100)
    // The leader logs what nobody else hears of, and goes.
    ensemble.isolate(leader)
    client.askCreate('/lost')
    await ensemble.settle()
    expect(leader.lastZxid).toBe('1.2')
    leader.crash()
    ensemble.heal()
    for (const follower of followers) follower.crash()
    await ensemble.start(...followers.map(({ id }) => Number(id)))
    await ensemble.serving(2)
    await leader.start()
    expect(leader.lastZxid).toBe('1.3')
    await ensemble.serving(3)
    expect(plans(ensemble.leader, leader)).toEqual(['trunc'])
    expect(takeovers(leader)).toEqual(['trunc'])
    expect(leader.paths).toEqual(['/kept'])
    leader.crash()
    await leader.start()
    expect(leader.paths).toEqual(['/kept'])
  })

  test('gets a snapshot if its log cannot be cut off, and keeps nothing of its own', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    await client.create('/kept')
    await ensemble.pass(100)
    ensemble.isolate(leader)
    client.askCreate('/lost')
    await ensemble.until('it gives up', () => !leader.isServing)
    // Alone it looks for the others, with all that its log holds; that is what it stores now.
    await leader.journal!.snapshotNow()
    await leader.disk.remove('data/version-2/snapshot.0')
    await leader.disk.syncDirectory('data/version-2')
    leader.crash()
    ensemble.heal()
    for (const follower of followers) follower.crash()
    await ensemble.start(...followers.map(({ id }) => Number(id)))
    await ensemble.serving(2)
    await leader.start()
    expect(leader.paths).toEqual(['/kept', '/lost'])
    await ensemble.serving(3)
    expect(plans(ensemble.leader, leader)).toEqual(['trunc', 'snap'])
    expect(leader.paths).toEqual(['/kept'])
    for (let starts = 0; starts < 2; starts++) {
      leader.crash()
      await leader.start()
      expect(leader.paths).toEqual(['/kept'])
      await ensemble.serving(3)
    }
  })
})

describe('a leader', () => {
  test('that loses its quorum stops serving and confirms nothing', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    await client.create('/a')
    for (const follower of followers) follower.crash()
    client.askCreate('/b')
    await ensemble.settle()
    expect(leader.isServing).toBe(false)
    expect(client.isClosed).toBe(true)
    expect(client.replies).toHaveLength(1)
  })

  test('that is cut off steps down within its limit, and the others go on without it', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    ensemble.isolate(leader)
    client.askCreate('/unconfirmed')
    await ensemble.until('a new leader', () => followers.some((one) => one.isLeading))
    await ensemble.until('the old one gives up', () => !leader.isServing)
    expect(client.replies).toEqual([])
    const other = await ensemble.followers[0]!.connect()
    expect(await other.create('/b')).toBe(0)
    ensemble.heal()
    await ensemble.serving(3)
    expect(leader.isLeading).toBe(false)
    await ensemble.pass(100)
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/b'])
  })

  test('that crashes leaves everything it had committed to the next one', async () => {
    const { leader, followers } = await threeServing()
    const client = await leader.connect()
    for (let i = 0; i < 10; i++) client.askCreate(`/n${i}`)
    await ensemble.until('all are answered', () => client.replies.length === 10)
    leader.crash()
    await ensemble.serving(2)
    for (const follower of followers) expect(follower.paths).toHaveLength(10)
    expect(ensemble.leader.epochs).toMatchObject({ accepted: 2n, current: 2n })
  })

  test('begins a new epoch when its counter is used up, and logs nothing beyond it', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    await client.create('/a')
    const { role } = leader.peer as unknown as { role: { proposer: { nextZxid: bigint } } }
    role.proposer.nextZxid = 0x1ffffffffn
    client.askCreate('/beyond')
    await ensemble.settle()
    expect(client.isClosed).toBe(true)
    await ensemble.serving(3)
    expect(ensemble.leader.epochs!.current).toBe(2n)
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/a'])
    leader.crash()
    await leader.start()
    expect(leader.lastZxid).toBe('1.2')
  })
})

describe('the order of a client', () => {
  test('is kept across forwarding: reads wait for its earlier writes, syncs for everything', async () => {
    const { followers } = await threeServing()
    const client = await followers[0]!.connect()
    const asked = [
      client.askCreate('/a'),
      client.ask('exists', { path: '/a', watch: false }),
      client.ask('sync', { path: '/a' }),
      client.ask('exists', { path: '/b', watch: false }),
      client.askCreate('/b'),
      client.askCreate('/b'),
      client.ask('exists', { path: '/b', watch: false }),
    ]
    await ensemble.until('all are answered', () => client.replies.length === asked.length)
    expect(client.replies.map(({ xid }) => xid)).toEqual(asked)
    expect(client.replies.map(({ err }) => err)).toEqual([0, 0, 0, -101, 0, -110, 0])
  })

  test('a sync on one server sees an earlier write on another', async () => {
    const { followers } = await threeServing()
    const one = await followers[0]!.connect()
    const other = await followers[1]!.connect()
    for (let i = 0; i < 20; i++) {
      expect(await one.create(`/n${i}`)).toBe(0)
      other.ask('sync', { path: '/' })
      expect(await other.exists(`/n${i}`)).toBe(0)
    }
  })

  test('a client that has seen more than a server knows is not served by it', async () => {
    const { leader, followers } = await threeServing()
    const lastZxidSeen = leader.peer!.db.lastZxid + 1n
    for (const server of [leader, ...followers]) {
      expect(await server.connect({ lastZxidSeen })).toMatchObject({ isClosed: true })
    }
  })
})

describe('a session', () => {
  test('moves to another server, and its old connection may not write any more', async () => {
    const { leader, followers } = await threeServing()
    const client = await followers[0]!.connect()
    await client.create('/mine', 1)
    for (const server of [followers[1]!, leader]) {
      const moved = await server.connect({ session: client })
      expect(moved.sessionId).toBe(client.sessionId)
      expect(await moved.create(`/from-${server.id}`)).toBe(0)
    }
    expect(await client.create('/from-the-old')).toBe(-4)
    expect(client.isClosed).toBe(true)
    expect(leader.paths).not.toContain('/from-the-old')
  })

  test('that is resumed on the same server loses its older connection at once', async () => {
    const { leader, followers } = await threeServing()
    const [follower] = followers as [TestServer]
    const older = await follower.connect()
    ensemble.hold(leader, follower)
    const connecting = follower.connect({ session: older })
    await ensemble.settle()
    // The leader knows already, and would take what the older one sends for new.
    older.askCreate('/late')
    await ensemble.settle()
    expect(older.isClosed).toBe(true)
    ensemble.heal()
    const newer = await connecting
    expect(newer.sessionId).toBe(older.sessionId)
    expect(await newer.create('/new')).toBe(0)
    expect(leader.paths).toEqual(['/new'])
  })

  test('that moves gets no reply for a write it made elsewhere under the same xid', async () => {
    ensemble = new TestEnsemble(
      Object.fromEntries([1, 2, 3, 4, 5].map((id) => [id, 'participant'])),
    )
    await ensemble.start(1, 2, 3, 4, 5)
    await ensemble.serving(5)
    const { leader } = ensemble
    const [old, next, ...others] = ensemble.followers as [TestServer, TestServer]
    const client = await old.connect()
    ensemble.onSaid = ({ name }) => {
      if (name === 'proposal') for (const each of [old, ...others]) ensemble.hold(each, leader)
    }
    expect(client.askCreate('/old')).toBe(1)
    await ensemble.settle()
    const moved = await next.connect({ session: client })
    expect(moved.askCreate('/new')).toBe(1)
    ensemble.onSaid = undefined
    await ensemble.settle()
    expect([client.replies, moved.replies]).toEqual([[], []])
    ensemble.heal()
    await ensemble.until('it is answered', () => moved.replies.length === 1)
    expect(Buffer.from(moved.replies[0]!.body).toString()).toContain('/new')
    expect(next.paths).toEqual(['/new', '/old'])
  })

  test('lives as long as its client sends pings, to any server', async () => {
    const { leader, followers } = await threeServing()
    const client = await followers[0]!.connect({ timeOut: 1000 })
    await client.create('/mine', 1)
    await pinging(client, 4000)
    expect(leader.paths).toEqual(['/mine'])
    await ensemble.pass(2500)
    expect(client.isClosed).toBe(true)
    for (const server of ensemble.servers.values()) expect(server.paths).toEqual([])
  })

  test('outlives its leader', async () => {
    const { leader, followers } = await threeServing()
    const client = await followers[0]!.connect({ timeOut: 3000 })
    await client.create('/mine', 1)
    leader.crash()
    await ensemble.until('the connection ends', () => client.isClosed)
    await ensemble.serving(2)
    const again = await ensemble.leader.connect({ session: client })
    expect(again.sessionId).toBe(client.sessionId)
    expect(await again.exists('/mine')).toBe(0)
  })

  test('that is closed is closed on all servers, and cannot be resumed', async () => {
    const { leader, followers } = await threeServing()
    const client = await followers[0]!.connect()
    await client.create('/mine', 1)
    await client.call('closeSession', {} as never)
    await ensemble.pass(50)
    expect(leader.paths).toEqual([])
    for (const server of [leader, ...followers]) {
      expect(await server.connect({ session: client })).toMatchObject({ timeoutMs: 0 })
    }
  })

  async function pinging(client: TestClient, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 200) {
      client.ping()
      await ensemble.pass(200)
    }
  }
})

describe('an observer', () => {
  test('waits before it reconnects, if it is configured to', async () => {
    const members = { 1: 'participant', 2: 'participant', 3: 'observer' } as const
    ensemble = new TestEnsemble(members, { reconnectDelayMs: 10_000 })
    await ensemble.start(1, 2, 3)
    await ensemble.serving(3)
    const [observer, away] = [ensemble.server(3), ensemble.leader]
    away.crash()
    await away.start()
    await ensemble.serving(2)
    expect(observer.isServing).toBe(false)
    await ensemble.until('it is back', () => observer.isServing)
  })

  test('knows what is committed, forwards writes, and counts for no quorum', async () => {
    ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'observer' })
    await ensemble.start(1, 2, 3)
    await ensemble.serving(3)
    const observer = ensemble.server(3)
    const client = await observer.connect()
    expect(await client.create('/a')).toBe(0)
    expect(observer.paths).toEqual(['/a'])
    ensemble.followers.find(({ id }) => id !== 3n)!.crash()
    await ensemble.until('nobody serves', () => !observer.isServing)
    expect(ensemble.server(1).isServing || ensemble.server(2).isServing).toBe(false)
  })
})

describe('a disk', () => {
  test('that fails while an epoch is written stops its server, and the others go on', async () => {
    await three().start(1, 2, 3)
    const broken = ensemble.server(1)
    broken.disk.fault = (call, path) =>
      call === 'sync' && path.includes('Epoch') ? 'EIO' : undefined
    await ensemble.serving(2)
    await broken.running
    expect(broken.failures.splice(0).map(({ message }) => message.slice(0, 3))).toEqual(['EIO'])
    expect(broken.isServing).toBe(false)
  })

  test('that fails under the log does not keep a server from being stopped', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    leader.disk.fault = (call, path) =>
      call === 'write' && path.includes('log') ? 'EIO' : undefined
    client.askCreate('/a')
    await ensemble.settle()
    expect(leader.failures.splice(0)).toHaveLength(1)
    await leader.stop()
  })
})

describe('a full disk', () => {
  /** No byte more, in no file. */
  function fill({ disk }: TestServer): void {
    disk.fault = (call) => (call === 'write' || call === 'create' ? 'ENOSPC' : undefined)
  }

  test('makes a follower leave; the others go on, and it comes back when there is room', async () => {
    const { leader, followers } = await threeServing()
    const [full] = followers as [TestServer]
    const itsClient = await full.connect()
    fill(full)
    const client = await leader.connect()
    for (let i = 0; i < 50; i++) expect(await client.create(`/n${i}`)).toBe(0)
    await ensemble.pass(3000)
    expect(itsClient.isClosed).toBe(true)
    expect(full).toMatchObject({ isServing: false, peer: { state: 'looking', canWrite: false } })
    expect(full.events.at(-1)).toMatchObject({ type: 'roleEnded', reason: /no room/ })
    expect(client.isClosed).toBe(false)
    full.disk.fault = undefined
    await ensemble.serving(3)
    expect(full.paths).toHaveLength(50)
    expect(plans(leader, full).at(-1)).toBe('diff')
  })

  test('makes a leader hand over to a server with room, and it is not elected again', async () => {
    const { leader } = await threeServing()
    fill(leader)
    const client = await leader.connect()
    await ensemble.until('another leads', () => !leader.isServing && ensemble.followers.length > 0)
    await ensemble.serving(2)
    const next = ensemble.leader
    const other = await next.connect()
    expect(client.isClosed).toBe(true)
    for (let i = 0; i < 20; i++) expect(await other.create(`/n${i}`)).toBe(0)
    await ensemble.pass(10_000)
    expect(ensemble.leader).toBe(next)
    expect(other.isClosed).toBe(false)
    leader.disk.fault = undefined
    await ensemble.serving(3)
    expect(leader.paths).toHaveLength(20)
  })

  test('from the start keeps a server from being elected for its long history', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    await client.create('/a')
    for (const server of ensemble.servers.values()) server.crash()
    await ensemble.start(1, 2, 3)
    fill(leader)
    await ensemble.serving(2)
    const other = await ensemble.leader.connect()
    expect(await other.create('/b')).toBe(0)
    await ensemble.pass(5000)
    expect(other.isClosed).toBe(false)
    leader.disk.fault = undefined
    await ensemble.serving(3)
    expect(leader.paths).toEqual(['/a', '/b'])
  })

  test('does not make a leader send its snapshot again and again', async () => {
    const { leader, followers } = await threeServing()
    const [full] = followers as [TestServer]
    const client = await leader.connect()
    await client.create('/a')
    full.crash()
    for (const { name } of await full.disk.list('data/version-2')) {
      if (!name.includes('Epoch')) await full.disk.remove(`data/version-2/${name}`)
    }
    await full.start()
    full.disk.fault = (call, path) =>
      call === 'write' && path.includes('snapshot') ? 'ENOSPC' : undefined
    await ensemble.pass(20_000)
    expect(plans(leader, full).length).toBeLessThan(10)
    full.disk.fault = undefined
    await ensemble.serving(3)
    expect(full.paths).toEqual(['/a'])
  })

  test('on all servers ends service, which resumes when there is room', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    for (const server of ensemble.servers.values()) fill(server)
    client.askCreate('/a')
    await ensemble.until('nobody serves', () => ensemble.followers.length === 0)
    await ensemble.pass(2000)
    for (const id of [1, 2]) ensemble.server(id).disk.fault = undefined
    await ensemble.serving(2)
    const other = await ensemble.leader.connect()
    expect(await other.create('/b')).toBe(0)
  })

  test('does not keep a server from being stopped', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    fill(leader)
    client.askCreate('/a')
    await ensemble.pass(1000)
    await leader.stop()
  })
})

describe('a snapshot', () => {
  test('never contains what the log of its own server does not hold yet', async () => {
    const { leader, followers } = await threeServing()
    const [slow] = followers as [TestServer]
    const client = await leader.connect()
    const stall = new Deferred<void>()
    slow.disk.stall = stall.promise
    expect(await client.create('/a')).toBe(0)
    await ensemble.until('it is applied', () => slow.paths.includes('/a'))
    const taking = slow.journal!.snapshotNow()
    await ensemble.pass(50)
    const stored = async (): Promise<string[]> =>
      (await slow.disk.list('data/version-2')).map(({ name }) => name)
    expect(await stored()).not.toContain('snapshot.100000002')
    slow.disk.stall = undefined
    stall.resolve()
    await taking
    expect(await stored()).toContain('snapshot.100000002')
  })
})

describe('handing over', () => {
  test('a leader that is stopped confirms what it has proposed, and is replaced at once', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    for (let i = 0; i < 10; i++) client.askCreate(`/n${i}`)
    const stoppedMs = ensemble.nowMs
    await leader.stop()
    expect(client.replies.map(({ err }) => err)).toEqual(Array(10).fill(0))
    await ensemble.serving(2)
    // No wait of the election's is among what it took, and hardly one for the leader's port.
    expect(ensemble.nowMs - stoppedMs).toBeLessThan(50)
    expect(ensemble.leader.paths).toHaveLength(10)
  })

  test('a leader that is killed is replaced without waiting for its vote', async () => {
    const { leader } = await threeServing()
    const killedMs = ensemble.nowMs
    leader.crash()
    await ensemble.serving(2)
    expect(ensemble.nowMs - killedMs).toBeLessThan(50)
  })

  test('a leader without a quorum does not wait forever for its proposals', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    ensemble.isolate(leader)
    client.askCreate('/a')
    await leader.stop()
    expect(client.replies).toEqual([])
  })
})

describe('stopping', () => {
  test.each([
    ['while it looks for a leader', 0],
    ['while an ensemble is agreed upon', 350],
    ['while it serves', 3000],
  ])('a server ends %s', async (_, ms) => {
    await three().start(1, 2, 3)
    await ensemble.pass(ms)
    for (const server of ensemble.servers.values()) await server.stop()
  })

  test('a server without the others stops at any time', async () => {
    for (let ms = 0; ms < 600; ms += 50) {
      await three().start(1)
      await ensemble.pass(ms)
      await ensemble.server(1).stop()
    }
  })
})
