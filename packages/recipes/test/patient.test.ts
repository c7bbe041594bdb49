import { json, text, type Client } from '@zabra/client'
import { nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import {
  AtomicValue,
  Barrier,
  Counter,
  ServiceDiscovery,
  DoubleBarrier,
  Election,
  Rendezvous,
  hold,
  TwoPhaseCommit,
  Group,
  Lock,
  NameService,
  Configuration,
  TreeCache,
  PriorityQueue,
  Queue,
  ReadWriteLock,
  RevocableLock,
  Semaphore,
  SimpleLock,
} from '../src/index.ts'
import { useServer } from './support/server.ts'
import { openProxied } from './support/trouble.ts'

const fixture = useServer()
const openHasty = () => openProxied(fixture.connectString, { callTimeoutMs: 100 })

/** Resolves when all earlier requests would have failed by the default deadline. */
async function defaultDeadline(client: Client): Promise<void> {
  await expect(client.get('/')).rejects.toMatchObject({ code: 'timeout' })
}

test('a lock is released, however long the connection is lost', async () => {
  const { client, proxy } = await openHasty()
  const held = await new Lock(client, '/released').acquire({ lostOn: 'expired' })
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const released = held.release()
  await defaultDeadline(client)
  await proxy.heal()
  await released
  const other = await fixture.open()
  await using next = await new Lock(other, '/released').acquire({ timeoutMs: 1000 })
  expect(await new Lock(other, '/released').queue()).toEqual([next.path])
})

test('giving up while the connection is lost leaves the line when it is back', async () => {
  const other = await fixture.open()
  const held = await new Lock(other, '/given-up').acquire()
  const { client, proxy } = await openHasty()
  const controller = new AbortController()
  const { signal } = controller
  const waiting = new Lock(client, '/given-up').acquire({ signal }).catch((error: unknown) => error)
  await untilChildren(other, '/given-up', 2)
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  controller.abort('enough')
  expect(await waiting).toBe('enough')
  await defaultDeadline(client)
  await proxy.heal()
  await untilChildren(other, '/given-up', 1)
  expect(await new Lock(other, '/given-up').queue()).toEqual([held.path])
})

test('a held node is watched, even if the first answer is late', async () => {
  const { client, proxy } = await openHasty()
  const other = await fixture.open()
  const node = await client.patient.create('/late', '', { ephemeral: true })
  proxy.hold({ direction: 'toClient' })
  const held = hold(client, node, { lostOn: 'expired' })
  await defaultDeadline(client)
  proxy.reset()
  await proxy.heal()
  await client.connected()
  await client.patient.sync()
  await other.delete('/late')
  await client.patient.sync()
  expect(held.signal.reason).toMatchObject({ reason: 'deleted' })
})

const codec = text
const numbers = json<number>()

const entries: Record<string, (client: Client, path: string) => Promise<unknown>> = {
  'a value': (client, path) => new AtomicValue(client, path, { codec, initial: '' }).set('a'),
  'a barrier': (client, path) => new Barrier(client, path).raise(),
  'a counter': (client, path) => new Counter(client, path).increment(),
  'a live counter': (client, path) => new Counter(client, path).live(),
  'a service': (client, path) => new ServiceDiscovery(client, path).register({ name: 'a' }),
  'the instances of a service': (client, path) => new ServiceDiscovery(client, path).discover('a'),
  'a list of services': (client, path) => new ServiceDiscovery(client, path).list(),
  'a double barrier': (client, path) => new DoubleBarrier(client, path, 1).enter(),
  'an election': (client, path) => new Election(client, path).campaign({ lostOn: 'expired' }),
  'a leader': (client, path) => new Election(client, path).leader(),
  'a member': (client, path) => new Group(client, path, { codec }).join(''),
  'a group': (client, path) => new Group(client, path, { codec }).watch(),
  'a queue of a lock': (client, path) => new Lock(client, path).queue(),
  'a name': (client, path) => new NameService(client, path, { codec }).bind('a', 'b'),
  'what a name stands for': (client, path) => new NameService(client, path, { codec }).lookup('a'),
  'a configuration': (client, path) => Configuration.open(client, path, { codec, fallback: '' }),
  'a rendezvous': (client, path) => Rendezvous.open(client, path, { lostOn: 'expired' }),
  'a tree': (client, path) => TreeCache.open(client, path),
  'a queue': (client, path) => new Queue(client, path, { codec }).put(''),
  'an item': (client, path) => new Queue(client, path, { codec }).tryTake(),
  'a queue with priorities': (client, path) =>
    new PriorityQueue(client, path, { codec }).put('', 1),
  'a read lock': (client, path) =>
    new ReadWriteLock(client, path).read.acquire({ lostOn: 'expired' }),
  'a revocable lock': (client, path) =>
    new RevocableLock(client, path).write.acquire({ lostOn: 'expired' }),
  'a semaphore': (client, path) => new Semaphore(client, path, 1).acquire({ lostOn: 'expired' }),
  'a simple lock': (client, path) => new SimpleLock(client, path).acquire({ lostOn: 'expired' }),
  'a proposal': (client, path) =>
    new TwoPhaseCommit(client, path, { codec: numbers }).propose(1, { sites: ['a'] }),
}

test('no recipe has the default deadline of the client', async () => {
  const { client, proxy } = await openHasty()
  const other = await fixture.open()
  const place = await Rendezvous.open(other, '/place')
  await new TwoPhaseCommit(other, '/proposed', { codec: numbers }).propose(1, { sites: ['a'] })
  proxy.hold({ direction: 'toClient' })
  const outcomes = Object.entries(entries).map(async ([name, act], i) => {
    await act(client, `/entry-${i}`).catch((error: unknown) => {
      throw new Error(name, { cause: error })
    })
  })
  outcomes.push(
    new Rendezvous(client, place.path, { codec: numbers }).announce(1).then((isFirst) => {
      expect(isFirst).toBe(true)
    }),
    new Rendezvous(client, place.path, { codec: numbers }).join().then(({ value }) => {
      expect(value).toBe(1)
    }),
    new TwoPhaseCommit(client, '/proposed', { codec }).resume().then(async (commit) => {
      expect(await commit.decision()).toBe('commit')
    }),
    new TwoPhaseCommit(client, '/proposed', { codec: numbers }).join('a').then(async (site) => {
      expect(await site.vote('commit')).toBe('commit')
    }),
  )
  const all = Promise.all(outcomes)
  all.catch(() => {})
  await defaultDeadline(client)
  proxy.reset()
  await proxy.heal()
  await all
})
