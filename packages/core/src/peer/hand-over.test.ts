/** Leadership that passes on while everybody is there: at the end of an epoch, and when asked for. */
import { afterEach, describe, expect, test } from 'vitest'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'
import type { EnsembleOptions } from './ensemble-parts.ts'

let ensemble: TestEnsemble

async function threeServing(
  options: Partial<EnsembleOptions> = {},
): Promise<{ leader: TestServer; followers: TestServer[] }> {
  ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' }, options)
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  const { leader, followers } = ensemble
  return { leader, followers }
}

/** Goes on with a session elsewhere. */
function resume({ sessionId, password, replies }: TestClient, on: TestServer): Promise<TestClient> {
  const lastZxidSeen = replies.at(-1)?.zxid ?? 0n
  return on.connect({ session: { sessionId, password }, lastZxidSeen })
}

const everywhere = (): string[][] => [...ensemble.servers.values()].map(({ paths }) => paths)
const epoch = (): bigint => ensemble.leader.epochs!.current

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

describe('a counter that is used up', () => {
  test('loses no accepted write, and no session', async () => {
    const { leader, followers } = await threeServing({ counterMax: 20n })
    const clients = [await leader.connect(), await followers[0]!.connect()]
    expect(await clients[0]!.create('/mine', 1)).toBe(0)
    // The session of each, and one node, are the first three: together they ask for too much.
    for (let i = 0; i < 15; i++) {
      for (const [who, client] of clients.entries()) client.askCreate(`/n${who}-${i}`)
    }
    await ensemble.until('the epoch ends', () => clients.every(({ isClosed }) => isClosed))
    const endedMs = ensemble.nowMs
    const confirmed = clients.flatMap(({ replies }) => replies.filter(({ err }) => err === 0))
    expect(confirmed).toHaveLength(18)
    await ensemble.serving(3)
    expect(ensemble.nowMs - endedMs).toBeLessThan(50)
    expect(epoch()).toBe(2n)
    for (const paths of everywhere()) expect(paths).toHaveLength(18)
    const again = await resume(clients[0]!, ensemble.followers[0]!)
    expect(again.sessionId).toBe(clients[0]!.sessionId)
    expect(await again.exists('/mine')).toBe(0)
    expect(await again.create('/next')).toBe(0)
    expect(again.replies.at(-1)!.zxid >> 32n).toBe(2n)
  })

  test('is used up again and again', async () => {
    await threeServing({ counterMax: 6n })
    for (let i = 0; i < 40; i++) {
      const client = await ensemble.leader.connect()
      if ((await client.create(`/n${i}`)) !== 0) i--
      client.close()
      await ensemble.serving(3)
    }
    for (const paths of everywhere()) expect(paths).toHaveLength(40)
    expect(epoch()).toBeGreaterThan(10n)
  })

  test('is avoided by an early epoch while all voters are connected', async () => {
    const { leader, followers } = await threeServing({ counterMax: 640n })
    const client = await leader.connect()
    for (let i = 0; i < 629; i++) client.askCreate(`/n${i}`)
    await ensemble.until('all are answered', () => client.replies.length === 629)
    await ensemble.pass(1000)
    expect(epoch()).toBe(1n)
    followers[0]!.crash()
    await client.create('/last-part')
    await ensemble.pass(1000)
    expect(epoch()).toBe(1n)
    await followers[0]!.start()
    await ensemble.until('the next epoch', () => ensemble.followers.length === 2 && epoch() === 2n)
    expect(client.replies.map(({ err }) => err)).toEqual(Array(630).fill(0))
  })
})

describe('a leader that must hand over', () => {
  test('commits what it has proposed, and follows the next leader', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    expect(await client.create('/mine', 1)).toBe(0)
    for (let i = 0; i < 10; i++) client.askCreate(`/n${i}`)
    const askedMs = ensemble.nowMs
    const handing = leader.peer!.handOver()
    client.askCreate('/too-late')
    await ensemble.until('another leads', () => ensemble.followers.includes(leader))
    await ensemble.serving(3)
    expect(ensemble.nowMs - askedMs).toBeLessThan(50)
    expect(await handing).toEqual({ leader: ensemble.leader.id })
    expect(ensemble.leader.id).not.toBe(leader.id)
    expect(client.replies.map(({ err }) => err)).toEqual(Array(11).fill(0))
    for (const paths of everywhere()) expect(paths).toHaveLength(11)
    const again = await resume(client, leader)
    expect(await again.exists('/mine')).toBe(0)
    expect(await again.create('/next')).toBe(0)
  })

  test('hands over to a server that has logged everything', async () => {
    const { leader, followers } = await threeServing()
    const [quick, slow] = followers as [TestServer, TestServer]
    expect(slow.id).toBeGreaterThan(quick.id)
    const client = await leader.connect()
    ensemble.hold(leader, slow)
    expect(await client.create('/a')).toBe(0)
    const handing = leader.peer!.handOver()
    await ensemble.settle()
    ensemble.healWithLoss()
    await ensemble.serving(3)
    expect(await handing).toEqual({ leader: quick.id })
    expect(ensemble.leader.id).toBe(quick.id)
    for (const paths of everywhere()) expect(paths).toEqual(['/a'])
  })

  test('follows the outcome of the election if its successor is gone', async () => {
    const { leader, followers } = await threeServing()
    const handing = leader.peer!.handOver()
    followers.find(({ id }) => id === 2n)!.crash()
    await ensemble.serving(2)
    expect(await handing).toEqual({ leader: ensemble.leader.id })
    expect([...ensemble.servers.values()].filter(({ isLeading }) => isLeading)).toHaveLength(1)
  })

  test('and that does not lead, says so', async () => {
    const { followers } = await threeServing()
    const answer = await followers[0]!.peer!.handOver()
    expect(answer).toEqual({ problem: 'this server does not lead' })
    expect(ensemble.leader.epochs!.current).toBe(1n)
  })

  test('without a quorum steps down as well', async () => {
    const { leader } = await threeServing()
    const client = await leader.connect()
    ensemble.isolate(leader)
    client.askCreate('/a')
    const handing = leader.peer!.handOver()
    await ensemble.until('it leads no longer', () => !leader.isLeading, 600)
    ensemble.heal()
    await ensemble.serving(3)
    expect(await handing).toEqual({ leader: ensemble.leader.id })
  })
})
