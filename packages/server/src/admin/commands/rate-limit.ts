/** Allows an action once per interval. */
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

  /** Call if an allowed action did not take place. */
  giveBack(): void {
    this.lastMs = -Infinity
  }
}
