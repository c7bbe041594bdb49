import { expect, test } from 'vitest'
import { planOf, type Advice } from './restart-plan.ts'

const began = 1000
const plan = (advice: readonly Advice[], restarted: readonly string[]) =>
  planOf(
    advice,
    new Map(advice.map(({ id }) => [id, restarted.includes(id) ? began + 1 : began - 1])),
    began,
  ).map(({ id, state }) => `${id} ${state}`)

const reason = ''
const calm: readonly Advice[] = [
  { id: '1', verdict: 'next', reason },
  { id: '3', verdict: 'later', reason },
  { id: '2', verdict: 'last', reason },
]

test('one server after the other, the leader last and after a hand-over', () => {
  expect(plan(calm, [])).toEqual(['1 now', '3 waits', '2 waits'])
  expect(plan(calm, ['1'])).toEqual(['1 done', '3 now', '2 waits'])
  expect(plan(calm, ['1', '3'])).toEqual(['1 done', '3 done', '2 handOver'])
  const handedOver: readonly Advice[] = [
    { id: '2', verdict: 'next', reason },
    { id: '3', verdict: 'later', reason },
    { id: '1', verdict: 'last', reason },
  ]
  expect(plan(handedOver, ['1', '3'])).toEqual(['2 now', '3 done', '1 done'])
  expect(plan(handedOver, ['1', '2', '3'])).toEqual(['2 done', '3 done', '1 done'])
})

test('nobody is next while a server is away', () => {
  const away: readonly Advice[] = [
    { id: '1', verdict: 'down', reason },
    { id: '3', verdict: 'unsafe', reason },
    { id: '2', verdict: 'unsafe', reason },
  ]
  expect(plan(away, ['1'])).toEqual(['1 down', '3 unsafe', '2 unsafe'])
})

test('a server that does not say since when it runs is not taken for restarted', () => {
  expect(planOf(calm, new Map([['1', undefined]]), began)[0]).toMatchObject({ state: 'unknown' })
})
