import { expect, test } from 'vitest'
import { byteTicks, timeTicks, valueTicks } from './scale.ts'

test.each([
  [0, [0, 1]],
  [1, [0, 0.5, 1]],
  [7, [0, 2, 4, 6, 8]],
  [40, [0, 10, 20, 30, 40]],
  [0.3, [0, 0.1, 0.2, 0.3]],
  [12_345, [0, 5000, 10_000, 15_000]],
])('values up to %d have a grid of round numbers', (highest, ticks) => {
  const found = valueTicks(highest)
  expect(found).toEqual(ticks)
  expect(found.at(-1)).toBeGreaterThanOrEqual(highest)
})

test('times of a grid are round and inside', () => {
  const from = Date.parse('2026-01-01T10:03:20Z')
  const ticks = timeTicks(from, from + 3_600_000, 6)
  expect(ticks.map(({ text }) => text)).toEqual([
    '10:10',
    '10:20',
    '10:30',
    '10:40',
    '10:50',
    '11:00',
  ])
  const texts = (spanMs: number, countMax: number): readonly string[] =>
    timeTicks(from, from + spanMs, countMax).map(({ text }) => text)
  expect(texts(60_000, 4)).toEqual(['10:03:30', '10:03:45', '10:04:00', '10:04:15'])
  // Two ticks of one minute must not have the same text.
  expect(texts(300_000, 10).slice(0, 2)).toEqual(['10:03:30', '10:04:00'])
  expect(texts(4 * 86_400_000, 2)).toEqual(['01-03 00:00', '01-05 00:00'])
})

test('bytes have a grid of round KiB or MiB', () => {
  expect(byteTicks(3.5 * 1024)).toEqual([0, 1024, 2048, 3072, 4096])
  expect(byteTicks(300)).toEqual([0, 100, 200, 300])
})
