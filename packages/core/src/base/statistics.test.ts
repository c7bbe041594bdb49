import { describe, expect, test } from 'vitest'
import { Histogram, Summary } from './statistics.ts'

test('a summary has the minimum, the maximum and the mean', () => {
  const summary = new Summary()
  for (const value of [3, 1, 8]) summary.add(value)
  expect(summary).toMatchObject({ count: 3, sum: 12, min: 1, max: 8, mean: 4 })
})

describe('a histogram', () => {
  test('knows small percentiles exactly', () => {
    const histogram = new Histogram()
    for (let value = 1; value <= 50; value++) histogram.add(value)
    expect(histogram.percentile(0.5)).toBe(25)
    expect(histogram.percentile(0.98)).toBe(49)
    expect(histogram.percentile(1)).toBe(50)
  })

  test.each([64, 100, 1000, 12_345, 1_000_000, 2 ** 31 - 1])('knows %d to within 6 %%', (value) => {
    const histogram = new Histogram()
    histogram.add(value)
    const told = histogram.percentile(0.99)!
    expect(told).toBeLessThanOrEqual(value)
    expect(told).toBeGreaterThan(value * 0.94)
  })

  test('counts values out of range as the nearest value in range', () => {
    const histogram = new Histogram()
    histogram.add(-5)
    histogram.add(2 ** 40)
    expect(histogram.percentile(0.5)).toBe(0)
    expect(histogram.percentile(1)).toBeGreaterThan(2 ** 30)
  })

  test('after two rotations forgets values, but not their count', () => {
    const histogram = new Histogram()
    histogram.add(7)
    histogram.rotate()
    expect(histogram.percentile(0.5)).toBe(7)
    histogram.rotate()
    expect(histogram.percentile(0.5)).toBeUndefined()
    expect(histogram.count).toBe(1)
  })
})
