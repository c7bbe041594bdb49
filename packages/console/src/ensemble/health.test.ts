import { expect, test } from 'vitest'
import { healthOf } from './health.ts'

const member = (id: string, rest: object = {}) => ({
  id,
  state: 'serving' as const,
  lag: 0,
  syncMs: 1,
  ...rest,
})
const three = [member('1'), member('2'), member('3')]

test('a healthy ensemble says how many servers it could lose', () => {
  expect(healthOf({ leader: '1', failuresLeft: 1, members: three })).toEqual({
    problems: [],
    outlook: 'All servers serve and are caught up. If one of them fails, the others continue.',
  })
  expect(healthOf({ leader: '1', failuresLeft: 3, members: three }).outlook).toContain(
    'If three of them fail, the others continue.',
  )
})

test('what is wrong with a server is said, and what the next failure means', () => {
  const members = [
    member('1', { syncMs: 120 }),
    member('2', { lag: 5000 }),
    member('3', { state: 'unreachable', lag: null, syncMs: null }),
  ]
  expect(healthOf({ leader: '1', failuresLeft: 0, members })).toEqual({
    problems: [
      'Server 3 does not answer.',
      'Server 2 is 5,000 transactions behind the leader.',
      'Server 1 needs 120 ms to sync its log.',
    ],
    outlook: 'If another voter fails, nobody can write.',
  })
})

test('without a quorum nobody can write', () => {
  const members = [member('1', { state: 'notServing' }), ...three.slice(1)]
  const { problems, outlook } = healthOf({ leader: null, failuresLeft: null, members })
  expect(problems).toEqual(['Server 1 does not serve clients.'])
  expect(outlook).toBe('Nobody can write: there is no quorum with a leader.')
})

test('a server that cannot be asked is not called broken', () => {
  const members = [...three.slice(1), member('4', { state: 'unknown', lag: null, syncMs: null })]
  expect(healthOf({ leader: '2', failuresLeft: null, members })).toEqual({
    problems: [],
    outlook: 'The configuration has no client port of server 4 to ask.',
  })
})
