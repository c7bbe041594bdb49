/** Reproducible random numbers: the same seed draws the same numbers. */
export class Random {
  private readonly seed: string
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(seed: string) {
    this.seed = seed
    this.a = hash(`${seed}/a`)
    this.b = hash(`${seed}/b`)
    this.c = hash(`${seed}/c`)
    for (let i = 0; i < 12; i++) this.bits()
  }

  /** A separate stream, so that draws of one part do not shift those of another. */
  fork(name: string): Random {
    return new Random(`${this.seed}/${name}`)
  }

  /** At least 0, less than 1. */
  next(): number {
    return this.bits() / 2 ** 32
  }

  /** An integer, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)]!
  }

  /** One of the names, with probabilities proportional to the weights. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights)
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name as Name
    }
    return entries.at(-1)![0] as Name
  }

  /** sfc32: small, fast, and without visible patterns. */
  private bits(): number {
    const sum = (this.a + this.b + this.counter++) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum
    return sum >>> 0
  }
}

/** FNV-1a. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  }
  return value >>> 0
}
