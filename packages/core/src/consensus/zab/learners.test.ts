import { packetOf, type QuorumPacket } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { LearnerProgress } from './learner-progress.ts'
import { Learners, type ForLearners } from './learners.ts'

const link = { remoteAddress: '', unsentBytes: 0, packetsSent: 0, packetsReceived: 0 }
const [first, second, third] = [1n, 2n, 3n].map((zxid) => packetOf('commit', zxid))

function learnersWith(queueBytesMax?: number): {
  learners: Learners
  learner: LearnerProgress
  ready: ForLearners
  sent: () => QuorumPacket[]
} {
  const ready: ForLearners = {
    send: undefined,
    history: undefined,
    listen: undefined,
    close: undefined,
  }
  const learners = new Learners({ ready }, () => {}, queueBytesMax)
  const sent = (): QuorumPacket[] => (ready.send ?? []).map(({ packet }) => packet)
  return { learners, learner: new LearnerProgress(link, 0), ready, sent }
}

test('what has to wait leaves in order, and what comes later leaves at once', () => {
  const { learners, learner, sent } = learnersWith()
  learners.hold(learner)
  learners.tell(learner, first!, 10)
  learners.tell(learner, second!, 20)
  expect(sent()).toEqual([])
  expect(learner.queuedBytes).toBe(30)
  learners.release(learner)
  expect(sent()).toEqual([first, second])
  expect(learner.queuedBytes).toBe(0)
  learners.tell(learner, third!, 40)
  expect(sent()).toEqual([first, second, third])
  expect(learner.queuedBytes).toBe(0)
})

test('what is sent ahead of the queue does not wait', () => {
  const { learners, learner, sent } = learnersWith()
  learners.hold(learner)
  learners.tell(learner, first!, 10)
  learners.send(learner, second!)
  learners.hold(learner)
  expect(sent()).toEqual([second])
  learners.release(learner)
  expect(sent()).toEqual([second, first])
})

test('a learner for which too much waits is dropped', () => {
  const { learners, learner, ready } = learnersWith(25)
  learners.hold(learner)
  learners.tell(learner, first!, 20)
  expect(ready.close).toBeUndefined()
  learners.tell(learner, second!, 6)
  expect(ready.close).toEqual([learner])
})
