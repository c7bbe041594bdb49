/** Contests for several locks at once, and for write locks that become read locks. */
import { MultiLock, ReadWriteLock } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Workload } from '../workload.ts'
import { Contest } from './contest.ts'

/** Everybody wants the same locks and names them in an order of their own: nobody may wait for ever. */
export function multiLockContest(stage: Stage): Workload {
  const paths = ['/multi/a', '/multi/b', '/multi/c']
  return new Contest(stage, {
    name: 'several locks',
    path: '/multi',
    ask: async ({ client, chance, name: id }, options) => {
      const lock = new MultiLock(client, chance.chance(0.5) ? paths : paths.toReversed(), { id })
      const held =
        !stage.isHealed && chance.chance(0.1)
          ? await lock.tryAcquire(options)
          : await lock.acquire({ ...options, requeue: chance.chance(0.3) })
      return held && { held }
    },
  })
}

/** Some writers become readers, which no other writer may come in between. */
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
        const held = await lock.downgrade(writing, { lostOn: options.lostOn })
        stage.count('write locks downgraded')
        return { held, sharing: 'shared' }
      } catch (error) {
        writing.release().catch(() => {})
        throw error
      }
    },
  })
}
