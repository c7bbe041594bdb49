/** Allows something once in an interval. */
export class RateLimit {
  private readonly intervalMs: number
  private lastMs = -Infinity

  constructor(intervalMs: number) {
    this.intervalMs = intervalMs
  }

  take(nowMs: number): boolean {
    if (nowMs - this.lastMs < this.intervalMs) return false
    this.lastMs = nowMs
    return true
  }

  /** What was allowed did not take place. */
  giveBack(): void {
    this.lastMs = -Infinity
  }
}
