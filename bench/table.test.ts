import { expect, test } from 'vitest'
import { renderTable, Series } from './table.ts'
import { atLeast, atMost } from './targets.ts'

const labels = ['apache', 'zabra']

test('a row shows medians, spread and the ratio of the medians', () => {
  const row = new Series('read-100B', 'op/s')
  for (const value of [100_000, 90_000, 110_000]) row.add('apache', value)
  for (const value of [600_000, 500_000, 400_000]) row.add('zabra', value)
  const text = renderTable('Load', [row], { labels, showTargets: false })
  expect(text).toContain(
    '| read-100B | op/s | 100,000 (90,000..110,000) | 500,000 (400,000..600,000) | 5.00 |',
  )
})

test('a target is shown next to its ratio, with whether it is met', () => {
  const reads = new Series('read-100B', 'op/s', atLeast(5))
  const rss = new Series('RSS', 'MB', atMost(0.35))
  for (const row of [reads, rss]) {
    row.add('apache', 100)
    row.add('zabra', 500)
  }
  const text = renderTable('Load', [reads, rss], { labels, showTargets: true })
  expect(text).toContain('| 5.00 | >= 5 | yes |')
  expect(text).toContain('| 5.00 | <= 0.35 | **no** |')
})

test('a void round is counted in its cell, not hidden by the median of the others', () => {
  const row = new Series('write-1KB', 'op/s')
  row.add('apache', 10)
  row.add('apache', undefined)
  expect(renderTable('Load', [row], { labels, showTargets: false })).toContain('10.0 [1 void]')
})

test('a value of one side only has no ratio and misses its target', () => {
  const row = new Series('restart', 'ms', atMost(0.5))
  row.add('apache', 1000)
  const text = renderTable('Fill', [row], { labels, showTargets: true })
  expect(text).toContain('| restart | ms | 1,000 | - | - | <= 0.5 | **no** |')
})
