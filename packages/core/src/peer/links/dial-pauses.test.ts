import { expect, test } from 'vitest'
import { dialPauses } from './dial-pauses.ts'

test('the pauses grow up to the one that is configured', () => {
  expect(dialPauses()).toEqual([5, 10, 20, 40, 80, 100, 100, 100])
  expect(dialPauses(500)).toEqual([5, 10, 20, 40, 80, 500, 500, 500])
  expect(dialPauses(30)).toEqual([5, 10, 20, 30, 30, 30])
})
