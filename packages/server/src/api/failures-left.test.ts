import { expect, test } from 'vitest'
import { failuresLeft } from './failures-left.ts'

const ids = (count: number): bigint[] => Array.from({ length: count }, (_, at) => BigInt(at + 1))
const majorityOf =
  (total: number) =>
  (given: ReadonlySet<bigint>): boolean =>
    given.size > total / 2

test.each([
  [3, 3, 1],
  [2, 3, 0],
  [1, 3, null],
  [5, 5, 2],
  [4, 5, 1],
  [3, 5, 0],
  [4, 4, 1],
  [1, 1, 0],
  [11, 11, 3],
])('with %d of %d voters serving, %s more may fail', (serving, total, left) => {
  expect(failuresLeft(ids(serving), majorityOf(total))).toBe(left)
})

test('a server whose vote weighs more counts as the one that fails', () => {
  const isQuorum = (given: ReadonlySet<bigint>): boolean =>
    [...given].reduce((sum, id) => sum + (id === 1n ? 3 : 1), 0) > 3
  expect(failuresLeft(ids(4), isQuorum)).toBe(0)
})
