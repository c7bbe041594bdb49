import { expect, test } from 'vitest'
import { contendersAmong } from '../turns/contenders.ts'
import { compareSequence, sequenceOf } from './sequence.ts'

test('the number follows the mark, and may be negative', () => {
  expect(sequenceOf('_c_x-lock-0000000012', 'lock-')).toBe(12)
  expect(sequenceOf('_c_x-lock-2147483647', 'lock-')).toBe(2147483647)
  expect(sequenceOf('_c_x-lock--2147483648', 'lock-')).toBe(-2147483648)
  expect(sequenceOf('_c_x-lock--000000005', 'lock-')).toBe(-5)
  expect(sequenceOf('_c_x-lock-0000000000', '__lock__')).toBeUndefined()
  expect(sequenceOf('lock-of-something', 'lock-')).toBeUndefined()
})

test('the smallest number comes right after the largest', () => {
  expect(compareSequence(1, 2)).toBeLessThan(0)
  expect(compareSequence(2, 1)).toBeGreaterThan(0)
  expect(compareSequence(2147483647, -2147483648)).toBeLessThan(0)
  expect(compareSequence(-2147483648, 2147483647)).toBeGreaterThan(0)
  expect(compareSequence(-1, 0)).toBeLessThan(0)
})

test('names that are no contenders are left out', () => {
  const names = ['b-lock-0000000002', 'config', 'a__lock__0000000001', 'lock-x']
  const found = contendersAmong(names, ['lock-', '__lock__'])
  expect(found.map(({ sequence }) => sequence)).toEqual([2, 1])
})
