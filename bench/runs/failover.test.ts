import { expect, test } from 'vitest'
import { untilWriteMs } from './failover.ts'

test('a failover lasts from the signal to the end of the longest gap around it', () => {
  const gaps = [
    [1000, 900],
    [4990, 40],
    [5050, 300],
    [5900, 700],
  ] as const
  expect(untilWriteMs({ errors: 0, gaps }, 5000, 100)).toBe(350)
  expect(untilWriteMs({ errors: 0, gaps }, 5000, 1000)).toBe(1600)
})

test('a load that failed, or showed no gap, says nothing', () => {
  expect(untilWriteMs({ errors: 1, failed: 'no result', gaps: [[5000, 9]] }, 5000, 100)).toBeNaN()
  expect(untilWriteMs({ errors: 0, gaps: [] }, 5000, 100)).toBeNaN()
})
