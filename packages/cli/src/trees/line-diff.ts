/** A line of a difference between two texts. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Larger texts are shown as replaced: a table of all pairs of lines would be too large. */
const cellsMax = 4_000_000
const contextLines = 2

/** The lines that went and came, with some lines around them. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [left, right] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < left.length && start < right.length && left[start] === right[start]) start++
  let end = 0
  while (
    end < left.length - start &&
    end < right.length - start &&
    left.at(-1 - end) === right.at(-1 - end)
  )
    end++
  const one = left.slice(start, left.length - end)
  const other = right.slice(start, right.length - end)
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }))
  return shortened([
    ...same(left.slice(0, start)),
    ...(one.length * other.length > cellsMax ? replaced(one, other) : aligned(one, other)),
    ...same(end === 0 ? [] : left.slice(-end)),
  ])
}

function replaced(one: readonly string[], other: readonly string[]): DiffLine[] {
  return [
    ...one.map((text) => ({ sign: '-', text }) as const),
    ...other.map((text) => ({ sign: '+', text }) as const),
  ]
}

/** By the longest common subsequence. */
function aligned(one: readonly string[], other: readonly string[]): DiffLine[] {
  const width = other.length + 1
  const lengths = new Uint32Array((one.length + 1) * width)
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        one[i] === other[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      lines.push({ sign: ' ', text: one[i]! })
      i++
      j++
    } else if (
      j >= other.length ||
      (i < one.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
    )
      lines.push({ sign: '-', text: one[i++]! })
    else lines.push({ sign: '+', text: other[j++]! })
  }
  return lines
}

/** Without what is far from any change. */
function shortened(lines: readonly DiffLine[]): DiffLine[] {
  return lines.filter((_, index) =>
    lines
      .slice(Math.max(0, index - contextLines), index + contextLines + 1)
      .some(({ sign }) => sign !== ' '),
  )
}
