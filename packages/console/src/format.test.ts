import { expect, test } from 'vitest'
import { hexOf, jsonOf, permsText, textOf } from './format.ts'

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
