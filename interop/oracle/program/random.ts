/** Random numbers that a seed reproduces. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed * 2654435761 + 12345) >>> 0
    for (let i = 0; i < 8; i++) this.#next()
  }

  /** A whole number below `bound`. */
  int(bound: number): number {
    return this.#next() % bound
  }

  chance(probability: number): boolean {
    return this.#fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }

  /** One of the names, with probabilities proportional to the weights. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][]
    const total = entries.reduce((sum, [, weight]) => sum + weight, 0)
    let rest = this.#fraction() * total
    for (const [name, weight] of entries) {
      rest -= weight
      if (rest < 0) return name
    }
    return entries[0]![0]
  }

  #fraction(): number {
    return this.#next() / 4294967296
  }

  /** The mulberry32 generator: 32 good bits from 32 bits of state. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }
}
