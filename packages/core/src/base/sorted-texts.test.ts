import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SortedTexts } from './sorted-texts.ts'

const text = fc.string({
  unit: fc.constantFrom('/', 'a', 'b', '\u00e9', '\ud83d\ude00'),
  maxLength: 4,
})

test('after any history it contains what a set would, and finds it by any prefix', () => {
  const step = fc.tuple(fc.boolean(), text)
  fc.assert(
    fc.property(fc.array(text), fc.array(step), text, (start, steps, prefix) => {
      const sorted = new SortedTexts(start)
      const set = new Set(start)
      for (const [isAdd, each] of steps) {
        if (isAdd) sorted.add(each)
        else sorted.delete(each)
        if (isAdd) set.add(each)
        else set.delete(each)
      }
      expect(sorted.size).toBe(set.size)
      const expected = [...set].filter((each) => each.startsWith(prefix))
      expect(new Set(sorted.startingWith(prefix))).toEqual(new Set(expected))
      expect([...sorted.startingWith(prefix)]).toHaveLength(expected.length)
    }),
  )
})

test('many strings are stored in several chunks', () => {
  const sorted = new SortedTexts()
  const name = (i: number): string => `/${(i * 7919) % 5000}`
  for (let i = 0; i < 5000; i++) sorted.add(name(i))
  expect(sorted.size).toBe(5000)
  expect([...sorted.startingWith('/499')]).toHaveLength(11)
  for (let i = 0; i < 5000; i += 2) sorted.delete(name(i))
  expect([...sorted.startingWith('')]).toHaveLength(2500)
})
