/** Times that were measured, in milliseconds. */
export class Quantiles {
  private readonly values: number[] = []
  private isSorted = true

  add(ms: number): void {
    this.values.push(ms)
    this.isSorted = false
  }

  get count(): number {
    return this.values.length
  }

  get mean(): number {
    return this.values.reduce((sum, value) => sum + value, 0) / (this.count || 1)
  }

  /** The value that this share of them does not exceed; 0 where there are none. */
  at(share: number): number {
    if (!this.isSorted) this.values.sort((a, b) => a - b)
    this.isSorted = true
    return this.values[Math.min(this.count - 1, Math.floor(share * this.count))] ?? 0
  }

  /** For JSON and for tables. */
  summary(): { min: number; mean: number; p50: number; p90: number; p99: number; max: number } {
    const round = (ms: number): number => Math.round(ms * 1000) / 1000
    return {
      min: round(this.at(0)),
      mean: round(this.mean),
      p50: round(this.at(0.5)),
      p90: round(this.at(0.9)),
      p99: round(this.at(0.99)),
      max: round(this.at(1)),
    }
  }
}
