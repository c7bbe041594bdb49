import { expect, test } from 'vitest'
import { merge } from './merge.ts'

test('changes of different lines come together', () => {
  expect(merge('a\nb\nc', 'A\nb\nc', 'a\nb\nC')).toBe('A\nb\nC')
  expect(merge('a\nb\nc\nd', 'a\nc\nd', 'a\nb\nc\nd\ne')).toBe('a\nc\nd\ne')
  expect(merge('a\nb\nc', 'x\na\nb\nc', 'a\nb\nc')).toBe('x\na\nb\nc')
})

test('the same change counts once', () => {
  expect(merge('a\nb', 'a\nB', 'a\nB')).toBe('a\nB')
})

test('changes of the same place, or side by side, are not merged', () => {
  expect(merge('a\nb\nc', 'a\nx\nc', 'a\ny\nc')).toBeUndefined()
  expect(merge('a\nb\nc', 'A\nb\nc', 'a\nB\nc')).toBeUndefined()
  expect(merge('a', 'a\nmine', 'a\ntheirs')).toBeUndefined()
})
