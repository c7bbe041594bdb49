/** A contest for each recipe that grants something to hold. */
import { ClosedError } from '@zabra/client'
import {
  Election,
  Lock,
  ReadWriteLock,
  RevocableLock,
  Semaphore,
  SimpleLock,
  type Candidate,
} from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Workload } from '../workload.ts'
import { Contest } from './contest.ts'

export function lockContest(stage: Stage): Workload {
  return new Contest(stage, {
    name: 'the lock',
    path: '/locks/one',
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, options) => {
      const lock = new Lock(client, '/locks/one', { id })
      const held =
        !stage.isHealed && chance.chance(0.1)
          ? await lock.tryAcquire(options)
          : await lock.acquire({ ...options, requeue: chance.chance(0.3) })
      return held && { held }
    },
  })
}

export function simpleLockContest(stage: Stage): Workload {
  return new Contest(stage, {
    name: 'the simple lock',
    path: '/simple',
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, options) => {
      const lock = new SimpleLock(client, '/simple', { id })
      const held =
        !stage.isHealed && chance.chance(0.1)
          ? await lock.tryAcquire(options)
          : await lock.acquire(options)
      return held && { held }
    },
  })
}

export function readWriteContest(stage: Stage): Workload {
  return new Contest(stage, {
    name: 'the read/write lock',
    path: '/locks/rw',
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, options) => {
      const lock = new ReadWriteLock(client, '/locks/rw', { id })
      const isTrying = !stage.isHealed && chance.chance(0.1)
      if (chance.chance(0.5)) {
        const held = await (isTrying ? lock.read.tryAcquire(options) : lock.read.acquire(options))
        return held && { held, sharing: 'shared' }
      }
      const held = await (isTrying ? lock.write.tryAcquire(options) : lock.write.acquire(options))
      return held && { held }
    },
  })
}

export function revocableContest(stage: Stage): Workload {
  return new Contest(stage, {
    name: 'the revocable lock',
    path: '/locks/revocable',
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, limits) => {
      const lock = new RevocableLock(client, '/locks/revocable', { id })
      const isShared = chance.chance(0.5)
      const answer = chance.pick(['release', 'refuse', 'nothing'] as const)
      const options = {
        ...limits,
        onAsked: (held: { release(): Promise<void>; refuse(): Promise<void> }) => {
          stage.count(`asked to give back: ${answer}`)
          if (answer !== 'nothing') held[answer]().catch(() => {})
        },
        revoke: chance.pick([false, true, { removeAfterMs: 200, evenIfRefused: true }] as const),
      }
      const held = await (isShared ? lock.read.acquire(options) : lock.write.acquire(options))
      return { held, sharing: isShared ? 'shared' : 'alone' }
    },
  })
}

export function semaphoreContest(stage: Stage): Workload {
  const permitsMax = stage.random.fork('permits').between(1, 3)
  return new Contest(stage, {
    name: 'the semaphore',
    path: '/semaphore',
    permitsMax,
    ask: async ({ client, chance, name: id }, options) => {
      const semaphore = new Semaphore(client, '/semaphore', permitsMax, { id })
      const permits = chance.between(1, permitsMax)
      const held =
        !stage.isHealed && chance.chance(0.1)
          ? await semaphore.tryAcquire({ ...options, permits })
          : await semaphore.acquire({ ...options, permits, requeue: chance.chance(0.3) })
      return held && { held, permits }
    },
  })
}

/** In addition, all programs follow the leader, and know it in the end. */
export function electionContest(stage: Stage): Workload {
  const path = '/election'
  const known = new Map<string, Candidate | undefined | 'nothing yet'>()
  return new Contest(stage, {
    name: 'the leadership',
    path,
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, options) => {
      const held = await new Election(client, path, { id }).campaign({
        ...options,
        requeue: chance.chance(0.3),
      })
      return { held }
    },
    begin: ({ client, name, process }) => {
      known.set(name, 'nothing yet')
      const follow = async (): Promise<void> => {
        for await (const leader of new Election(client, path).leaders())
          if (process.isAlive) known.set(name, leader)
      }
      follow().catch((error: unknown) => {
        if (!(error instanceof ClosedError) && client.state.name !== 'closed')
          stage.violate(`${name} stops following who leads: ${String(error)}`)
      })
    },
    unrest: () => {
      const wrong = [...known].find(([, leader]) => leader !== undefined)
      return wrong && `${wrong[0]} takes ${JSON.stringify(wrong[1], replacer)} for the leader`
    },
  })
}

const replacer = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}` : value
