import { expect, test } from 'vitest'
import { isSound, parseResult } from './zkload.ts'

test('a result without errors is sound', () => {
  expect(isSound({ errors: 0, ops_per_s: 1000 })).toBe(true)
})

test('one wrong reply makes a result void', () => {
  expect(isSound({ errors: 1, ops_per_s: 1000 })).toBe(false)
})

test('sessions that did not all open make a result void', () => {
  expect(isSound({ errors: 0, conns: 5000, opened: 5000, sessions_per_s: 900 })).toBe(true)
  expect(isSound({ errors: 0, conns: 5000, opened: 4999, sessions_per_s: 900 })).toBe(false)
})

test('a generator that died before printing gives no result', () => {
  expect(parseResult('')).toBeUndefined()
  expect(parseResult('{"errors":0,"ops"')).toBeUndefined()
  expect(parseResult('{"errors":0,"ops":7}')).toEqual({ errors: 0, ops: 7 })
})
