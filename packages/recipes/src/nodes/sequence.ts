/** The last number that a parent gives to a sequential node. */
export const sequenceMax = 0x7fffffff

/** The number at the end of a sequential node's name, if this mark precedes it. */
export function sequenceOf(name: string, mark: string): number | undefined {
  const at = name.lastIndexOf(mark)
  if (at < 0) return undefined
  const digits = name.slice(at + mark.length)
  // Some servers continue at -2147483648: then the mark is followed by a minus.
  return /^-?\d{9,10}$/.test(digits) ? Number(digits) : undefined
}

/**
 * Which of two sequence numbers came first, negative for `a`. The counter wraps; nodes that exist
 * at the same time are never further apart than half of its range.
 */
export function compareSequence(a: number, b: number): number {
  return (a - b) | 0
}
