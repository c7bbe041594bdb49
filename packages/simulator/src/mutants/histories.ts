/** Errors in telling histories apart, when several meet on one disk or in memory. */
import type { EnsemblePeer } from '@zabra/core'
import { changed } from './changed-disk.ts'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner } from './roles.ts'

interface Older {
  readonly txns: readonly unknown[]
  readonly before: bigint
}

type ReadHistory = (after: bigint, before: bigint) => Promise<unknown>

/** The number of learners that the log is being read for, by disk. */
const readers = new WeakMap<object, number>()

export const historyMutants: readonly Mutant[] = [
  ofLeader('a voter with a longer history is led all the same', (leader) => {
    replace<[bigint, bigint, bigint], void>(
      inside(leader, 'core', 'discovery'),
      'acknowledge',
      (original) => (sid) => original(sid, 0n, 0n),
    )
  }),
  {
    name: 'a snapshot under way goes on when a role ends',
    servers: 3,
    faults: ['churn', 'strandedLeader'],
    joined: (peer) => replace(inside(peer, 'journal', 'snapshots'), 'abandon', () => () => {}),
  },
  {
    ...ofLeader('history is read across a snapshot from a leader', (_leader, peer, { parts }) => {
      const disk = inside(peer, 'parts', 'disk')
      const count = (by: number): unknown => readers.set(disk, (readers.get(disk) ?? 0) + by)
      replace<Parameters<ReadHistory>, Promise<unknown>>(
        parts,
        'readHistory',
        (original) => (after, before) => {
          count(1)
          return original(after, before).finally(() => count(-1))
        },
      )
    }),
    servers: 5,
    faults: ['twoHistories'],
    disk: (disk) => {
      const own = changed(disk, {
        list: async (directory) => {
          const entries = await disk.list(directory)
          const isReading = (readers.get(own) ?? 0) > 0
          return isReading ? entries.filter(({ name }) => !isSnapshot(name)) : entries
        },
      })
      return own
    },
  },
  ofLearner(
    'a snapshot that ends before the own log keeps the name its leader gave it',
    (learner) => replace<[bigint], bigint>(learner, 'nameOfSnapshot', () => (zxid) => zxid),
    { zab: { alwaysSendSnapshot: true }, faults: ['strandedLeader', 'crashInTakeover'] },
  ),
  {
    name: 'a walk through the tree writes what was born meanwhile',
    servers: 3,
    faults: ['churn'],
    joined: ignoreNewborn,
  },
  ofLeader(
    'memory has dropped what the log was read up to',
    (leader) => {
      const log = inside(leader, 'core', 'parts', 'committedLog')
      replace<[bigint, Older | undefined], unknown>(
        inside(leader, 'synchronization'),
        'planFor',
        (original) => (zxid, older) =>
          original(zxid, older && { ...older, before: (log as { min?: bigint }).min! }),
      )
    },
    { faults: ['followerAway'] },
  ),
]

function isSnapshot(name: string): boolean {
  return name.startsWith('snapshot.')
}

function ignoreNewborn(peer: EnsemblePeer): void {
  replace<[], object>(peer.db, 'snapshotSource', (original) => () => {
    // A tree from the leader replaces the previous one.
    const { tree } = peer.db
    const cursor = tree.cursor.bind(tree)
    tree.cursor = () => {
      const walk = cursor()
      replace(walk, 'nodeCreated', () => () => {})
      return walk
    }
    try {
      return original()
    } finally {
      Reflect.deleteProperty(tree, 'cursor')
    }
  })
}
