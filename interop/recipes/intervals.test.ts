import { expect, test } from 'vitest'
import { met, mostAtOnce, type Interval } from './intervals.ts'

const interval = (who: string, enteredNs: number, leftNs: number): Interval => ({
  who,
  enteredNs: BigInt(enteredNs),
  leftNs: BigInt(leftNs),
})

test('intervals that follow one another do not overlap', () => {
  expect(mostAtOnce([interval('b', 5, 9), interval('a', 1, 5)])).toHaveLength(1)
})

test('overlapping intervals are counted and named', () => {
  const three = [interval('a', 1, 6), interval('b', 2, 4), interval('c', 5, 8)]
  expect(mostAtOnce(three)).toEqual(['a', 'b'])
})

test('a writer that entered while a reader was in is found', () => {
  const readers = [interval('r1', 1, 3), interval('r2', 2, 7)]
  expect(met(readers, [interval('w', 7, 9)])).toBeUndefined()
  expect(met(readers, [interval('w', 6, 9)])).toEqual(['r2', 'w'])
})
