import { expect, test } from 'vitest'
import { EndedSessions } from './ended-sessions.ts'

test('an ended session is known for the whole time, and not forever', () => {
  const ended = new EndedSessions(1000)
  ended.add(1n, 100)
  ended.add(2n, 1050)
  ended.add(3n, 1101)
  expect([1n, 2n, 3n].map((id) => ended.has(id))).toEqual([true, true, true])
  ended.add(4n, 2050)
  expect(ended.has(2n)).toBe(true)
  ended.add(5n, 2200)
  expect([1n, 2n, 3n, 4n, 5n].map((id) => ended.has(id))).toEqual([false, true, true, true, true])
})
