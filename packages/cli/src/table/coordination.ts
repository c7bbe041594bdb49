import type { CommandTable } from '../framework/command.ts'
import { entry } from './entry.ts'

/** Locks, elections, queues, watches, and who holds what. */
export const coordination: CommandTable = {
  watch: entry('Print changes, or run a program for each', () => import('../commands/watch.ts')),
  lock: entry('Run a program while holding a lock', () => import('../commands/lock.ts')),
  elect: entry('Run a program while leading', () => import('../commands/elect.ts')),
  semaphore: entry('Run a program with a permit', () => import('../commands/semaphore.ts')),
  barrier: entry('Raise, lower and wait at a barrier', () => import('../commands/barrier.ts')),
  queue: entry('Put items into a queue, and take them', () => import('../commands/queue.ts')),
  locks: entry('Show holders and waiters of locks', () => import('../commands/locks.ts')),
  sessions: entry(
    'List sessions: who is connected, from where',
    () => import('../commands/sessions.ts'),
  ),
  ephemerals: entry(
    'Ephemeral nodes and their sessions',
    () => import('../commands/ephemerals.ts'),
  ),
}
