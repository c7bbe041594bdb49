/** So many of something, if that is a number of things. */
export function checkedCount(name: string, count: number): number {
  if (Number.isInteger(count) && count >= 1) return count
  throw new RangeError(`${name} is a whole number from 1 on, not ${count}`)
}
