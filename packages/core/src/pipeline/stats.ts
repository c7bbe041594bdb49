/** Least, greatest and mean of what was measured. */
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

/** Below this every whole number has a bucket of its own; above, each doubling has `subBuckets`. */
const exactBelow = 64
const subBuckets = 16
const bucketCount = exactBelow + (31 - 6) * subBuckets

/** A summary that also knows percentiles of what was measured lately, to within 6 %. */
export class Histogram extends Summary {
  private recent = new Uint32Array(bucketCount)
  private older = new Uint32Array(bucketCount)

  override add(value: number): void {
    super.add(value)
    this.recent[bucketOf(value)]!++
  }

  /** Forgets what was measured before the last call: to be called now and then. */
  rotate(): void {
    const { older } = this
    older.fill(0)
    this.older = this.recent
    this.recent = older
  }

  /** The value that this share of the recent ones does not exceed; undefined when there are none. */
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

const rotateEveryMs = 30_000

/** What a server counts about the requests it serves. */
export class ServerStats {
  packetsReceived = 0
  packetsSent = 0
  readonly latency = new Summary()
  readonly readLatency = new Histogram()
  readonly writeLatency = new Histogram()
  lastResponseBytes = -1
  minResponseBytes = -1
  maxResponseBytes = -1
  authFailures = 0
  sessionsExpired = 0
  sessionlessExpired = 0
  connectionsRejected = 0
  /** Tokens that were missing in the bucket of the connection throttle, when one was let in. */
  readonly tokenDeficit = new Summary()
  largeRequestsRejected = 0
  /** Connections that had to wait because too many requests were in flight. */
  throttleWaits = 0
  throttledOps = 0
  staleRequests = 0
  staleRequestsDropped = 0
  connectionRequests = 0
  /** Of these, those that wanted to go on with a session. */
  connectionRevalidations = 0
  /** Connections that ended from the other side. */
  connectionsDropped = 0
  bytesReceived = 0
  responseBytes = 0
  commits = 0
  digestMismatches = 0
  /** How many were answered, by the low byte of the operation's code. */
  readonly operations = new Float64Array(256)

  private rotatedMs = 0

  /** Percentiles are about the last half minute to minute. */
  tick(nowMs: number): void {
    if (nowMs - this.rotatedMs < rotateEveryMs) return
    this.rotatedMs = nowMs
    this.readLatency.rotate()
    this.writeLatency.rotate()
  }

  responded(bytes: number): void {
    this.lastResponseBytes = bytes
    this.responseBytes += bytes
    if (bytes > this.maxResponseBytes) this.maxResponseBytes = bytes
    if (bytes < this.minResponseBytes || this.minResponseBytes < 0) this.minResponseBytes = bytes
  }

  reset(): void {
    this.packetsReceived = this.packetsSent = 0
    this.latency.reset()
    this.lastResponseBytes = this.minResponseBytes = this.maxResponseBytes = -1
  }
}
