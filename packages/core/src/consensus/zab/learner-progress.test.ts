import { expect, test } from 'vitest'
import { LearnerProgress, type LearnerLink, type LearnerState } from './learner-progress.ts'

const link: LearnerLink = {
  remoteAddress: '',
  unsentBytes: 0,
  packetsSent: 0,
  packetsReceived: 0,
}

const states = [
  'connected',
  'introduced',
  'asked',
  'promised',
  'synchronizing',
  'sent',
  'acknowledged',
  'upToDate',
  'following',
] as const satisfies readonly LearnerState[]

/** A learner in this state. */
function learnerIn(state: LearnerState): LearnerProgress {
  const learner = new LearnerProgress(link, 0)
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

test('a learner is listened to when it is its turn to speak', () => {
  const deaf = states.filter((state) => !learnerIn(state).isListenedTo)
  expect(deaf).toEqual(['introduced', 'promised', 'synchronizing'])
})
