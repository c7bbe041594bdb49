/**
 * What "Zab: High-performance broadcast for primary-backup systems" (Junqueira, Reed, Serafini;
 * DSN 2011) promises, played on whole servers under schedules that are made to break it. Every
 * test is held to all promises by a witness; its own sentence is the one it was made for.
 *
 * Where ZooKeeper departs from the paper: the leader is elected by its history, so followers
 * send where theirs ends instead of all of it, and only what they lack is sent back.
 */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { TestEnsemble, type Said } from '../../../test/support/ensemble.ts'
import type { TestClient } from '../../../test/support/test-client.ts'
import type { TestServer } from '../../../test/support/test-server.ts'
import { Witness } from '../../../test/support/witness.ts'
import { Deferred } from '../../base/deferred.ts'

let ensemble: TestEnsemble
let witness: Witness

function open(size: number): void {
  const ids = Array.from({ length: size }, (_, i) => i + 1)
  ensemble = new TestEnsemble(Object.fromEntries(ids.map((id) => [id, 'participant'])))
  witness = new Witness(ensemble)
}

interface Serving {
  readonly leader: TestServer
  readonly followers: TestServer[]
  /** Of the leader. */
  readonly client: TestClient
}

/** An ensemble in its first epoch, with `/first` delivered everywhere. */
async function serving(size: number): Promise<Serving> {
  open(size)
  await startAll()
  const { leader, followers } = ensemble
  const client = await leader.connect()
  await client.create('/first')
  await ensemble.pass(100)
  return { leader, followers, client }
}

async function startAll(): Promise<void> {
  for (const server of all()) if (!server.isUp) await server.start()
  await ensemble.serving(all().length)
}

const all = (): TestServer[] => [...ensemble.servers.values()]
const pathsOf = (server: TestServer): string[] => witness.delivered(server).map(({ path }) => path)
const broadcastPaths = (epoch: bigint): string[] =>
  (witness.primaries.get(epoch)?.broadcasts ?? []).map(({ path }) => path)

/** Everybody has delivered this, in this order, and nothing else. */
async function expectDelivered(paths: readonly string[]): Promise<void> {
  await ensemble.pass(300)
  for (const server of all()) expect(pathsOf(server)).toEqual(paths)
}

/** Does something as soon as a packet is said that is meant, once. */
function once(isMeant: (said: Said) => boolean, act: (said: Said) => void): () => boolean {
  const hear = ensemble.onSaid!
  let hasHappened = false
  ensemble.onSaid = (said) => {
    hear(said)
    if (hasHappened || !isMeant(said)) return
    hasHappened = true
    act(said)
  }
  return () => hasHappened
}

/** How a server was brought up by the present leader. */
function plansFor(server: TestServer): string[] {
  return ensemble.leader.events.flatMap((event) =>
    event.type === 'synchronizing' && event.sid === server.id ? [event.plan] : [],
  )
}

/** Its history only: whoever forgets the epochs it has accepted is none of Zab's servers. */
async function loseHistory(server: TestServer): Promise<void> {
  for (const { name } of await server.disk.list('data/version-2')) {
    if (!name.endsWith('Epoch')) await server.disk.remove(`data/version-2/${name}`)
  }
  await server.disk.syncDirectory('data/version-2')
}

afterEach(() => {
  expect(witness.broken()).toEqual({})
  for (const server of all()) expect(server.failures).toEqual([])
})

describe('integrity: what is delivered was broadcast, and is delivered once', () => {
  test('a snapshot that already contains what is sent behind it does not deliver it twice', async () => {
    const { followers, client } = await serving(3)
    const [away] = followers as [TestServer]
    away.crash()
    await loseHistory(away)
    await away.start()
    const paths: string[] = []
    // So much that the snapshot takes its time, and there is always something behind it.
    const write = (bytes: number): void => {
      const path = `/n${paths.length}`
      paths.push(path)
      client.askCreate(path, 0, new Uint8Array(bytes))
    }
    for (let i = 0; i < 50; i++) write(4000)
    await ensemble.until('it is back', () => {
      if (paths.length < 200) write(4)
      return away.isServing
    })
    await ensemble.until('all are answered', () => client.replies.length === paths.length + 1)
    expect(plansFor(away)).toEqual(['diff', 'snap'])
    await expectDelivered(['/first', ...paths])
  })

  test('a write that is lost on its way to the primary is delivered by nobody', async () => {
    const { leader, followers } = await serving(3)
    const [cut] = followers as [TestServer]
    const client = await cut.connect()
    ensemble.hold(cut, leader)
    client.askCreate('/lost')
    await ensemble.settle()
    cut.crash()
    ensemble.healWithLoss()
    await startAll()
    await expectDelivered(['/first'])
  })

  test('a write that is carried out while its client goes is broadcast once', async () => {
    const { leader, followers } = await serving(3)
    const [near] = followers as [TestServer]
    const client = await near.connect()
    client.askCreate('/once')
    near.crash()
    await near.start()
    await ensemble.serving(3)
    const again = await leader.connect()
    await again.create('/once')
    await expectDelivered(['/first', '/once'])
  })
})

describe('total order: everybody delivers in one order', () => {
  test('a follower that hears everything late delivers it as the others did', async () => {
    const { leader, followers, client } = await serving(3)
    const [slow, quick] = followers as [TestServer, TestServer]
    ensemble.hold(leader, slow)
    for (let i = 0; i < 10; i++) await client.create(`/n${i}`)
    await ensemble.pass(50)
    expect(pathsOf(quick)).toHaveLength(11)
    expect(pathsOf(slow)).toEqual(['/first'])
    ensemble.heal()
    await ensemble.settle()
    expect(witness.delivered(slow)).toEqual(witness.delivered(quick))
  })

  test('writes that enter everywhere at once leave in the same order everywhere', async () => {
    const { leader, followers } = await serving(5)
    const clients = await Promise.all([leader, ...followers].map((server) => server.connect()))
    for (let i = 0; i < 8; i++) {
      for (const [who, client] of clients.entries()) client.askCreate(`/${who}-${i}`)
      ensemble.hold(leader, followers[i % 4]!)
      await ensemble.settle()
      ensemble.heal()
    }
    await ensemble.pass(300)
    expect(witness.delivered(leader)).toHaveLength(41)
    for (const each of all()) expect(witness.delivered(each)).toEqual(witness.delivered(leader))
  })

  test('a leader that died between proposing and committing leaves one order behind', async () => {
    const { leader, followers, client } = await serving(3)
    const isDead = once(
      ({ name, zxid, from }) => name === 'ack' && zxid === 0x1_0000_0005n && from !== leader.id,
      () => leader.crash(),
    )
    for (let i = 0; i < 5; i++) client.askCreate(`/n${i}`)
    await ensemble.until('it has died', isDead)
    await ensemble.serving(2)
    const next = await followers[0]!.connect()
    expect(await next.create('/next')).toBe(0)
    await startAll()
    await expectDelivered(['/first', '/n0', '/n1', '/n2', '/n3', '/n4', '/next'])
  })
})

describe('agreement: two servers never deliver what the other does not', () => {
  test('a proposal that only the old leader logged is gone when it returns', async () => {
    const { leader, followers, client } = await serving(3)
    ensemble.hold(leader, ...followers)
    client.askCreate('/lost')
    await ensemble.settle()
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(2)
    await leader.start()
    expect(leader.paths).toContain('/lost')
    await ensemble.serving(3)
    expect(plansFor(leader).at(-1)).toBe('trunc')
    await expectDelivered(['/first'])
    leader.crash()
    await startAll()
    await expectDelivered(['/first'])
  })

  test('it is gone as well where the others have gone on meanwhile', async () => {
    const { leader, followers, client } = await serving(3)
    ensemble.hold(leader, ...followers)
    client.askCreate('/lost')
    await ensemble.settle()
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(2)
    const next = await ensemble.leader.connect()
    await next.create('/next')
    await startAll()
    expect(plansFor(leader).at(-1)).toBe('snap')
    await expectDelivered(['/first', '/next'])
    leader.crash()
    await startAll()
    await expectDelivered(['/first', '/next'])
  })

  test('a proposal that reached a minority is delivered everywhere where that minority leads', async () => {
    const { leader, followers, client } = await serving(5)
    const [reached, ...others] = followers as [TestServer, ...TestServer[]]
    ensemble.hold(leader, ...others)
    client.askCreate('/maybe')
    await ensemble.settle()
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(4)
    expect(reached.isLeading).toBe(true)
    await startAll()
    await expectDelivered(['/first', '/maybe'])
  })

  test('and nowhere where that minority was not asked', async () => {
    const { leader, followers, client } = await serving(5)
    const [reached, ...others] = followers as [TestServer, ...TestServer[]]
    ensemble.hold(leader, ...others)
    client.askCreate('/maybe')
    await ensemble.settle()
    leader.crash()
    reached.crash()
    ensemble.healWithLoss()
    await ensemble.serving(3)
    await reached.start()
    await ensemble.serving(4)
    const next = await ensemble.leader.connect()
    await next.create('/next')
    await startAll()
    expect(plansFor(reached).at(-1)).toBe('trunc')
    await expectDelivered(['/first', '/next'])
  })

  test('what was delivered by one server alone, before it died, is delivered by all', async () => {
    const { leader, followers, client } = await serving(3)
    // Its commits reach nobody: it delivers, answers its client, and is gone.
    once(
      ({ name, zxid }) => name === 'ack' && zxid === 0x1_0000_0003n,
      () => ensemble.hold(leader, ...followers),
    )
    expect(await client.create('/told')).toBe(0)
    expect(pathsOf(leader)).toEqual(['/first', '/told'])
    for (const follower of followers) expect(pathsOf(follower)).toEqual(['/first'])
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(2)
    for (const follower of followers) expect(pathsOf(follower)).toEqual(['/first', '/told'])
    await startAll()
  })
})

describe('local primary order: of one primary the first few are delivered, without gaps', () => {
  test('a stream that breaks off at another place for each follower', async () => {
    const { leader, followers, client } = await serving(5)
    let count = 0
    for (let deaf = 0; deaf <= followers.length; deaf++) {
      for (let i = 0; i < 4; i++) client.askCreate(`/n${count++}`)
      await ensemble.settle()
      if (deaf < followers.length) ensemble.hold(leader, followers[deaf]!)
    }
    const answered = client.replies.length - 1
    expect(answered).toBe(12) // With two followers deaf there is a quorum yet, with three not.
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(4)
    await startAll()
    await ensemble.pass(300)
    const [, ...left] = pathsOf(leader)
    expect(left.length).toBeGreaterThanOrEqual(answered)
    await expectDelivered(['/first', ...left.keys()].map((i) => (i === '/first' ? i : `/n${i}`)))
  })

  test('a connection that breaks in the middle of the stream leaves no gap', async () => {
    const { leader, followers, client } = await serving(3)
    const [unlucky] = followers as [TestServer]
    let count = 0
    for (let breaks = 0; breaks < 5; breaks++) {
      for (let i = 0; i < 3; i++) client.askCreate(`/n${count++}`)
      await ensemble.settle()
      ensemble.hold(leader, unlucky)
      for (let i = 0; i < 3; i++) client.askCreate(`/n${count++}`)
      await ensemble.settle()
      ensemble.healWithLoss()
      client.askCreate(`/n${count++}`)
      await ensemble.serving(3)
    }
    await expectDelivered(['/first', ...Array.from({ length: count }, (_, i) => `/n${i}`)])
  })
})

describe('global primary order: what an earlier primary broadcast comes before', () => {
  test('a primary that was cut off and the new one broadcast at the same time', async () => {
    const { leader, followers, client } = await serving(3)
    leader.hasClock = false
    ensemble.isolate(leader)
    await ensemble.until('another leads', () => followers.some((one) => one.isLeading))
    const next = await followers.find((one) => one.isLeading)!.connect()
    for (let i = 0; i < 5; i++) {
      client.askCreate(`/old${i}`)
      expect(await next.create(`/new${i}`)).toBe(0)
    }
    expect(leader.isLeading).toBe(true)
    expect(broadcastPaths(1n)).toHaveLength(6)
    expect(broadcastPaths(2n)).toHaveLength(5)
    expect(client.replies).toHaveLength(1)
    leader.hasClock = true
    ensemble.heal()
    await ensemble.serving(3)
    expect(client.replies).toHaveLength(1)
    await expectDelivered(['/first', ...Array.from({ length: 5 }, (_, i) => `/new${i}`)])
  })

  test('proposals of the old primary that arrive late are not taken by those who have left it', async () => {
    const { leader, followers, client } = await serving(3)
    leader.hasClock = false
    ensemble.hold(leader, ...followers)
    for (let i = 0; i < 3; i++) client.askCreate(`/old${i}`)
    await ensemble.until('another leads', () => followers.some((one) => one.isLeading))
    const next = await followers.find((one) => one.isLeading)!.connect()
    expect(await next.create('/new')).toBe(0)
    leader.hasClock = true
    ensemble.heal()
    await ensemble.serving(3)
    await expectDelivered(['/first', '/new'])
  })

  test('three primaries in turn, each with something unfinished, follow each other', async () => {
    await serving(5)
    for (let turn = 0; turn < 3; turn++) {
      const { leader, followers } = ensemble
      const client = await leader.connect()
      expect(await client.create(`/done${turn}`)).toBe(0)
      ensemble.hold(leader, ...followers.slice(turn))
      client.askCreate(`/unfinished${turn}`)
      await ensemble.settle()
      leader.crash()
      ensemble.healWithLoss()
      await ensemble.serving(4)
      await startAll()
    }
    // The first reached nobody, the others reached somebody: the server with the longer history leads.
    await expectDelivered(['/first', '/done0', '/done1', '/unfinished1', '/done2', '/unfinished2'])
  })
})

describe('primary integrity: a primary has delivered what came before it', () => {
  test('a server that lags behind does not lead one that does not, whatever its number', async () => {
    const { leader, followers, client } = await serving(3)
    // In the order of their numbers: the second would win a draw.
    const [ahead, behind] = followers as [TestServer, TestServer]
    ensemble.hold(leader, behind)
    for (let i = 0; i < 5; i++) expect(await client.create(`/n${i}`)).toBe(0)
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(2)
    expect(ahead.isLeading).toBe(true)
    const next = await behind.connect()
    expect(await next.create('/next')).toBe(0)
    await startAll()
    await expectDelivered(['/first', '/n0', '/n1', '/n2', '/n3', '/n4', '/next'])
  })

  test('what it only logged before, it delivers before it broadcasts', async () => {
    const { leader, followers, client } = await serving(3)
    once(
      ({ name, zxid }) => name === 'ack' && zxid === 0x1_0000_0003n,
      () => ensemble.hold(leader, ...followers),
    )
    expect(await client.create('/told')).toBe(0)
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(2)
    const next = await ensemble.followers[0]!.connect()
    expect(await next.create('/next')).toBe(0)
    const { before } = witness.primaries.get(2n)!
    expect(before).toEqual(new Set(pathsAt(leader, '/first', '/told')))
    await startAll()
  })

  function pathsAt(server: TestServer, ...paths: string[]): bigint[] {
    return witness.delivered(server).flatMap(({ path, zxid }) => (paths.includes(path) ? zxid : []))
  }
})

describe('phase 1, discovery', () => {
  test.each([
    ['before anybody took over its history', 'newLeader'],
    ['before anybody was told to serve', 'upToDate'],
  ] as const)('every recovery that ends %s is followed by a newer epoch', async (_, word) => {
    const { client } = await serving(5)
    expect(await client.create('/kept')).toBe(0)
    await ensemble.pass(100)
    ensemble.leader.crash()
    const unfinished: bigint[] = []
    for (let turn = 0; turn < 2; turn++) {
      let epoch = 0n
      const isDead = once(
        ({ name }) => name === word,
        ({ from }) => {
          const dying = ensemble.servers.get(from)!
          epoch = dying.epochs!.accepted
          dying.crash()
        },
      )
      await ensemble.until('a leader dies in its recovery', isDead)
      unfinished.push(epoch)
      for (const server of all()) if (!server.isUp) await server.start()
    }
    await ensemble.serving(5)
    expect(unfinished[0]).toBeGreaterThan(1n)
    expect(unfinished[1]).toBeGreaterThan(unfinished[0]!)
    expect(ensemble.leader.epochs!.current).toBeGreaterThan(unfinished[1]!)
    for (const epoch of unfinished) expect(broadcastPaths(epoch)).toEqual([])
    await expectDelivered(['/first', '/kept'])
  })

  test('an accepted epoch outlives the server that accepted it', async () => {
    await serving(3)
    ensemble.leader.crash()
    const followers = all().filter((one) => one.isUp)
    once(
      ({ name }) => name === 'ackEpoch',
      () => followers.forEach((one) => one.crash()),
    )
    await ensemble.until('both are gone', () => followers.every((one) => !one.isUp))
    for (const one of followers) {
      await one.start()
      expect(one.epochs).toMatchObject({ accepted: 2n, current: 1n })
    }
    await startAll()
    expect(ensemble.leader.epochs!.current).toBe(3n)
  })

  test('a follower accepts an epoch once, however often it comes', async () => {
    const { leader, followers } = await serving(3)
    const [shaky] = followers as [TestServer]
    const answers: number[] = []
    const hear = ensemble.onSaid!
    ensemble.onSaid = (said) => {
      hear(said)
      const { name, from, data } = said
      if (name === 'ackEpoch' && from === shaky.id) answers.push(Buffer.from(data!).readInt32BE())
    }
    for (let turn = 0; turn < 3; turn++) {
      ensemble.hold(leader, shaky)
      await ensemble.pass(250)
      ensemble.healWithLoss()
      await ensemble.serving(3)
    }
    expect(answers).toEqual([-1, -1, -1])
    leader.crash()
    await ensemble.serving(2)
    if (!shaky.isLeading) expect(answers).toEqual([-1, -1, -1, 1])
    await startAll()
  })

  test('an epoch is newer than what any of its quorum has accepted', async () => {
    const { leader } = await serving(3)
    leader.crash()
    let next: TestServer | undefined
    once(
      ({ name }) => name === 'ackEpoch',
      ({ to }) => {
        next = ensemble.servers.get(to)!
        next.crash()
      },
    )
    await ensemble.until('the next leader dies', () => next !== undefined)
    // Only the follower of the two knows of epoch 2, and it is not the one that leads now.
    const before = leader.events.length
    await leader.start()
    await ensemble.serving(2)
    expect(leader.isLeading).toBe(true)
    expect(leader.epochs!.current).toBe(3n)
    // Not by trial and error.
    expect(leader.events.slice(before).map(({ type }) => type)).not.toContain('roleEnded')
    await startAll()
  })

  test('the highest epoch goes before the longest history', async () => {
    const { leader, followers, client } = await serving(3)
    ensemble.hold(leader, ...followers)
    for (let i = 0; i < 10; i++) client.askCreate(`/lost${i}`)
    await ensemble.settle()
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.serving(2)
    // In epoch 2 nothing was written: what its servers have logged ends before what is lost.
    for (const one of followers) one.crash()
    const [survivor] = followers as [TestServer]
    await leader.start()
    await survivor.start()
    await ensemble.serving(2)
    expect(survivor.isLeading).toBe(true)
    await startAll()
    await expectDelivered(['/first'])
  })
})

describe('phase 2, synchronisation', () => {
  test('whatever each of them has, all have the history of the leader before they deliver', async () => {
    const { leader, followers, client } = await serving(5)
    const [behind, empty, next, other] = followers as [
      TestServer,
      TestServer,
      TestServer,
      TestServer,
    ]
    behind.crash()
    for (let i = 0; i < 5; i++) expect(await client.create(`/n${i}`)).toBe(0)
    ensemble.hold(leader, empty, next, other)
    client.askCreate('/lost')
    await ensemble.settle()
    leader.crash()
    empty.crash()
    ensemble.healWithLoss()
    await behind.start()
    await ensemble.serving(3)
    await loseHistory(empty)
    await leader.start()
    await empty.start()
    await ensemble.serving(5)
    expect([behind, leader, empty].map((one) => plansFor(one).at(-1))).toEqual([
      'diff',
      'trunc',
      'snap',
    ])
    await expectDelivered(['/first', '/n0', '/n1', '/n2', '/n3', '/n4'])
  })

  test('a follower that dies while it is brought up claims no epoch whose history it lacks', async () => {
    const { leader, followers, client } = await serving(3)
    const [weak] = followers as [TestServer]
    weak.crash()
    for (let i = 0; i < 5; i++) expect(await client.create(`/n${i}`)).toBe(0)
    for (const word of ['diff', 'proposal', 'commit', 'newLeader', 'upToDate']) {
      await weak.start()
      const isDead = once(
        ({ name, to }) => name === word && to === weak.id,
        () => ensemble.post(() => weak.crash()),
      )
      await ensemble.until('it dies', () => isDead() && !weak.isUp)
    }
    leader.crash()
    await weak.start()
    await ensemble.serving(2)
    await startAll()
    await expectDelivered(['/first', '/n0', '/n1', '/n2', '/n3', '/n4'])
  })

  test('a follower whose disk does not take the history does not acknowledge it', async () => {
    const { followers, client } = await serving(3)
    const [slow] = followers as [TestServer]
    slow.crash()
    for (let i = 0; i < 3; i++) expect(await client.create(`/n${i}`)).toBe(0)
    await slow.start()
    slow.disk.fault = (call, path) =>
      call === 'write' && path.includes('log') ? 'ENOSPC' : undefined
    const isSent = once(
      ({ name, to }) => name === 'newLeader' && to === slow.id,
      () => {},
    )
    await ensemble.until('it has heard all', isSent)
    await ensemble.pass(200)
    expect(slow.isServing).toBe(false)
    slow.disk.fault = undefined
    await ensemble.serving(3)
    await expectDelivered(['/first', '/n0', '/n1', '/n2'])
  })

  test('a leader whose history is on no quorum yet broadcasts nothing', async () => {
    const { leader, followers } = await serving(3)
    leader.crash()
    let next: TestServer | undefined
    once(
      ({ name }) => name === 'newLeader',
      ({ from, to }) => {
        next = ensemble.servers.get(from)!
        ensemble.hold(ensemble.servers.get(to)!, next)
      },
    )
    await ensemble.until('a history is sent', () => next !== undefined)
    await ensemble.pass(500)
    expect(followers.map((one) => one.isServing)).toEqual([false, false])
    const early = await next!.connect()
    expect(early.isClosed).toBe(true)
    expect(witness.primaries.has(2n)).toBe(false)
    ensemble.heal()
    await ensemble.serving(2)
    const client = await next!.connect()
    expect(await client.create('/next')).toBe(0)
    await startAll()
    await expectDelivered(['/first', '/next'])
  })
})

describe('phase 3, broadcast', () => {
  test('nothing is delivered before a quorum has acknowledged it', async () => {
    const { leader, followers, client } = await serving(5)
    for (const follower of followers.slice(1)) ensemble.hold(follower, leader)
    client.askCreate('/waits')
    await ensemble.pass(100)
    expect(client.replies).toHaveLength(1)
    for (const server of all()) expect(pathsOf(server)).toEqual(['/first'])
    ensemble.heal()
    await ensemble.settle()
    expect(client.replies).toHaveLength(2)
    await expectDelivered(['/first', '/waits'])
  })

  test('what is under way when a follower joins is proposed to it, and its word counts', async () => {
    const { leader, followers, client } = await serving(3)
    const [away, mute] = followers as [TestServer, TestServer]
    away.crash()
    ensemble.hold(mute, leader)
    client.askCreate('/waits')
    await ensemble.settle()
    expect(client.replies).toHaveLength(1)
    await away.start()
    await ensemble.until('it is answered', () => client.replies.length === 2, 900)
    ensemble.heal()
    await ensemble.serving(3)
    await expectDelivered(['/first', '/waits'])
  })

  test('a follower whose disk does not answer acknowledges nothing', async () => {
    const { leader, followers, client } = await serving(3)
    const stall = new Deferred<void>()
    for (const follower of followers) follower.disk.stall = stall.promise
    client.askCreate('/waits')
    await ensemble.pass(300)
    expect(client.replies).toHaveLength(1)
    expect(pathsOf(leader)).toEqual(['/first'])
    for (const follower of followers) follower.disk.stall = undefined
    stall.resolve()
    await ensemble.until('it is answered', () => client.replies.length === 2)
    await expectDelivered(['/first', '/waits'])
  })

  test.each([
    [1, 2],
    [1, 3],
    [2, 3],
  ])('what was delivered outlives a loss of power, if only %i and %i come back', async (...ids) => {
    const { client } = await serving(3)
    for (let i = 0; i < 20; i++) client.askCreate(`/n${i}`)
    await ensemble.until('some are answered', () => client.replies.length > 1)
    const answered = client.replies.length
    for (const server of all()) server.crash()
    await ensemble.start(...ids)
    await ensemble.serving(2)
    expect(pathsOf(ensemble.leader).length).toBeGreaterThanOrEqual(answered)
    await startAll()
  })

  test('any two quorums of five share a server that knows', async () => {
    await serving(5)
    for (let turn = 0; turn < 5; turn++) {
      const gone = [turn, (turn + 2) % 5].map((i) => all()[i]!)
      for (const server of gone) server.crash()
      await ensemble.serving(3)
      const client = await ensemble.leader.connect()
      expect(await client.create(`/n${turn}`)).toBe(0)
      for (const server of all()) if (server.isUp) server.crash()
      await startAll()
    }
    await expectDelivered(['/first', '/n0', '/n1', '/n2', '/n3', '/n4'])
  })
})

// --- whatever happens ----------------------------------------------------------------------------

type Act =
  | { readonly do: 'write'; readonly on: number; readonly count: number }
  | { readonly do: 'crash' | 'start' | 'isolate' | 'stopClock'; readonly on: number }
  | { readonly do: 'hold'; readonly on: number; readonly to: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'heal' | 'healWithLoss' | 'settle' | 'lonelyDeath' }

function acts(size: number): fc.Arbitrary<Act[]> {
  const on = fc.nat(size - 1)
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('write'), on, count: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('crash', 'stopClock'), on }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('start'), on }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('isolate'), on }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('hold'), on, to: on }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.nat(1500) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('heal', 'healWithLoss', 'settle', 'lonelyDeath'),
      }),
    },
  )
  return fc.array(act as fc.Arbitrary<Act>, { minLength: 20, maxLength: 50 })
}

/** Plays the acts, then lets everything become whole again. */
async function play(size: number, script: readonly Act[]): Promise<void> {
  open(size)
  await startAll()
  let made = 0
  const clients = new Map<TestServer, TestClient>()
  const write = async (server: TestServer, count: number): Promise<void> => {
    let client = clients.get(server)
    if (client === undefined || client.isClosed) {
      if (!server.isServing) return
      // One that serves and has no quorum any more answers nobody.
      client = await server.connect({ limitMs: 50 }).catch(() => undefined)
      if (client === undefined) return
      clients.set(server, client)
    }
    for (let i = 0; i < count && !client.isClosed; i++) client.askCreate(`/n${made++}`)
  }
  /** A leader logs what nobody hears of, and is away until the others have another. */
  const lonelyDeath = async (): Promise<void> => {
    const leader = all().find((one) => one.isLeading)
    if (leader === undefined) return
    ensemble.isolate(leader)
    await write(leader, 2)
    await ensemble.settle()
    leader.crash()
    ensemble.healWithLoss()
    await ensemble.pass(700)
    await leader.start()
  }
  for (const act of script) {
    const server = 'on' in act ? all()[act.on]! : all()[0]!
    if (act.do === 'write') await write(server, act.count)
    else if (act.do === 'crash') {
      if (server.isUp) server.crash()
      clients.delete(server)
    } else if (act.do === 'start') {
      server.hasClock = true
      if (!server.isUp) await server.start()
    } else if (act.do === 'isolate') ensemble.isolate(server)
    else if (act.do === 'stopClock') server.hasClock = false
    else if (act.do === 'hold') ensemble.hold(server, all()[act.to]!)
    else if (act.do === 'pass') await ensemble.pass(act.ms)
    else if (act.do === 'lonelyDeath') await lonelyDeath()
    else await ensemble[act.do]()
  }
  ensemble.heal()
  for (const server of all()) server.hasClock = true
  await startAll()
  const last = await ensemble.followers[0]!.connect()
  expect(await last.create('/last')).toBe(0)
  await ensemble.pass(300)
}

describe('under any schedule', () => {
  test.each([
    [3, 25],
    [5, 15],
  ])(
    'all of it holds for %i servers',
    async (size, numRuns) => {
      const property = fc.asyncProperty(acts(size), async (script) => {
        await play(size, script)
        expect(witness.broken()).toEqual({})
        const [first, ...others] = all().map((server) => witness.delivered(server))
        expect(first!.at(-1)!.path).toBe('/last')
        for (const other of others) expect(other).toEqual(first)
        for (const server of all()) expect(server.failures).toEqual([])
      })
      await fc.assert(property, { numRuns, endOnFailure: true })
    },
    60_000,
  )
})
