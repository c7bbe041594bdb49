import type { Tree } from '../state/tree/tree.ts'

export interface ReclaimOptions {
  readonly checkIntervalMs: number
  readonly perMinuteMax: number
  /** How long a container that never had a child is kept; 0: forever. */
  readonly neverUsedMsMax: number
}

/** Finds containers that are empty after use and TTL nodes past their time, at a bounded pace. */
export class Reclaimer {
  private readonly tree: Tree
  private readonly options: ReclaimOptions
  private nextCheckMs = -1
  private lastMs = 0
  private waiting: string[] = []
  private allowance = 0

  constructor(tree: Tree, options: ReclaimOptions) {
    this.tree = tree
    this.options = options
  }

  /** The paths to be deleted now. */
  due(nowMs: number, wallMs: number): string[] {
    const { checkIntervalMs, perMinuteMax, neverUsedMsMax } = this.options
    if (this.nextCheckMs < 0) {
      this.nextCheckMs = nowMs + checkIntervalMs
      this.lastMs = nowMs
    }
    if (this.waiting.length === 0 && nowMs >= this.nextCheckMs) {
      this.nextCheckMs = nowMs + checkIntervalMs
      this.lastMs = nowMs
      this.allowance = 1
      const found = this.tree.reclaimable(BigInt(wallMs), BigInt(neverUsedMsMax))
      this.waiting = Array.from(found, (id) => this.tree.pathOf(id))
    }
    if (this.waiting.length === 0) return []
    this.allowance += ((nowMs - this.lastMs) * perMinuteMax) / 60_000
    this.lastMs = nowMs
    const count = Math.min(Math.floor(this.allowance), this.waiting.length)
    this.allowance -= count
    return this.waiting.splice(0, count)
  }
}
