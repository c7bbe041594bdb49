/** The counts of a key. */
export interface Counted {
  readonly key: string
  readonly reads: number
  readonly writes: number
  /** The sum may be too high by up to this: what was forgotten to make room for the key. */
  readonly error: number
}

interface Entry {
  reads: number
  writes: number
  error: number
}

/**
 * The keys that are counted most often, in bounded memory: the space-saving sketch of Metwally,
 * Agrawal and El Abbadi. A new key takes the place of the one counted least and inherits its count,
 * so a key that has more than its share is always among those that are kept.
 */
export class TopCounts {
  private readonly entries = new Map<string, Entry>()
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  add(key: string, reads: number, writes: number): void {
    let entry = this.entries.get(key)
    if (entry === undefined) {
      const error = this.entries.size < this.capacity ? 0 : this.dropLeast()
      entry = { reads: 0, writes: 0, error }
      this.entries.set(key, entry)
    }
    entry.reads += reads
    entry.writes += writes
  }

  /** Every key that is kept; what it was counted for is certain, what it inherited is not. */
  *all(): IterableIterator<Counted> {
    for (const [key, { reads, writes, error }] of this.entries) yield { key, reads, writes, error }
  }

  clear(): void {
    this.entries.clear()
  }

  private dropLeast(): number {
    let least = Infinity
    let leastKey = ''
    for (const [key, { reads, writes, error }] of this.entries) {
      const count = reads + writes + error
      if (count < least) [least, leastKey] = [count, key]
    }
    this.entries.delete(leastKey)
    return least
  }
}
