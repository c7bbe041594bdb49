/** Random numbers that a seed reproduces. */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** A whole number below `bound`. */
  int(bound: number): number {
    return Math.floor(this.fraction() * bound)
  }

  between(low: number, high: number): number {
    return low + this.int(high - low + 1)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.int(256))
  }

  /** The mulberry32 generator: 32 good bits from 32 bits of state. */
  private fraction(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** A given seed, or a new one; the caller prints it. */
export function seedOf(given: string | undefined): number {
  if (given === undefined) return Math.floor(Math.random() * 0x7fffffff)
  const seed = Number(given)
  if (!Number.isSafeInteger(seed)) throw new Error(`a seed is a whole number, not ${given}`)
  return seed
}
