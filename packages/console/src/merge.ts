import { editsOf } from './diff.ts'

/**
 * Two changes of one text together, by lines; undefined where both change the same place, or where
 * the texts are too different.
 */
export function merge(base: string, mine: string, theirs: string): string | undefined {
  const [old, a, b] = [base, mine, theirs].map((text) => text.split('\n')) as [
    string[],
    string[],
    string[],
  ]
  const [mineChanges, theirChanges] = [changesOf(old, a), changesOf(old, b)]
  if (mineChanges === undefined || theirChanges === undefined) return undefined
  const changes = [...mineChanges, ...theirChanges].toSorted(
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

function changesOf(old: readonly string[], text: readonly string[]): Replacement[] | undefined {
  return editsOf(old, text)?.map(({ aStart, aEnd, bStart, bEnd }) => ({
    start: aStart,
    end: aEnd,
    lines: text.slice(bStart, bEnd),
  }))
}
