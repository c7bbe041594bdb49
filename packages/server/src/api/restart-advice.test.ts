import { expect, test } from 'vitest'
import { restartAdvice, type RestartMember } from './restart-advice.ts'

const member = (id: number, rest: Partial<RestartMember> = {}): RestartMember => ({
  id: String(id),
  votes: true,
  isLeader: false,
  isServing: true,
  lag: 0,
  ...rest,
})
const three = [member(1, { isLeader: true }), member(2), member(3)]
const majorityOfThree = (ids: readonly string[]): boolean => ids.length >= 2
const verdicts = (...given: Parameters<typeof restartAdvice>): string[] =>
  restartAdvice(...given).map(({ id, verdict }) => `${id} ${verdict}`)

test('followers go one after the other, and the leader last', () => {
  expect(verdicts(three, majorityOfThree)).toEqual(['2 next', '3 later', '1 last'])
})

test('an observer goes before the voters', () => {
  const four = [...three, member(4, { votes: false })]
  expect(verdicts(four, majorityOfThree)[0]).toBe('4 next')
})

test('while one server is down no other may be restarted', () => {
  const down = [
    member(1, { isLeader: true }),
    member(2, { isServing: false, lag: null }),
    member(3),
  ]
  expect(verdicts(down, majorityOfThree)).toEqual(['2 down', '3 unsafe', '1 unsafe'])
})

test('one that is far behind is waited for, or may itself go again', () => {
  const behind = [member(1, { isLeader: true }), member(2, { lag: 5000 }), member(3)]
  expect(verdicts(behind, majorityOfThree)).toEqual(['2 next', '3 unsafe', '1 unsafe'])
})

test('of two voters neither may go', () => {
  const two = [member(1, { isLeader: true }), member(2)]
  expect(verdicts(two, (ids) => ids.length >= 2)).toEqual(['2 unsafe', '1 unsafe'])
})

test('a server on its own says so', () => {
  const [alone] = restartAdvice([member(0, { isLeader: true })], () => false)
  expect(alone).toMatchObject({ verdict: 'unsafe' })
  expect(alone!.reason).toContain('writes would stop')
})
