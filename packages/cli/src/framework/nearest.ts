/** The choice that a typing mistake may have meant. */
export function nearest(word: string, choices: readonly string[]): string | undefined {
  const far = Math.max(1, Math.floor(word.length / 3))
  const rated = choices.map((choice) => ({ choice, steps: distance(word, choice) }))
  return rated.filter(({ steps }) => steps <= far).toSorted((a, b) => a.steps - b.steps)[0]?.choice
}

/** Letters to insert, delete, replace or swap with the next one. */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1)
      rows[i]![j] = best
    }
  }
  return rows[a.length]![b.length]!
}
