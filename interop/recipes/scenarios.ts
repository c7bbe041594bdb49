import { barrier, doubleBarrier } from './barriers.ts'
import { exclusive, limited, readersAndWriters, strangers, type KindOf } from './contention.ts'
import { inOrder, readersBetweenWriters, type Queue } from './order.ts'
import { revocation } from './revocation.ts'
import { markedQueue, markedQueueOfTheDead, removal } from './marked-items.ts'
import type { Scenario } from './scenario.ts'
import {
  counting,
  discovery,
  group,
  party,
  persistentNode,
  persistentNodeOfTheDead,
  persistentTtlNode,
  queue,
  queueOfTheDead,
  sharedCount,
} from './shared-state.ts'
import { succession } from './succession.ts'
import type { Player } from './troupe.ts'

/** With Curator in the cast kazoo's nodes must have names that Curator knows. */
const named =
  (kind: string): KindOf =>
  (player) =>
    player === 'kazoo' ? `${kind}:named` : kind
const plain =
  (kind: string): KindOf =>
  () =>
    kind

const withCurator: readonly Player[] = ['zabra', 'curator']
const withKazoo: readonly Player[] = ['zabra', 'kazoo']
const all: readonly Player[] = ['zabra', 'curator', 'kazoo']

const lock: Queue = { recipe: 'lock', kindOf: plain('lock') }
const write: Queue = { recipe: 'write lock', kindOf: plain('write') }
const latch: Queue = { recipe: 'latch', kindOf: plain('latch') }
const semaphore: Queue = {
  recipe: 'semaphore of 1',
  kindOf: plain('semaphore:1'),
  waiters: 'locks',
  holderCounts: false,
}
const plainSides = { read: plain('read'), write: plain('write') }
const namedSides = { read: named('read'), write: named('write') }

export const scenarios: readonly Scenario[] = [
  exclusive('lock', withCurator),
  exclusive('lock', withKazoo),
  exclusive('lock', all, named('lock')),
  strangers(exclusive('lock', ['curator', 'kazoo'])),
  inOrder(lock, withCurator),
  inOrder(lock, withKazoo),
  inOrder({ ...lock, kindOf: named('lock') }, all),
  succession(lock, 'curator', 'zabra'),
  succession(lock, 'zabra', 'curator'),
  succession(lock, 'kazoo', 'zabra'),
  succession(lock, 'zabra', 'kazoo'),

  exclusive('multi', withCurator),

  readersAndWriters(withCurator, plainSides),
  readersAndWriters(withKazoo, plainSides),
  readersAndWriters(all, namedSides),
  readersBetweenWriters(['zabra', 'curator'], plainSides),
  readersBetweenWriters(['curator', 'zabra'], plainSides),
  readersBetweenWriters(['zabra', 'kazoo'], plainSides),
  readersBetweenWriters(['kazoo', 'zabra'], plainSides),
  inOrder(write, withCurator),
  inOrder(write, withKazoo),

  revocation('zabra', 'curator'),
  revocation('curator', 'zabra'),

  limited(3, withCurator),
  inOrder(semaphore, withCurator),
  succession(semaphore, 'curator', 'zabra'),
  succession(semaphore, 'zabra', 'curator'),

  exclusive('latch', withCurator),
  inOrder(latch, withCurator),
  succession(latch, 'curator', 'zabra'),
  succession(latch, 'zabra', 'curator'),

  barrier('zabra', 'curator', 'kazoo'),
  barrier('curator', 'kazoo', 'zabra'),
  barrier('kazoo', 'zabra', 'curator'),
  doubleBarrier(withCurator),
  doubleBarrier(withKazoo),
  doubleBarrier(all),

  counting('long', withCurator),
  counting('int', withCurator),
  queue(withKazoo),
  queueOfTheDead('kazoo', 'zabra'),
  queueOfTheDead('zabra', 'kazoo'),
  group(withCurator),
  discovery(withCurator),
  party(withKazoo),
  sharedCount(withCurator),
  persistentTtlNode(withCurator),
  persistentNode(withCurator),
  persistentNodeOfTheDead('curator', 'zabra'),
  markedQueue('delay', withCurator),
  markedQueueOfTheDead('delay', 'curator', 'zabra'),
  markedQueueOfTheDead('delay', 'zabra', 'curator'),
  markedQueue('id', withCurator),
  markedQueueOfTheDead('id', 'curator', 'zabra'),
  markedQueueOfTheDead('id', 'zabra', 'curator'),
  removal('zabra', 'curator'),
  removal('curator', 'zabra'),
]
