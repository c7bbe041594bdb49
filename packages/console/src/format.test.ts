import { expect, test } from 'vitest'
import { hexOf, jsonOf, msText, permsText, textOf } from './format.ts'

test('JSON is laid out and keeps its numbers and texts as they are', () => {
  expect(jsonOf('{"a":12345678901234567890,"b":[],"c":"x, {y}"}')).toBe(
    '{\n  "a": 12345678901234567890,\n  "b": [],\n  "c": "x, {y}"\n}',
  )
  expect(jsonOf('{"a":')).toBeUndefined()
})

test('bytes that are no text are not shown as text', () => {
  expect(textOf(new Uint8Array([0xff, 0xfe]))).toBeUndefined()
  expect(textOf(new Uint8Array([97, 0, 98]))).toBeUndefined()
  expect(textOf(new TextEncoder().encode('häß\n'))).toBe('häß\n')
  expect(hexOf(new Uint8Array([65, 0]))).toMatch(/^00000000 {2}41 00 +A\.$/)
})

test('permissions are said in words', () => {
  expect(permsText('crwda')).toBe('do everything')
  expect(permsText('ra')).toBe('read, change the ACL')
  expect(permsText('')).toBe('nothing')
})

test('milliseconds have the digits that tell the marks of a chart apart', () => {
  expect([0, 0.005, 0.015, 0.25, 12.34, 1234.5].map(msText)).toEqual([
    '0 ms',
    '0.005 ms',
    '0.015 ms',
    '0.25 ms',
    '12.3 ms',
    '1,235 ms',
  ])
})
