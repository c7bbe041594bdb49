import { expect, test } from 'vitest'
import { epochStart, follows, isNextZxid } from './zxid.ts'

test('a zxid follows another within an epoch, or begins a later one', () => {
  expect(isNextZxid(1n, 2n)).toBe(true)
  expect(isNextZxid(1n, 3n)).toBe(false)
  expect(isNextZxid(5n, epochStart(1n) + 1n)).toBe(true)
  expect(isNextZxid(5n, epochStart(3n))).toBe(true)
  expect(isNextZxid(5n, epochStart(1n) + 2n)).toBe(false)
  expect(isNextZxid(epochStart(1n) + 1n, 5n)).toBe(false)
})

test('no transaction has the zxid of the start of an epoch', () => {
  expect(follows(5n, epochStart(3n) + 1n)).toBe(true)
  expect(follows(5n, epochStart(3n))).toBe(false)
})
