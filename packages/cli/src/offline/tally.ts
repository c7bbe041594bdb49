/** Counts and sums by name. */
export class Tally {
  private readonly byName = new Map<string, { count: number; bytes: number }>()

  add(name: string, bytes: number): void {
    const entry = this.byName.get(name)
    if (entry === undefined) this.byName.set(name, { count: 1, bytes })
    else {
      entry.count++
      entry.bytes += bytes
    }
  }

  /** The names with the highest counts first. */
  most(limit: number): { readonly name: string; readonly count: number; readonly bytes: number }[] {
    return [...this.byName]
      .map(([name, { count, bytes }]) => ({ name, count, bytes }))
      .toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name))
      .slice(0, limit)
  }
}
