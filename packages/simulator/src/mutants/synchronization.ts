/** Errors in synchronizing a learner with the history of its leader. */
import type { Disk } from '@zabra/core'
import { changed } from './changed-disk.ts'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner } from './roles.ts'

interface Plan {
  readonly kind: 'diff' | 'trunc' | 'snap'
  readonly zxid?: bigint
  readonly txns?: readonly unknown[]
}

interface LearnerInside {
  become(state: string): void
}

/** A learner for which packets are held back. */
export interface HoldingInside {
  held: unknown
  heldBytes: number
}

/** Drops the packets held back for a learner. */
export function forget(learner: HoldingInside): void {
  learner.held = undefined
  learner.heldBytes = 0
}

export const synchronizationMutants: readonly Mutant[] = [
  ofLearner(
    'a follower takes over its leader’s epoch before the history is on disk',
    (_learner, _peer, { parts }) => {
      replace<[], Promise<void>>(parts, 'flush', (original) => async () => {
        original().catch(() => {})
      })
    },
  ),
  ofLeader('what a server acknowledged counts although it had to cut it off again', (leader) => {
    replace<[bigint], boolean>(inside(leader, 'core', 'acknowledged'), 'delete', () => () => false)
  }),
  ofLearner('a snapshot from the leader is not stored', (_learner, _peer, { parts }) => {
    replace<[], Promise<void>>(parts, 'takeSnapshot', () => async () => {})
  }),
  ofLearner('one transaction too few is cut off', (_learner, _peer, { parts }) => {
    replace<[bigint], Promise<void>>(
      parts,
      'truncate',
      (original) => (zxid) => original(zxid + 1n).catch(() => original(zxid)),
    )
  }),
  ofLearner('what is to be cut off is cut off in memory only', (_learner, peer, { parts }) => {
    replace<[bigint], Promise<void>>(parts, 'truncate', () => async (zxid) => {
      await (Reflect.get(peer, 'flush') as () => Promise<void>).call(peer)
      peer.db.lastZxid = zxid
    })
  }),
  {
    name: 'a newer snapshot is left when the log is cut off',
    servers: 3,
    disk: (disk) => changed(disk, { remove: (path) => removeUnlessNewest(disk, path) }),
  },
  {
    name: 'a later log is left when the log is cut off',
    servers: 3,
    disk: (disk) => {
      let removed = 0
      return changed(disk, {
        remove: async (path) => {
          // Of logs that are deleted one right after the other, every second one stays.
          if (/\/log\.\w+$/.test(path) && (await isNewest(disk, path)) && removed++ % 2 === 0)
            return
          await disk.remove(path)
        },
      })
    },
  },
  {
    name: 'the memory of what is committed survives a cut',
    servers: 3,
    joined: (peer) => replace(inside(peer, 'parts', 'committedLog'), 'clear', () => () => {}),
  },
  ofLeader('a learner is sent all but the first transaction it lacks', (leader) => {
    replace<unknown[], Plan>(
      inside(leader, 'synchronization'),
      'planFor',
      (original) =>
        (...args) => {
          const plan = original(...args)
          return plan.txns === undefined ? plan : { ...plan, txns: plan.txns.slice(1) }
        },
    )
  }),
  ofLeader('a learner is sent all but the last transaction it lacks', (leader) => {
    replace<unknown[], Plan>(
      inside(leader, 'synchronization'),
      'planFor',
      (original) =>
        (...args) => {
          const plan = original(...args)
          return plan.txns === undefined ? plan : { ...plan, txns: plan.txns.slice(0, -1) }
        },
    )
  }),
  ofLeader('a learner with more than its leader is left as it is', (leader) => {
    replace<unknown[], Plan>(
      inside(leader, 'synchronization'),
      'planFor',
      (original) =>
        (...args) => {
          const plan = original(...args)
          return plan.kind === 'trunc' ? { ...plan, kind: 'diff' } : plan
        },
    )
  }),
  ofLeader('what is proposed while a follower is brought up does not reach it', (leader) => {
    replace<[LearnerInside, bigint], void>(
      inside(leader, 'synchronization'),
      'forward',
      () => (learner) => {
        learner.become('synchronizing')
      },
    )
  }),
  ofLeader('what waits for a follower until it is up to date is dropped', (leader) => {
    replace<[HoldingInside], void>(inside(leader, 'core', 'learners'), 'release', () => forget)
  }),
]

async function removeUnlessNewest(disk: Disk, path: string): Promise<void> {
  if (/\/snapshot\.\w+$/.test(path) && (await isNewest(disk, path))) return
  await disk.remove(path)
}

/**
 * Whether this is the newest file of its kind: retention deletes old ones, only a truncation the
 * newest.
 */
async function isNewest(disk: Disk, path: string): Promise<boolean> {
  const at = path.lastIndexOf('/')
  const [kind, zxid] = path.slice(at + 1).split('.')
  const entries = await disk.list(path.slice(0, at))
  return entries.every(({ name }) => {
    const [itsKind, itsZxid] = name.split('.')
    return itsKind !== kind || parseInt(itsZxid!, 16) <= parseInt(zxid!, 16)
  })
}
