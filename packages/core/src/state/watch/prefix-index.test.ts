import { parentOf } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PrefixIndex } from './prefix-index.ts'

const name = fc.constantFrom('a', 'b', 'ab', '\u00e9', '0')
const path = fc.array(name, { maxLength: 5 }).map((names) => `/${names.join('/')}`)

function above(start: string): string[] {
  const paths = [start]
  for (let at = start; at !== '/'; paths.push(at)) at = parentOf(at)
  return paths
}

test('finds the path itself and its ancestors', () => {
  const step = fc.tuple(fc.boolean(), path)
  fc.assert(
    fc.property(fc.array(step), path, fc.integer(), (steps, sought, seed) => {
      const index = new PrefixIndex(seed)
      const uses = new Map<string, number>()
      for (const [isAdd, each] of steps) {
        if (!isAdd && !uses.has(each)) continue
        const count = (uses.get(each) ?? 0) + (isAdd ? 1 : -1)
        if (isAdd) index.add(each)
        else index.remove(each)
        if (count === 0) uses.delete(each)
        else uses.set(each, count)
      }
      const expected = above(sought).filter((each) => uses.has(each))
      expect([...index.prefixesOf(sought)].toSorted()).toEqual(expected.toSorted())
    }),
  )
})

test('paths with the same hash are distinguished', () => {
  const index = new PrefixIndex()
  const paths = Array.from({ length: 200_000 }, (_, i) => `/${i.toString(36)}`)
  for (const each of paths) index.add(each)
  for (const each of paths) {
    if ([...index.prefixesOf(each)].join() !== each) expect.fail(`${each} is not found alone`)
  }
})
