/** A time during which a program held something. It lies within the true time. */
export interface Interval {
  readonly who: string
  readonly enteredNs: bigint
  readonly leftNs: bigint
}

/** The largest number of overlapping intervals, and their holders. */
export function mostAtOnce(intervals: readonly Interval[]): readonly string[] {
  const steps = intervals.flatMap(({ who, enteredNs, leftNs }) => [
    { who, atNs: enteredNs, isEntry: true },
    { who, atNs: leftNs, isEntry: false },
  ])
  // One that leaves at the moment when another enters does not overlap with it.
  const inOrder = steps.toSorted(
    (a, b) => Number(a.atNs - b.atNs) || Number(a.isEntry) - Number(b.isEntry),
  )
  const inside: string[] = []
  let most: readonly string[] = []
  for (const { who, isEntry } of inOrder) {
    if (isEntry) inside.push(who)
    else inside.splice(inside.indexOf(who), 1)
    if (inside.length > most.length) most = [...inside]
  }
  return most
}

/** One of each kind that overlap; undefined if there are none. */
export function met(
  some: readonly Interval[],
  others: readonly Interval[],
): readonly [string, string] | undefined {
  for (const a of some) {
    const b = others.find(({ enteredNs, leftNs }) => enteredNs < a.leftNs && a.enteredNs < leftNs)
    if (b !== undefined) return [a.who, b.who]
  }
  return undefined
}
