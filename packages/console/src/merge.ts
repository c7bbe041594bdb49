/** Longer texts are not compared: that takes time by the product of their lengths. */
const linesMax = 2000

/**
 * Two changes of one text together, by lines; undefined where both change the same place, or where
 * the texts are too long.
 */
export function merge(base: string, mine: string, theirs: string): string | undefined {
  const [old, a, b] = [base, mine, theirs].map((text) => text.split('\n')) as [
    string[],
    string[],
    string[],
  ]
  if (Math.max(old.length, a.length, b.length) > linesMax) return undefined
  const changes = [...changesOf(old, a), ...changesOf(old, b)].toSorted(
    (one, other) => one.start - other.start || one.end - other.end,
  )
  const merged: string[] = []
  let at = 0
  let last: Replacement | undefined
  for (const each of changes) {
    if (last !== undefined && isSame(last, each)) continue
    // Places that touch count as one: nobody can say which comes first.
    if (last !== undefined && each.start <= last.end) return undefined
    merged.push(...old.slice(at, each.start), ...each.lines)
    at = each.end
    last = each
  }
  return [...merged, ...old.slice(at)].join('\n')
}

/** Lines `start` to `end` of the old text, and what stands in their place. */
interface Replacement {
  readonly start: number
  readonly end: number
  readonly lines: readonly string[]
}

function isSame(a: Replacement, b: Replacement): boolean {
  return a.start === b.start && a.end === b.end && a.lines.join('\n') === b.lines.join('\n')
}

function changesOf(old: readonly string[], text: readonly string[]): Replacement[] {
  const width = text.length + 1
  // How many lines the rests from (i, j) have in common.
  const common = new Uint16Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = text.length - 1; j >= 0; j--) {
      common[i * width + j] =
        old[i] === text[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
    }
  }
  const found: Replacement[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < text.length) {
    if (i < old.length && j < text.length && old[i] === text[j]) {
      i++
      j++
      continue
    }
    const [startOld, startText] = [i, j]
    while (i < old.length || j < text.length) {
      if (i < old.length && j < text.length && old[i] === text[j]) break
      const takesOld =
        j >= text.length ||
        (i < old.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
      if (takesOld) i++
      else j++
    }
    found.push({ start: startOld, end: i, lines: text.slice(startText, j) })
  }
  return found
}
