import { expect, test } from 'vitest'
import { zoomed } from './timeline.ts'

test('a zoom stays inside of what there is', () => {
  const span = { fromMs: 0, toMs: 1000 }
  expect(zoomed(span, 100, 500)).toEqual({ fromMs: 450, toMs: 550 })
  expect(zoomed(span, 100, 1000)).toEqual({ fromMs: 900, toMs: 1000 })
  expect(zoomed(span, 100, 10)).toEqual({ fromMs: 0, toMs: 100 })
  expect(zoomed(span, 5000, 10)).toEqual(span)
})
