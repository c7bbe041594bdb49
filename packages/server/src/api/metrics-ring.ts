import { performance, type EventLoopUtilization } from 'node:perf_hooks'
import { nodeCount } from '../view/server-state.ts'
import type { ServerView } from '../view/server-view.ts'
import { integer, number, object, array } from './schema.ts'

const everyMs = 5_000
const keptMs = 3_600_000
const samplesMax = keptMs / everyMs

const columns = [
  'time',
  'requestsPerSecond',
  'readsPerSecond',
  'writesPerSecond',
  'receivedPerSecond',
  'sentPerSecond',
  'readMs',
  'readMsP99',
  'writeMs',
  'writeMsP99',
  'syncMs',
  'connections',
  'sessions',
  'outstanding',
  'znodes',
  'dataBytes',
  'watches',
  'busyShare',
  'memoryBytes',
] as const

/** A sample of a server's metrics; latencies and rates cover the time since the previous sample. */
export type Sample = { readonly [Name in (typeof columns)[number]]: number }

const sampleSchema = object(
  Object.fromEntries(columns.map((name) => [name, name === 'time' ? integer : number])),
)
export const samplesSchema = object({ everyMs: integer, samples: array(sampleSchema) })

/** The increase of a counter since the previous sample. */
interface Totals {
  readonly requests: number
  readonly received: number
  readonly sent: number
  readonly loop: EventLoopUtilization
  readonly read: Totalled
  readonly write: Totalled
  readonly sync: Totalled
  readonly atMs: number
}
interface Totalled {
  readonly count: number
  readonly sum: number
}

/** The last hour of this server, in memory. */
export class MetricsRing {
  readonly everyMs = everyMs
  private readonly view: ServerView
  private readonly samples: Sample[] = []
  private readonly listeners = new Set<(sample: Sample) => void>()
  private readonly timer: NodeJS.Timeout
  private last: Totals

  constructor(view: ServerView) {
    this.view = view
    this.last = totalsOf(view)
    this.timer = setInterval(() => this.take(), everyMs).unref()
  }

  /** Oldest first. */
  get all(): readonly Sample[] {
    return this.samples
  }

  onSample(listener: (sample: Sample) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  take(): Sample {
    const { last, view } = this
    const { peer } = view
    const { stats } = peer
    const now = totalsOf(view)
    const meanOf = (name: 'read' | 'write' | 'sync'): number => {
      const count = now[name].count - last[name].count
      return count > 0 ? rounded((now[name].sum - last[name].sum) / count) : 0
    }
    const seconds = Math.max(0.001, (now.atMs - last.atMs) / 1000)
    // The command srst resets some of the counts.
    const rateOf = (before: number, after: number): number =>
      rounded(Math.max(0, after - before) / seconds)
    const sample: Sample = {
      time: Date.now(),
      requestsPerSecond: rateOf(last.requests, now.requests),
      readsPerSecond: rateOf(last.read.count, now.read.count),
      writesPerSecond: rateOf(last.write.count, now.write.count),
      receivedPerSecond: rateOf(last.received, now.received),
      sentPerSecond: rateOf(last.sent, now.sent),
      readMs: meanOf('read'),
      readMsP99: stats.readLatency.percentile(0.99) ?? 0,
      writeMs: meanOf('write'),
      writeMsP99: stats.writeLatency.percentile(0.99) ?? 0,
      syncMs: meanOf('sync'),
      connections: view.sockets.size,
      sessions: peer.db.sessions.size + (peer.localSessions?.size ?? 0),
      outstanding: peer.outstandingRequests,
      znodes: nodeCount(view),
      dataBytes: peer.db.tree.dataBytes,
      watches: peer.db.watches.count,
      busyShare: rounded(performance.eventLoopUtilization(now.loop, last.loop).utilization),
      memoryBytes: process.memoryUsage.rss(),
    }
    this.last = now
    this.samples.push(sample)
    if (this.samples.length > samplesMax) this.samples.shift()
    for (const listener of this.listeners) listener(sample)
    return sample
  }

  stop(): void {
    clearInterval(this.timer)
    this.listeners.clear()
  }
}

function totalsOf({ peer: { stats }, disk }: ServerView): Totals {
  const total = ({ count, sum }: Totalled): Totalled => ({ count, sum })
  return {
    requests: stats.packetsReceived,
    received: stats.bytesReceived,
    sent: stats.responseBytes,
    loop: performance.eventLoopUtilization(),
    read: total(stats.readLatency),
    write: total(stats.writeLatency),
    sync: total(disk.syncMs),
    atMs: performance.now(),
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
