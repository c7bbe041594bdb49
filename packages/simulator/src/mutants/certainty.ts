/** Errors in what a server assumes to be certain: that it leads, and what is committed. */
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner } from './roles.ts'

export const certaintyMutants: readonly Mutant[] = [
  ofLeader('what was proposed behind a sync is committed before the sync is answered', (leader) => {
    replace<[bigint?], boolean>(
      inside(leader, 'certainty'),
      'answerSyncs',
      (original) => (before) => {
        original(before)
        return true
      },
    )
  }),
  ofLeader('a sync is answered by a leader that asks nobody whether it still leads', (leader) => {
    replace(inside(leader, 'certainty', 'confirmation'), 'isConfirmed', () => () => true)
  }),
  ofLeader(
    'a sync is confirmed by the answers to earlier pings',
    (leader) => {
      const confirmation = inside(leader, 'certainty', 'confirmation')
      const newest = (): number => Reflect.get(confirmation, 'confirmed') as number
      replace(confirmation, 'want', (original: (...args: never[]) => number) => (...args) => {
        original(...args)
        return newest()
      })
    },
    { faults: ['staleLeader'] },
  ),
  ofLeader('one follower that answers is enough to confirm a leader', (leader) => {
    replace<[number], boolean>(
      inside(leader, 'certainty', 'confirmation'),
      'isAnswered',
      () => () => true,
    )
  }),
  ofLeader('a leader that stood still goes on as if nothing had happened', (leader) => {
    replace(leader, 'passed', () => () => {})
  }),
  {
    name: 'a snapshot that is being written takes in what a role left uncommitted',
    servers: 3,
    joined: (peer) => replace(inside(peer, 'journal', 'snapshots'), 'abandon', () => () => {}),
  },
  {
    name: 'a snapshot from a leader is purged for its lower name',
    servers: 3,
    faults: ['strandedLeader', 'crashInTakeover'],
    joined: (peer) => {
      const journal = inside(peer, 'journal')
      replace(journal, 'storeAlone', (original: () => Promise<unknown>) => () => {
        const { undisturbed } = journal
        journal.undisturbed = (work: () => Promise<unknown>) => work()
        try {
          return original()
        } finally {
          journal.undisturbed = undisturbed
        }
      })
    },
  },
  ofLearner(
    'a snapshot that is being written takes in a history without a quorum',
    (_learner, _peer, { parts }) => {
      replace(parts, 'abandonSnapshot', () => () => {})
    },
  ),
  ofLearner('a learner that asks for everything counts as one that has nothing', (learner) => {
    replace<[boolean], Uint8Array>(learner, 'promiseOf', (original) => (isNew) => {
      const promise = original(isNew)
      return promise.length > 4 ? promise.slice(4, 8) : promise
    })
  }),
]
