/** Observers, few and many, that followers take in place of the leader. */
import { afterEach, describe, expect, test } from 'vitest'
import { TestEnsemble, type Said } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'
import { Deferred } from '../base/deferred.ts'

let ensemble: TestEnsemble
/** The servers that were informed of a committed transaction like observers, and by which server. */
let informed: Map<bigint, bigint>

const observerMaster = { queueBytesMax: 100_000 }

async function serving(observers: number, options: object = { observerMaster }): Promise<void> {
  const members: Record<string, 'participant' | 'observer'> = {}
  for (let id = 1; id <= 3 + observers; id++) members[id] = id <= 3 ? 'participant' : 'observer'
  ensemble = new TestEnsemble(members, options)
  informed = new Map()
  ensemble.onSaid = ({ from, to, name }: Said) => {
    if (name === 'inform') informed.set(to, from)
  }
  await ensemble.start(...Object.keys(members).map(Number))
  await ensemble.serving(3 + observers)
}

const observer = (number = 1): TestServer => ensemble.server(3 + number)
const followers = (): TestServer[] => ensemble.followers.filter(({ id }) => id <= 3n)

/** The follower that an observer has gone to. */
function masterOf(server: TestServer): TestServer {
  return ensemble.servers.get(informed.get(server.id)!)!
}

async function level(): Promise<void> {
  const servers = [...ensemble.servers.values()].filter(({ isUp }) => isUp)
  const isLevel = (): boolean =>
    servers.every((one) => one.isServing) && new Set(servers.map((one) => one.lastZxid)).size === 1
  await ensemble.until('all know the same', isLevel)
}

function resume({ sessionId, password, replies }: TestClient, on: TestServer): Promise<TestClient> {
  const lastZxidSeen = replies.at(-1)?.zxid ?? 0n
  return on.connect({ session: { sessionId, password }, lastZxidSeen })
}

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

describe('an observer of a follower', () => {
  test('knows what is committed, and its clients read, write and sync', async () => {
    await serving(1)
    const client = await observer().connect()
    expect(await client.create('/mine')).toBe(0)
    const other = await ensemble.leader.connect()
    expect(await other.create('/theirs')).toBe(0)
    expect(await client.call('sync', { path: '/' })).toBe(0)
    expect(await client.exists('/theirs')).toBe(0)
    await level()
    for (const server of ensemble.servers.values()) {
      expect(server.paths).toEqual(['/mine', '/theirs'])
    }
    expect(followers().map(({ id }) => id)).toContain(masterOf(observer()).id)
  })

  test('keeps the order of its clients, even if they send much at once', async () => {
    await serving(1)
    const client = await observer().connect()
    const asked = [
      client.askCreate('/a'),
      client.ask('exists', { path: '/a', watch: false }),
      client.ask('sync', { path: '/a' }),
      client.askCreate('/a'),
      client.ask('exists', { path: '/b', watch: false }),
      client.ask('sync', { path: '/b' }),
      client.askCreate('/b'),
    ]
    await ensemble.until('all are answered', () => client.replies.length === asked.length)
    expect(client.replies.map(({ xid }) => xid)).toEqual(asked)
    expect(client.replies.map(({ err }) => err)).toEqual([0, 0, 0, -110, -101, 0, 0])
  })

  test('lets sessions live while their clients send pings, and no longer', async () => {
    await serving(1)
    const client = await observer().connect({ timeOut: 1000 })
    expect(await client.create('/here', 1)).toBe(0)
    for (let i = 0; i < 20; i++) {
      client.ping()
      await ensemble.pass(300)
    }
    expect(ensemble.leader.paths).toEqual(['/here'])
    await ensemble.until('it expires', () => ensemble.leader.paths.length === 0, 2000)
    await ensemble.until('its connection ends', () => client.isClosed)
  })

  test('goes to another follower when its own is gone, and sessions continue there', async () => {
    await serving(1)
    const client = await observer().connect()
    expect(await client.create('/mine', 1)).toBe(0)
    const first = masterOf(observer())
    first.crash()
    await ensemble.until('the connection ends', () => client.isClosed)
    await ensemble.until('it serves again', () => observer().isServing)
    const again = await resume(client, observer())
    expect(again.sessionId).toBe(client.sessionId)
    expect(await again.exists('/mine')).toBe(0)
    expect(await again.create('/next')).toBe(0)
    expect(masterOf(observer())).not.toBe(first)
  })

  test('survives a change of the leader', async () => {
    await serving(2)
    const client = await observer().connect()
    expect(await client.create('/before')).toBe(0)
    ensemble.leader.crash()
    await ensemble.serving(4)
    const again = await resume(client, observer(2))
    expect(await again.exists('/before')).toBe(0)
    expect(await again.create('/after')).toBe(0)
    await level()
    expect(observer(1).paths).toEqual(['/after', '/before'])
  })

  test('is synchronized by the transactions it lacks, or by a snapshot', async () => {
    await serving(1)
    const client = await ensemble.leader.connect()
    await client.create('/a')
    await level()
    observer().crash()
    await client.create('/b')
    await observer().start()
    await level()
    const plans = (): string[] =>
      observer().events.flatMap((event) => (event.type === 'takingOver' ? [event.plan] : []))
    expect(plans().at(-1)).toBe('diff')
    observer().crash()
    for (const { name } of await observer().disk.list('data/version-2')) {
      await observer().disk.remove(`data/version-2/${name}`)
    }
    await client.create('/c')
    await observer().start()
    await level()
    expect(plans().at(-1)).toBe('snap')
    expect(observer().paths).toEqual(['/a', '/b', '/c'])
  })

  test('that has more than a follower need not drop it', async () => {
    await serving(1)
    const client = await ensemble.leader.connect()
    await client.create('/a')
    await level()
    const master = masterOf(observer())
    const late = followers().find((one) => one !== master)!
    ensemble.hold(ensemble.leader, late)
    expect(await client.create('/b')).toBe(0)
    await ensemble.until('it knows', () => observer().paths.includes('/b'))
    observer().crash()
    ensemble.hold(observer(), master)
    await observer().start()
    await ensemble.pass(300)
    expect(observer().events.filter(({ type }) => type === 'takingOver')).toHaveLength(1)
    ensemble.heal()
    await level()
    const plans = observer().events.flatMap((event) =>
      event.type === 'takingOver' ? [event.plan] : [],
    )
    expect(plans).not.toContain('trunc')
    expect(observer().paths).toEqual(['/a', '/b'])
  })

  test('goes to the leader where no follower can be reached', async () => {
    await serving(1)
    observer().crash()
    for (const follower of followers()) follower.network!.listen(false, 'observers')
    await observer().start()
    await ensemble.until('it serves', () => observer().isServing)
    const client = await ensemble.leader.connect()
    await client.create('/a')
    await ensemble.until('it knows', () => observer().paths.includes('/a'))
    expect(masterOf(observer()).id).toBe(ensemble.leader.id)
  })

  test('goes to the leader, for a newer epoch, where it has promised one', async () => {
    await serving(1)
    const before = ensemble.leader.epochs!.current
    await observer().epochs!.setAccepted(before + 5n)
    observer().crash()
    await observer().start()
    const servers = [...ensemble.servers.values()]
    await ensemble.until('all are in a newer one', () =>
      servers.every(({ isServing, epochs }) => isServing && epochs!.current > before + 5n),
    )
  })
})

describe('a session that moves', () => {
  test('from an observer to its follower cannot write over its old connection', async () => {
    await serving(1)
    const probe = await ensemble.leader.connect()
    await probe.create('/probe')
    await level()
    const master = masterOf(observer())
    const old = await observer().connect()
    await old.create('/first')
    ensemble.hold(observer(), master)
    old.askCreate('/late')
    const moved = await resume(old, master)
    expect(await moved.create('/moved')).toBe(0)
    ensemble.heal()
    await ensemble.pass(500)
    expect(ensemble.leader.paths).toEqual(['/first', '/moved', '/probe'])
    expect(await moved.create('/after')).toBe(0)
    const back = await resume(moved, observer())
    expect(await back.create('/back')).toBe(0)
    expect(await back.call('sync', { path: '/' })).toBe(0)
  })

  test('from a follower to its observer loses the connection it had', async () => {
    await serving(1)
    const probe = await ensemble.leader.connect()
    await probe.create('/probe')
    await level()
    const old = await masterOf(observer()).connect()
    await old.create('/first')
    const moved = await resume(old, observer())
    expect(moved.sessionId).toBe(old.sessionId)
    await ensemble.settle()
    expect(old.isClosed).toBe(true)
    expect(await moved.create('/moved')).toBe(0)
  })

  test('to an observer is valid there only after its earlier writes', async () => {
    await serving(1)
    const probe = await ensemble.leader.connect()
    await probe.create('/probe')
    await level()
    const master = masterOf(observer())
    const old = await master.connect()
    // The quorum takes its time: proposed, and not committed.
    const stalls = followers().map(({ disk }) => {
      const stall = new Deferred<void>()
      disk.stall = stall.promise
      return { disk, stall }
    })
    old.askCreate('/pending')
    await ensemble.settle()
    let isAnswered = false
    const moving = resume(old, observer()).then((moved) => {
      isAnswered = true
      return moved
    })
    await ensemble.pass(200)
    expect(isAnswered).toBe(false)
    for (const { disk, stall } of stalls) {
      disk.stall = undefined
      stall.resolve()
    }
    const moved = await moving
    expect(await moved.exists('/pending')).toBe(0)
  })
})

describe('many observers', () => {
  test.each([
    ['of the leader', {}],
    ['of its followers', { observerMaster }],
  ])('%s all know everything, and serve clients that write', async (where, options) => {
    await serving(20, options)
    const clients = await Promise.all(
      Array.from({ length: 20 }, (_, i) => observer(i + 1).connect()),
    )
    for (const [i, client] of clients.entries()) client.askCreate(`/n${i}`)
    await ensemble.until('all are answered', () => clients.every(({ replies }) => replies.length))
    await level()
    for (let i = 1; i <= 20; i++) expect(observer(i).paths).toHaveLength(20)
    const masters = new Set(informed.values())
    if (where === 'of the leader') expect([...masters]).toEqual([ensemble.leader.id])
    else expect(masters).toEqual(new Set(followers().map(({ id }) => id)))
  })

  test('are not slowed down by one that reads nothing', async () => {
    await serving(3, { observerMaster: { queueBytesMax: 20_000 } })
    const client = await ensemble.leader.connect()
    await client.create('/first')
    await level()
    const master = masterOf(observer())
    ensemble.hold(master, observer())
    const startedMs = ensemble.nowMs
    for (let i = 0; i < 20; i++) client.askCreate(`/n${i}`, 0, new Uint8Array(2000))
    await ensemble.until('all are answered', () => client.replies.length === 21)
    expect(ensemble.nowMs - startedMs).toBeLessThan(50)
    await ensemble.until('the others know', () => observer(2).paths.length === 21)
    // Nothing is heard of it: at last its follower gives it up.
    ensemble.hold(observer(), master)
    const isDropped = (): boolean =>
      master.events.some((event) => event.type === 'learnerDropped' && event.sid === observer().id)
    await ensemble.until('it is dropped', isDropped)
    ensemble.heal()
    await level()
  })
})
