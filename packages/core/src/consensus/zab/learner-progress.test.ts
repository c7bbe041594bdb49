import { expect, test } from 'vitest'
import { Puppet } from '../../../test/support/puppet.ts'
import { LearnerProgress, type LearnerState } from './learner-progress.ts'

const states = [
  'promised',
  'synchronising',
  'sent',
  'acknowledged',
  'upToDate',
  'following',
] as const satisfies readonly LearnerState[]

/** A learner in one of its states. */
function learnerIn(state: LearnerState): LearnerProgress {
  const joining = { isObserver: false, joinedWallMs: 0, deadlineTick: 0 }
  const learner = new LearnerProgress(new Puppet().link, 2n, joining)
  for (const next of states.slice(1)) {
    if (learner.state === state) break
    learner.become(next)
  }
  return learner
}

test.each(states)(
  'a learner goes from %s to the next state, or away, and nowhere else',
  (state) => {
    const legal = [states[states.indexOf(state) + 1], 'gone'].filter((next) => next !== undefined)
    for (const next of [...states, 'gone'] as const) {
      const change = (): void => learnerIn(state).become(next)
      if (legal.includes(next)) expect(change).not.toThrow()
      else expect(change).toThrow(`a learner changes from ${state} to ${next}`)
    }
  },
)

test('a learner that is gone has reached no state, and does not come back', () => {
  const learner = learnerIn('following')
  expect(learner.hasReached('upToDate')).toBe(true)
  learner.become('gone')
  for (const state of states) {
    expect(learner.hasReached(state)).toBe(false)
    expect(() => learner.become(state)).toThrow(`from gone to ${state}`)
  }
})

test('what is held back is sent in order behind UPTODATE', async () => {
  const puppet = new Puppet()
  const joining = { isObserver: false, joinedWallMs: 0, deadlineTick: 0 }
  const learner = new LearnerProgress(puppet.link, 2n, joining)
  learner.become('synchronising')
  learner.hold()
  for (const zxid of [1n, 2n]) learner.tell(1, () => puppet.link.send('commit', zxid))
  learner.become('sent')
  learner.become('acknowledged')
  expect(await puppet.heard()).toEqual([])
  learner.sendUpToDate()
  expect(await puppet.heard()).toEqual(['upToDate -1', 'commit 0.1', 'commit 0.2'])
})
