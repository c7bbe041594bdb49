import { expect, test } from 'vitest'
import { untilWriteMs } from './failover.ts'

test('a failover lasts from the signal to the end of the longest gap around it', () => {
  const gaps = [
    [1000, 900],
    [4990, 40],
    [5050, 300],
    [9000, 700],
  ] as const
  expect(untilWriteMs({ errors: 0, gaps }, 5000)).toBe(350)
})

test('a load that failed, or showed no gap, says nothing', () => {
  expect(untilWriteMs({ errors: 1, failed: 'no result', gaps: [[5000, 9]] }, 5000)).toBeNaN()
  expect(untilWriteMs({ errors: 0, gaps: [] }, 5000)).toBeNaN()
})
