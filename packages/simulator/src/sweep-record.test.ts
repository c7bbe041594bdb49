import { expect, test } from 'vitest'
import { withRow } from './sweep-record.ts'

const page = [
  '# Sweeps',
  '',
  '| commit | runs | seeds | count | failed | a second |',
  '|---|---|---|---|---|---|',
  '',
].join('\n')
const row = {
  commit: 'abc0123456',
  runs: '--servers 3',
  seeds: '1..1000',
  count: 1000,
  failed: 1,
  perSecond: 10,
}

test('a sweep is a row, and the total follows', () => {
  const once = withRow(page, row)
  expect(once).toContain('| `abc0123456` | --servers 3 | 1..1000 | 1,000 | 1 | 10.0 |')
  expect(once.trimEnd().split('\n').at(-1)).toBe('In all: 1,000 seeds, 1 failed.')
  const other = withRow(once, { ...row, runs: '--recipes', failed: 0 })
  expect(other).toContain('| `abc0123456` | --recipes | 1..1000 | 1,000 | 0 | 10.0 |')
  expect(other.match(/In all/g)).toHaveLength(1)
  expect(other).toContain('In all: 2,000 seeds, 1 failed.')
})

test('sweeps of one kind and commit share a row', () => {
  const next = { ...row, seeds: '1001..1500', count: 500, failed: 0, perSecond: 20 }
  const later = { ...row, seeds: '3000..3001', count: 2, failed: 0, perSecond: 20 }
  const joined = withRow(withRow(withRow(page, row), next), later)
  expect(joined).toContain(
    '| `abc0123456` | --servers 3 | 1..1500, 3000..3001 | 1,502 | 1 | 12.0 |',
  )
  expect(joined.match(/abc0123456/g)).toHaveLength(1)
})
