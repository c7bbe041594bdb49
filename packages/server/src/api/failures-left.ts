/** More is not looked for: the number of combinations grows fast. */
const most = 3

/**
 * How many of the serving voters may fail, whichever they are, while the others still form a quorum.
 * Null if they form none now.
 */
export function failuresLeft(
  serving: readonly bigint[],
  isQuorum: (ids: ReadonlySet<bigint>) => boolean,
): number | null {
  if (!isQuorum(new Set(serving))) return null
  let count = 0
  while (count < most && survives(serving, count + 1, isQuorum)) count++
  return count
}

/** Whether there is a quorum without any `count` of them. */
function survives(
  left: readonly bigint[],
  count: number,
  isQuorum: (ids: ReadonlySet<bigint>) => boolean,
  from = 0,
): boolean {
  if (count === 0) return isQuorum(new Set(left))
  for (let at = from; at < left.length; at++) {
    if (!survives(left.toSpliced(at, 1), count - 1, isQuorum, at)) return false
  }
  return true
}
