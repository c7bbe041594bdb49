import { operations } from '@zabra/protocol'

/** Durations of requests, in buckets whose bounds grow by a quarter or less. */
export interface Histogram {
  readonly count: number
  readonly sumMs: number
  readonly maxMs: number
  /**
   * The duration that this share of requests did not exceed: `quantileMs(0.99)`.
   *
   *     console.log(client.stats().latency.quantileMs(0.99))
   */
  quantileMs(share: number): number
  /** Buckets that are not empty, by their upper bounds. */
  readonly buckets: readonly { readonly upToMs: number; readonly count: number }[]
}

export interface OperationStats {
  /** Number of replies. */
  readonly count: number
  /** Number of replies with an error. */
  readonly refused: number
  readonly latency: Histogram
}

/** Statistics since the client was made; `client.stats()`. */
export interface ClientStats {
  /** By the name of the operation in the protocol: `getData`, `create2`. */
  readonly operations: Readonly<Record<string, OperationStats>>
  readonly latency: Histogram
  /** Requests whose reply is pending, and those that wait to be sent. */
  readonly inFlight: number
  readonly waiting: number
  /** Reads that were sent again after a lost connection. */
  readonly repeats: number
  /** Requests that ended without a reply: lost, timed out, aborted. */
  readonly unanswered: number
  readonly bytesSent: number
  readonly bytesReceived: number
  /** Paths that the server watches for this client. */
  readonly watches: number
  readonly notifications: number
  readonly connections: number
  readonly failedAttempts: number
  readonly suspensions: number
  readonly expiries: number
}

const bucketCount = 128
const microsMax = 0x7fffffff

/** The bucket of a duration: two bits below the highest one. */
function bucketOf(micros: number): number {
  if (micros < 4) return micros
  const exponent = 31 - Math.clz32(micros)
  return (exponent - 1) * 4 + ((micros >> (exponent - 2)) & 3)
}

function upperMicros(bucket: number): number {
  if (bucket < 4) return bucket + 1
  const exponent = (bucket >> 2) + 1
  return (4 + (bucket & 3) + 1) * 2 ** (exponent - 2)
}

class LatencyRecorder {
  readonly counts = new Uint32Array(bucketCount)
  sumMs = 0
  maxMs = 0

  add(ms: number, count: number): void {
    const micros = ms * 1000
    const bucket = bucketOf(micros < microsMax ? micros | 0 : microsMax)
    this.counts[bucket] = this.counts[bucket]! + count
    this.sumMs += ms * count
    if (ms > this.maxMs) this.maxMs = ms
  }
}

/** Statistics of one operation of one client. */
class OperationCounters {
  refused = 0
  readonly latency = new LatencyRecorder()
}

const codeMask = 0xff
const nameOfCode = new Map(
  Object.entries(operations).map(([name, { code }]) => [code & codeMask, name]),
)

/** Counts replies and their durations. It is always on. */
export class RequestStats {
  private readonly byCode: (OperationCounters | undefined)[] = Array.from({
    length: codeMask + 1,
  })
  repeats = 0
  unanswered = 0
  bytesSent = 0
  bytesReceived = 0
  notifications = 0

  /** Counts several replies with the same duration. */
  answered(code: number, ms: number, count: number): void {
    this.countersOf(code).latency.add(ms, count)
  }

  refused(code: number): void {
    this.countersOf(code).refused++
  }

  private countersOf(code: number): OperationCounters {
    return (this.byCode[code & codeMask] ??= new OperationCounters())
  }

  operations(): Record<string, OperationStats> {
    const all: Record<string, OperationStats> = {}
    this.byCode.forEach((counters, code) => {
      if (counters === undefined) return
      const latency = histogramOf([counters.latency])
      const name = nameOfCode.get(code) ?? String(code)
      all[name] = { count: latency.count, refused: counters.refused, latency }
    })
    return all
  }

  latency(): Histogram {
    return histogramOf(this.byCode.flatMap((counters) => counters?.latency ?? []))
  }
}

function histogramOf(recorders: readonly LatencyRecorder[]): Histogram {
  const buckets: { upToMs: number; count: number }[] = []
  let count = 0
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const own = recorders.reduce((sum, { counts }) => sum + counts[bucket]!, 0)
    if (own === 0) continue
    count += own
    buckets.push({ upToMs: upperMicros(bucket) / 1000, count: own })
  }
  const maxMs = Math.max(0, ...recorders.map((one) => one.maxMs))
  return {
    count,
    sumMs: recorders.reduce((sum, one) => sum + one.sumMs, 0),
    maxMs,
    buckets,
    quantileMs(share) {
      let left = share * count
      for (const bucket of buckets) {
        left -= bucket.count
        if (left <= 0) return Math.min(bucket.upToMs, maxMs)
      }
      return maxMs
    },
  }
}
