import { expect, test } from 'vitest'
import { changedWords, editsOf, foldedRuns, linePairs, type Edit } from './diff.ts'

/** Carries the edits out on the first list. */
function edited(a: readonly string[], b: readonly string[], edits: readonly Edit[]): string[] {
  const made: string[] = []
  let last = 0
  for (const { aStart, aEnd, bStart, bEnd } of edits) {
    made.push(...a.slice(last, aStart), ...b.slice(bStart, bEnd))
    last = aEnd
  }
  return [...made, ...a.slice(last)]
}

test('edits lead from one list to the other, and are as few as possible', () => {
  // A small generator with a seed, so that a failure can be repeated.
  let seed = 42
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed % below
  }
  for (let round = 0; round < 300; round++) {
    const listOf = (): string[] => Array.from({ length: random(12) }, () => 'abc'[random(3)]!)
    const [a, b] = [listOf(), listOf()]
    const edits = editsOf(a, b)!
    expect(edited(a, b, edits)).toEqual(b)
    const size = edits.reduce(
      (sum, { aStart, aEnd, bStart, bEnd }) => sum + aEnd - aStart + bEnd - bStart,
      0,
    )
    expect(size).toBe(a.length + b.length - 2 * longestCommon(a, b))
  }
})

function longestCommon(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return 0
  const [restA, restB] = [a.slice(1), b.slice(1)]
  if (a[0] === b[0]) return 1 + longestCommon(restA, restB)
  let best = 0
  // Short lists only: this is the definition, not an algorithm.
  for (const [x, y] of [
    [restA, b],
    [a, restB],
  ] as const) {
    best = Math.max(best, memo(x, y))
  }
  return best
}
const known = new Map<string, number>()
function memo(a: readonly string[], b: readonly string[]): number {
  const key = `${a.join('')} ${b.join('')}`
  let value = known.get(key)
  if (value === undefined) known.set(key, (value = longestCommon(a, b)))
  return value
}

test('a long text with a few changes is compared, and two different ones are not', () => {
  const lines = Array.from({ length: 40_000 }, (_, i) => `line ${i}`)
  const other = lines.with(20_000, 'changed')
  expect(editsOf(lines, other)).toEqual([
    { aStart: 20_000, aEnd: 20_001, bStart: 20_000, bEnd: 20_001 },
  ])
  expect(
    editsOf(
      lines,
      lines.map((line) => `other ${line}`),
    ),
  ).toBeUndefined()
})

test('lines stand side by side, with their numbers', () => {
  expect(linePairs('a\nb\nc', 'a\nB\nb2\nc')).toEqual([
    { kind: 'same', left: { number: 1, text: 'a' }, right: { number: 1, text: 'a' } },
    { kind: 'changed', left: { number: 2, text: 'b' }, right: { number: 2, text: 'B' } },
    { kind: 'new', right: { number: 3, text: 'b2' } },
    { kind: 'same', left: { number: 3, text: 'c' }, right: { number: 4, text: 'c' } },
  ])
  expect(linePairs('a\nb', 'a')?.at(-1)).toEqual({ kind: 'gone', left: { number: 2, text: 'b' } })
})

test('lines far from a change are folded', () => {
  const before = Array.from({ length: 20 }, (_, i) => `${i}`)
  const runs = foldedRuns(linePairs(before.join('\n'), before.with(10, 'x').join('\n'))!)
  expect(runs.map(({ isFolded, pairs }) => [isFolded, pairs.length])).toEqual([
    [true, 7],
    [false, 7],
    [true, 6],
  ])
})

test('only the words that are different are marked', () => {
  expect(changedWords('"limit": 10,', '"limit": 25,')).toEqual([
    [
      { text: '"limit": ', isChanged: false },
      { text: '10', isChanged: true },
      { text: ',', isChanged: false },
    ],
    [
      { text: '"limit": ', isChanged: false },
      { text: '25', isChanged: true },
      { text: ',', isChanged: false },
    ],
  ])
})
