/** Contests for several locks at once, and for write locks that are downgraded to read locks. */
import { MultiLock, ReadWriteLock } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Workload } from '../workload.ts'
import { Contest } from './contest.ts'

/** All programs want some of the locks and name them in any order: none may wait forever. */
export function multiLockContest(stage: Stage): Workload {
  const paths = ['/multi/a', '/multi/b', '/multi/c']
  return new Contest(stage, {
    name: 'several locks',
    path: '/multi',
    parts: paths,
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, options) => {
      const drawn = paths.filter(() => chance.chance(0.6))
      const some = drawn.length === 0 ? paths : chance.chance(0.5) ? drawn : drawn.toReversed()
      const lock = new MultiLock(client, some, { id })
      const held =
        !stage.isHealed && chance.chance(0.1)
          ? await lock.tryAcquire(options)
          : await lock.acquire({ ...options, requeue: chance.chance(0.3) })
      return held && { held, parts: held.locks }
    },
  })
}

/** Some writers become readers, and no other writer may come in between. */
export function downgradeContest(stage: Stage): Workload {
  return new Contest(stage, {
    name: 'the downgraded lock',
    path: '/locks/downgraded',
    isDisturbed: true,
    ask: async ({ client, chance, name: id }, options) => {
      const lock = new ReadWriteLock(client, '/locks/downgraded', { id })
      if (chance.chance(0.3)) return { held: await lock.read.acquire(options), sharing: 'shared' }
      const writing = await lock.write.acquire(options)
      if (chance.chance(0.4)) return { held: writing }
      try {
        const held = await lock.downgrade(writing, options)
        stage.count('write locks downgraded')
        // The read lock has the token of the write lock.
        return { held, sharing: 'shared', isTokenOlder: true }
      } catch (error) {
        writing.release().catch(() => {})
        throw error
      }
    },
  })
}
