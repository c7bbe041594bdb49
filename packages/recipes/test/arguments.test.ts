import { OperationError, text, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from './support/server.ts'
import { Barrier } from '../src/barrier.ts'
import { DoubleBarrier } from '../src/double-barrier.ts'
import { Election } from '../src/election.ts'
import { Group } from '../src/group.ts'
import { hold, type LossPolicy } from '../src/holding/held.ts'
import { Lock } from '../src/lock.ts'
import { PriorityQueue } from '../src/priority-queue.ts'
import { Queue, type QueueOptions } from '../src/queue.ts'
import { ReadWriteLock } from '../src/read-write-lock.ts'
import { Rendezvous } from '../src/rendezvous.ts'
import { RevocableLock } from '../src/revocable-lock.ts'
import { Semaphore } from '../src/semaphore.ts'
import { ServiceDiscovery } from '../src/service-discovery.ts'
import { SimpleLock } from '../src/simple-lock.ts'
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

test('a queue without a codec is refused', async () => {
  const client = await fixture.open()
  for (const options of [undefined, {}]) {
    const none = options as unknown as QueueOptions<string>
    expect(() => new Queue(client, '/codec', none)).toThrow(/^codec is missing: /)
    expect(() => new PriorityQueue(client, '/codec', none)).toThrow(/^codec is missing: /)
  }
})
