/** Minimum, maximum and mean of measurements. */
export class Summary {
  count = 0
  sum = 0
  min = 0
  max = 0

  add(value: number): void {
    if (this.count === 0) {
      this.min = this.max = value
    } else if (value < this.min) {
      this.min = value
    } else if (value > this.max) {
      this.max = value
    }
    this.count++
    this.sum += value
  }

  get mean(): number {
    return this.count === 0 ? 0 : this.sum / this.count
  }

  reset(): void {
    this.count = this.sum = this.min = this.max = 0
  }
}

/** Below this every whole number has its own bucket; above it, each doubling has `subBuckets`. */
const exactBelow = 64
const subBuckets = 16
const bucketCount = exactBelow + (31 - 6) * subBuckets

/** A summary that also knows percentiles of recent measurements, to within 6 %. */
export class Histogram extends Summary {
  private recent = new Uint32Array(bucketCount)
  private older = new Uint32Array(bucketCount)

  override add(value: number): void {
    super.add(value)
    this.recent[bucketOf(value)]!++
  }

  /** Forgets what was measured before the previous call. The caller does this at intervals. */
  rotate(): void {
    const { older } = this
    older.fill(0)
    this.older = this.recent
    this.recent = older
  }

  /**
   * The value that this share of the recent measurements does not exceed; undefined without
   * measurements.
   */
  percentile(share: number): number | undefined {
    const { recent, older } = this
    let total = 0
    for (let i = 0; i < bucketCount; i++) total += recent[i]! + older[i]!
    if (total === 0) return undefined
    let left = Math.max(1, Math.ceil(total * share))
    for (let i = 0; i < bucketCount; i++) {
      left -= recent[i]! + older[i]!
      if (left <= 0) return startOf(i)
    }
    return undefined
  }

  override reset(): void {
    super.reset()
    this.recent.fill(0)
    this.older.fill(0)
  }
}

function bucketOf(value: number): number {
  const whole = value > 0 ? Math.min(value, 0x7fffffff) | 0 : 0
  if (whole < exactBelow) return whole
  const exponent = 31 - Math.clz32(whole)
  const within = (whole >>> (exponent - 4)) & (subBuckets - 1)
  return exactBelow + (exponent - 6) * subBuckets + within
}

function startOf(bucket: number): number {
  if (bucket < exactBelow) return bucket
  const above = bucket - exactBelow
  const exponent = 6 + Math.floor(above / subBuckets)
  return (subBuckets + (above % subBuckets)) * 2 ** (exponent - 4)
}
