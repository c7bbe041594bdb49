import { expect, test } from 'vitest'
import { countsIn, zoomed } from './timeline.ts'

test('changes are counted where they belong, the last moment included', () => {
  const span = { fromMs: 100, toMs: 200 }
  expect(countsIn([99, 100, 124, 125, 200, 201], span, 4)).toEqual([2, 1, 0, 1])
  expect(countsIn([], { fromMs: 5, toMs: 5 }, 2)).toEqual([0, 0])
})

test('a zoom stays inside of what there is', () => {
  const span = { fromMs: 0, toMs: 1000 }
  expect(zoomed(span, 100, 500)).toEqual({ fromMs: 450, toMs: 550 })
  expect(zoomed(span, 100, 1000)).toEqual({ fromMs: 900, toMs: 1000 })
  expect(zoomed(span, 100, 10)).toEqual({ fromMs: 0, toMs: 100 })
  expect(zoomed(span, 5000, 10)).toEqual(span)
})
