import { OperationError, text, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from './support/server.ts'
import { LeaderCoordinator } from '../src/adapters/leader-coordinator.ts'
import { AtomicValue } from '../src/atomic-value.ts'
import { Barrier } from '../src/barrier.ts'
import { Configuration } from '../src/configuration.ts'
import { Counter } from '../src/counter.ts'
import { DelayQueue } from '../src/delay-queue.ts'
import { DoubleBarrier } from '../src/double-barrier.ts'
import { Election } from '../src/election.ts'
import { Group } from '../src/group.ts'
import { hold, type LossPolicy } from '../src/holding/held.ts'
import { Lease } from '../src/lease.ts'
import { Lock } from '../src/lock.ts'
import { MultiLock } from '../src/multi-lock.ts'
import { NameService } from '../src/name-service.ts'
import { PersistentNode, PersistentTtlNode } from '../src/persistent-node.ts'
import { PriorityQueue } from '../src/priority-queue.ts'
import { Queue, type QueueOptions } from '../src/queue.ts'
import { ReadWriteLock } from '../src/read-write-lock.ts'
import { Rendezvous } from '../src/rendezvous.ts'
import { RevocableLock } from '../src/revocable-lock.ts'
import { Semaphore } from '../src/semaphore.ts'
import { ServiceDiscovery } from '../src/service-discovery.ts'
import { SetPartitioner } from '../src/set-partitioner.ts'
import { SimpleLock } from '../src/simple-lock.ts'
import { TreeCache } from '../src/tree-cache.ts'
import { TwoPhaseCommit } from '../src/two-phase-commit.ts'
import type { LockOptions } from '../src/turns/turn.ts'

const fixture = useServer()

type Make = (client: Client, path: string, options?: LockOptions) => unknown

const makers: Record<string, Make> = {
  Lock: (...args) => new Lock(...args),
  SimpleLock: (...args) => new SimpleLock(...args),
  ReadWriteLock: (...args) => new ReadWriteLock(...args),
  RevocableLock: (...args) => new RevocableLock(...args),
  Semaphore: (client, path, options) => new Semaphore(client, path, 1, options),
  Election: (...args) => new Election(...args),
  DoubleBarrier: (client, path, options) => new DoubleBarrier(client, path, 1, options),
  Queue: (client, path, options) => new Queue(client, path, { codec: text, ...options }),
  PriorityQueue: (client, path, options) =>
    new PriorityQueue(client, path, { codec: text, ...options }),
}

test('an invalid path is refused at once, as it was given', async () => {
  const client = await fixture.open()
  const all: Record<string, Make> = {
    ...makers,
    Barrier: (...args) => new Barrier(...args),
    Group: (at, path) => new Group(at, path, { codec: text }),
    Rendezvous: (at, path) => new Rendezvous(at, path, { codec: text }),
    ServiceDiscovery: (at, path) => new ServiceDiscovery(at, path),
    TwoPhaseCommit: (at, path) => new TwoPhaseCommit(at, path, { codec: text }),
  }
  for (const [name, make] of Object.entries(all)) {
    for (const path of ['locks', '', '/locks/', '/locks//a', '/locks/../a']) {
      const refused = new RegExp(`^'${path}' is not a path: `)
      expect(() => make(client, path), name).toThrow(OperationError)
      expect(() => make(client, path), name).toThrow(refused)
    }
    const missing = undefined as unknown as string
    expect(() => make(client, missing), name).toThrow(
      'undefined is not a path: the path is not text',
    )
  }
})

test('the loss policy is one of two words', async () => {
  const client = await fixture.open()
  const lostOn = 'suspend' as LossPolicy
  const refusal = new TypeError("lostOn is 'suspended' or 'expired', not suspend")
  for (const [name, make] of Object.entries(makers))
    expect(() => make(client, '/lost-on', { lostOn }), name).toThrow(refusal)
  const node = await client.create('/lost-on-own', '', { ephemeral: true })
  expect(() => hold(client, node, { lostOn })).toThrow(refusal)
  const waits = [
    new Lock(client, '/lost-on').acquire({ lostOn }),
    new Lock(client, '/lost-on').tryAcquire({ lostOn }),
    new SimpleLock(client, '/lost-on').acquire({ lostOn }),
    new SimpleLock(client, '/lost-on').tryAcquire({ lostOn }),
    new Semaphore(client, '/lost-on', 1).acquire({ lostOn }),
    new Semaphore(client, '/lost-on', 1).tryAcquire({ lostOn }),
    new DoubleBarrier(client, '/lost-on', 1).enter({ lostOn }),
  ]
  for (const wait of waits) await expect(wait).rejects.toThrow(refusal)
  // Nobody has begun to wait.
  expect(await client.exists('/lost-on')).toBeUndefined()
})

test('numbers of permits and members are whole numbers', async () => {
  const client = await fixture.open()
  for (const count of [0, -1, 1.5, Number.NaN, undefined as unknown as number]) {
    expect(() => new Semaphore(client, '/count', count)).toThrow(
      new RangeError(`permits is a whole number from 1 on, not ${count}`),
    )
    expect(() => new DoubleBarrier(client, '/count', count)).toThrow(
      new RangeError(`members is a whole number from 1 on, not ${count}`),
    )
  }
})

test('a recipe without a codec is refused', async () => {
  const client = await fixture.open()
  for (const options of [undefined, {}]) {
    const none = options as unknown as QueueOptions<string> & { readonly initial: string }
    const missing = /^codec is missing: /
    expect(() => new Queue(client, '/codec', none)).toThrow(missing)
    expect(() => new PriorityQueue(client, '/codec', none)).toThrow(missing)
    expect(() => new Group(client, '/codec', none)).toThrow(missing)
    expect(() => new AtomicValue(client, '/codec', none)).toThrow(missing)
    expect(() => new NameService(client, '/codec', none)).toThrow(missing)
    expect(() => new Rendezvous(client, '/codec', none)).toThrow(missing)
    expect(() => new TwoPhaseCommit(client, '/codec', none)).toThrow(missing)
    await expect(Configuration.open(client, '/codec', none)).rejects.toThrow(missing)
    await expect(PersistentNode.open(client, '/codec', '', none)).rejects.toThrow(missing)
  }
})

/** A recipe, made with an option that it does not have. */
const recipes: Readonly<Record<string, (client: Client, typo: object) => unknown>> = {
  Lock: (client, typo) => new Lock(client, '/typo', typo),
  SimpleLock: (client, typo) => new SimpleLock(client, '/typo', typo),
  ReadWriteLock: (client, typo) => new ReadWriteLock(client, '/typo', typo),
  RevocableLock: (client, typo) => new RevocableLock(client, '/typo', typo),
  MultiLock: (client, typo) => new MultiLock(client, ['/typo'], typo),
  Semaphore: (client, typo) => new Semaphore(client, '/typo', 1, typo),
  Lease: (client, typo) => new Lease(client, '/typo', { id: 'a', ttlMs: 5, ...typo }),
  Election: (client, typo) => new Election(client, '/typo', typo),
  SetPartitioner: (client, typo) => new SetPartitioner(client, '/typo', ['a'], typo),
  Barrier: (client, typo) => new Barrier(client, '/typo', typo),
  DoubleBarrier: (client, typo) => new DoubleBarrier(client, '/typo', 1, typo),
  Rendezvous: (client, typo) => new Rendezvous(client, '/typo', { codec: text, ...typo }),
  TwoPhaseCommit: (client, typo) => new TwoPhaseCommit(client, '/typo', { codec: text, ...typo }),
  Queue: (client, typo) => new Queue(client, '/typo', { codec: text, ...typo }),
  DelayQueue: (client, typo) => new DelayQueue(client, '/typo', { codec: text, ...typo }),
  AtomicValue: (client, typo) =>
    new AtomicValue(client, '/typo', { codec: text, initial: '', ...typo }),
  Counter: (client, typo) => new Counter(client, '/typo', typo),
  Configuration: (client, typo) => Configuration.open(client, '/typo', { codec: text, ...typo }),
  TreeCache: (client, typo) => TreeCache.open(client, '/typo', typo),
  Group: (client, typo) => new Group(client, '/typo', { codec: text, ...typo }),
  NameService: (client, typo) => new NameService(client, '/typo', { codec: text, ...typo }),
  PersistentNode: (client, typo) =>
    PersistentNode.open(client, '/typo', '', { codec: text, ...typo }),
  PersistentTtlNode: (client, typo) =>
    PersistentTtlNode.open(client, '/typo', '', { codec: text, ttlMs: 5, ...typo }),
  discover: (client, typo) => new ServiceDiscovery(client, '/typo').discover('a', typo),
  LeaderCoordinator: (client, typo) => LeaderCoordinator.open(client, '/typo', typo),
}

test.each(Object.entries(recipes))(
  '%s refuses an option that it does not have',
  async (_, make) => {
    const client = await fixture.open()
    const made = (async () => make(client, { timeoutMS: 1 }))()
    await expect(made).rejects.toThrow(/has no option timeoutMS/)
    expect(await client.exists('/typo')).toBeUndefined()
  },
)

/** The calls of recipes, given an option that none has. */
const calls: Readonly<Record<string, (client: Client, typo: object) => Promise<unknown>>> = {
  'lock.acquire': (client, typo) => new Lock(client, '/typo').acquire(typo),
  'lock.run': (client, typo) => new Lock(client, '/typo').run(() => {}, typo),
  'lock.tryAcquire': (client, typo) => new Lock(client, '/typo').tryAcquire(typo),
  'simpleLock.acquire': (client, typo) => new SimpleLock(client, '/typo').acquire(typo),
  'revocableLock.acquire': (client, typo) =>
    new RevocableLock(client, '/typo').write.acquire({ revoke: true, ...typo }),
  'multiLock.acquire': (client, typo) => new MultiLock(client, ['/typo']).acquire(typo),
  'semaphore.acquire': (client, typo) => new Semaphore(client, '/typo', 1).acquire(typo),
  'election.campaign': (client, typo) => new Election(client, '/typo').campaign(typo),
  'election.run': (client, typo) => new Election(client, '/typo').run(async () => {}, typo),
  'barrier.wait': (client, typo) => new Barrier(client, '/typo').wait(typo),
  'doubleBarrier.enter': (client, typo) => new DoubleBarrier(client, '/typo', 1).enter(typo),
  'queue.put': (client, typo) => new Queue(client, '/typo', { codec: text }).put('', typo),
  'queue.take': (client, typo) => new Queue(client, '/typo', { codec: text }).take(typo),
  'queue.size': (client, typo) => new Queue(client, '/typo', { codec: text }).size(typo),
  'counter.add': (client, typo) => new Counter(client, '/typo').add(1, typo),
  'counter.live': (client, typo) => new Counter(client, '/typo').live(typo),
  'group.join': (client, typo) => new Group(client, '/typo', { codec: text }).join('', typo),
  'group.watch': (client, typo) => new Group(client, '/typo', { codec: text }).watch(typo),
  'names.bind': (client, typo) =>
    new NameService(client, '/typo', { codec: text }).bind('a', 'x', typo),
  'names.lookup': (client, typo) =>
    new NameService(client, '/typo', { codec: text }).lookup('a', typo),
  'transfers.propose': (client, typo) =>
    new TwoPhaseCommit(client, '/typo', { codec: text }).propose('', { sites: ['a'], ...typo }),
}

test.each(Object.entries(calls))('%s refuses an option that it does not have', async (_, call) => {
  const client = await fixture.open()
  await expect(call(client, { timeoutMS: 1 })).rejects.toThrow(/has no option timeoutMS/)
})
