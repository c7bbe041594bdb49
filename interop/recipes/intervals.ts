/** Somebody had something from then to then. Both ends lie within the truth. */
export interface Interval {
  readonly who: string
  readonly enteredNs: bigint
  readonly leftNs: bigint
}

/** The most that were in at the same time, and who they were. */
export function mostAtOnce(intervals: readonly Interval[]): readonly string[] {
  const steps = intervals.flatMap(({ who, enteredNs, leftNs }) => [
    { who, atNs: enteredNs, isEntry: true },
    { who, atNs: leftNs, isEntry: false },
  ])
  // Who leaves in the moment in which another enters was not in with that one.
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

/** One of each kind that were in at the same time; undefined where they kept apart. */
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
