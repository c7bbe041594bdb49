/** Differences between two lists of lines, or of words: the fewest that there can be. */

/** Items `aStart` to `aEnd` of the first list became items `bStart` to `bEnd` of the second. */
export interface Edit {
  readonly aStart: number
  readonly aEnd: number
  readonly bStart: number
  readonly bEnd: number
}

/** The memory that a comparison takes grows with the square of this. */
const editsMax = 1500

/** Undefined if the lists are too different to compare. */
export function editsOf(a: readonly string[], b: readonly string[]): Edit[] | undefined {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let [aEnd, bEnd] = [a.length, b.length]
  while (aEnd > start && bEnd > start && a[aEnd - 1] === b[bEnd - 1]) {
    aEnd--
    bEnd--
  }
  const trace = traceOf(a.slice(start, aEnd), b.slice(start, bEnd))
  return trace && editsIn(trace, { x: aEnd - start, y: bEnd - start }, start)
}

/**
 * The furthest place in `a` on each diagonal, for 0, 1, 2 ... insertions and deletions, until the
 * ends of both lists are reached (the greedy algorithm of Myers).
 */
function traceOf(a: readonly string[], b: readonly string[]): Int32Array[] | undefined {
  const trace: Int32Array[] = []
  let before = new Int32Array(3)
  for (let edits = 0; edits <= Math.min(editsMax, a.length + b.length); edits++) {
    // Diagonal k is at index k + edits + 1, so neighbors always exist.
    const reached = new Int32Array(2 * edits + 3)
    for (let k = -edits; k <= edits; k += 2) {
      let x =
        edits === 0
          ? 0
          : takesFromB(before, k, edits)
            ? furthest(before, k + 1, edits - 1)
            : furthest(before, k - 1, edits - 1) + 1
      let y = x - k
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++
        y++
      }
      reached[k + edits + 1] = x
      if (x >= a.length && y >= b.length) return [...trace, reached]
    }
    trace.push(reached)
    before = reached
  }
  return undefined
}

const furthest = (reached: Int32Array, k: number, edits: number): number => reached[k + edits + 1]!

/** Whether the way to diagonal `k` inserts an item of `b`, rather than deletes one of `a`. */
function takesFromB(before: Int32Array, k: number, edits: number): boolean {
  if (k === -edits) return true
  return k !== edits && furthest(before, k - 1, edits - 1) < furthest(before, k + 1, edits - 1)
}

/** Walks back from the ends, and joins steps that touch. */
function editsIn(
  trace: readonly Int32Array[],
  end: { x: number; y: number },
  offset: number,
): Edit[] {
  const found: { aStart: number; aEnd: number; bStart: number; bEnd: number }[] = []
  let { x, y } = end
  for (let edits = trace.length - 1; edits > 0; edits--) {
    const before = trace[edits - 1]!
    const isFromB = takesFromB(before, x - y, edits)
    const k = isFromB ? x - y + 1 : x - y - 1
    const fromX = furthest(before, k, edits - 1)
    const fromY = fromX - k
    // After the insertion or deletion, the way followed equal items.
    const [toX, toY] = isFromB ? [fromX, fromY + 1] : [fromX + 1, fromY]
    const next = found.at(-1)
    if (next !== undefined && next.aStart === toX + offset && next.bStart === toY + offset) {
      next.aStart = fromX + offset
      next.bStart = fromY + offset
    } else {
      found.push({
        aStart: fromX + offset,
        aEnd: toX + offset,
        bStart: fromY + offset,
        bEnd: toY + offset,
      })
    }
    x = fromX
    y = fromY
  }
  return found.toReversed()
}

/** A line of two texts side by side; one that came or went has one side only. */
export interface LinePair {
  readonly kind: 'same' | 'changed' | 'gone' | 'new'
  readonly left?: Line
  readonly right?: Line
}
export interface Line {
  readonly number: number
  readonly text: string
}

/** Two texts side by side, either of which may be missing; undefined if they are too different. */
export function linePairs(
  before: string | undefined,
  after: string | undefined,
): LinePair[] | undefined {
  const [a, b] = [before?.split('\n') ?? [], after?.split('\n') ?? []]
  const isOneMissing = a.length === 0 || b.length === 0
  const edits = isOneMissing ? replaceAll(a, b) : editsOf(a, b)
  if (edits === undefined) return undefined
  const pairs: LinePair[] = []
  const left = (i: number): Line => ({ number: i + 1, text: a[i]! })
  const right = (i: number): Line => ({ number: i + 1, text: b[i]! })
  let [i, j] = [0, 0]
  const same = (until: number): void => {
    while (i < until) pairs.push({ kind: 'same', left: left(i++), right: right(j++) })
  }
  for (const { aStart, aEnd, bEnd } of edits) {
    same(aStart)
    while (i < aEnd && j < bEnd) pairs.push({ kind: 'changed', left: left(i++), right: right(j++) })
    while (i < aEnd) pairs.push({ kind: 'gone', left: left(i++) })
    while (j < bEnd) pairs.push({ kind: 'new', right: right(j++) })
  }
  same(a.length)
  return pairs
}

function replaceAll(a: readonly string[], b: readonly string[]): Edit[] {
  return [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }]
}

/** A run of lines; one in which nothing changed can be folded. */
export interface Run {
  readonly isFolded: boolean
  readonly pairs: readonly LinePair[]
}

/** Keeps a few lines around each change, and folds the rest. */
export function foldedRuns(pairs: readonly LinePair[], context = 3): Run[] {
  const isShown = pairs.map(() => false)
  for (const [at, { kind }] of pairs.entries()) {
    if (kind === 'same') continue
    for (let i = Math.max(0, at - context); i <= at + context && i < pairs.length; i++) {
      isShown[i] = true
    }
  }
  const runs: { isFolded: boolean; pairs: LinePair[] }[] = []
  for (const [at, pair] of pairs.entries()) {
    const isFolded = isShown[at] === false
    const run = runs.at(-1)
    if (run?.isFolded === isFolded) run.pairs.push(pair)
    else runs.push({ isFolded, pairs: [pair] })
  }
  // To fold a line or two saves no space.
  return runs.map((run) => (run.pairs.length > 2 ? run : { ...run, isFolded: false }))
}

export interface Segment {
  readonly text: string
  readonly isChanged: boolean
}

/** Longer lines are marked as a whole. */
const wordsMax = 400

/** Which words of a changed line are different: on the left, and on the right. */
export function changedWords(left: string, right: string): readonly [Segment[], Segment[]] {
  const [a, b] = [wordsIn(left), wordsIn(right)]
  const isLong = a.length > wordsMax || b.length > wordsMax
  const edits = isLong ? undefined : editsOf(a, b)
  if (edits === undefined) {
    return [[{ text: left, isChanged: true }], [{ text: right, isChanged: true }]]
  }
  return [
    segments(
      a,
      edits.map(({ aStart, aEnd }) => [aStart, aEnd]),
    ),
    segments(
      b,
      edits.map(({ bStart, bEnd }) => [bStart, bEnd]),
    ),
  ]
}

function wordsIn(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? []
}

function segments(words: readonly string[], changed: readonly (readonly number[])[]): Segment[] {
  const made: Segment[] = []
  const add = (from: number, to: number, isChanged: boolean): void => {
    if (from < to) made.push({ text: words.slice(from, to).join(''), isChanged })
  }
  let last = 0
  for (const [start = 0, end = 0] of changed) {
    add(last, start, false)
    add(start, end, true)
    last = end
  }
  add(last, words.length, false)
  return made
}
