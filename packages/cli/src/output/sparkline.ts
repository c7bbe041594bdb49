const bars = '▁▂▃▄▅▆▇█'

/** A row of bars, one for each number; the largest number is the highest bar. */
export function sparkline(numbers: readonly number[]): string {
  const most = Math.max(...numbers, 1)
  return numbers
    .map((number) => bars[Math.min(bars.length - 1, Math.floor((number / most) * bars.length))]!)
    .join('')
}
