/**
 * Where the requests of a server go and come from. One request of about 64 is looked at, fewer on a
 * busy server, at intervals that vary, so that a regular pattern of requests is not mistaken for
 * something else; the others cost one subtraction. Slow requests are all looked at: only the slowest
 * are kept.
 */
import { codes, MalformedError, type Reader, type Txn } from '@zabra/protocol'
import { isClientWrite } from '../../operations/index.ts'
import type { ClientConnection } from '../connection.ts'
import { TopCounts, type Counted } from './top-counts.ts'

const keysMax = 256
const slowMax = 64
/** A request that takes less is never slow. */
const slowMsMin = 20
const windowMs = 60_000
/** The mean interval between samples is a power of two: two to the power of these. */
const intervalBitsMin = 6
const intervalBitsMax = 12
/** If this number of samples takes less or more time than this, the interval grows or shrinks. */
const pacedSamples = 256
const pacedMsMin = 250
const pacedMsMax = 1000

/** A request that took long. */
export interface SlowRequest {
  readonly wallMs: number
  readonly tookMs: number
  readonly type: number
  readonly path: string | undefined
  readonly address: string
  readonly sessionId: bigint
}

/** The requests of a client: one session from one address. */
export interface ClientCounts extends Omit<Counted, 'key'> {
  readonly address: string
  readonly sessionId: bigint
}

export interface LoadReport {
  /** How long was counted. */
  readonly coveredMs: number
  /** Estimates of what came in this time, the busiest first. */
  readonly paths: readonly Counted[]
  readonly clients: readonly ClientCounts[]
  /** The slowest first. */
  readonly slow: readonly SlowRequest[]
}

interface Window {
  startMs: number
  readonly paths: TopCounts
  readonly clients: TopCounts
  readonly slow: SlowRequest[]
}

interface Clock {
  readonly nowMs: number
  readonly wallMs: number
}

export class Load {
  /** Requests until the next one that is looked at. */
  untilSample: number
  /** A request that takes this long is to be noted: those that are kept were at least as slow. */
  slowMs = slowMsMin
  private readonly clock: Clock
  private interval: number
  private intervalBits = intervalBitsMin
  private samples = 0
  private pacedSinceMs: number
  private recent: Window
  private older: Window
  private state = 0x2545f491

  constructor(clock: Clock) {
    this.clock = clock
    this.recent = emptyWindow(clock.nowMs)
    this.older = emptyWindow(clock.nowMs)
    this.pacedSinceMs = clock.nowMs
    this.interval = this.untilSample = this.nextInterval()
  }

  /** Looks at a request whose body is about to be read. It stands for those since the last one. */
  sample(connection: ClientConnection, type: number, request: Reader): void {
    const { interval, recent } = this
    if (++this.samples === pacedSamples) this.pace()
    this.interval = this.untilSample = this.nextInterval()
    if (type === codes.ping) return
    const isWrite = isClientWrite(type) || type === codes.closeSession
    const [reads, writes] = isWrite ? [0, interval] : [interval, 0]
    const path = pathIn(request, type)
    if (path !== undefined) recent.paths.add(path, reads, writes)
    const { link, sessionId } = connection
    recent.clients.add(`${sessionId} ${link.address}`, reads, writes)
  }

  slowRead(connection: ClientConnection, type: number, request: Reader, tookMs: number): void {
    if (type !== codes.ping) this.slow(connection, type, pathIn(request, type), tookMs)
  }

  slowWrite(connection: ClientConnection, type: number, txn: Txn, tookMs: number): void {
    const body = txn.type === codes.multi ? txn.body.txns[0]?.body : txn.body
    const path = body !== undefined && 'path' in body ? body.path : undefined
    this.slow(connection, type, path, tookMs)
  }

  private slow(
    { link, sessionId }: ClientConnection,
    type: number,
    path: string | undefined,
    tookMs: number,
  ): void {
    const { slow } = this.recent
    const { wallMs } = this.clock
    const { address } = link
    if (slow.length >= slowMax) slow.splice(indexOfFastest(slow), 1)
    slow.push({ wallMs, tookMs, type, path, address, sessionId })
    if (slow.length >= slowMax) this.slowMs = slow[indexOfFastest(slow)]!.tookMs + 1
  }

  /** Reports cover the last minute or two. */
  tick(nowMs: number): void {
    if (nowMs - this.recent.startMs < windowMs) return
    const { older } = this
    this.older = this.recent
    older.startMs = nowMs
    older.paths.clear()
    older.clients.clear()
    older.slow.length = 0
    this.recent = older
    this.slowMs = slowMsMin
  }

  report(): LoadReport {
    const { older, recent, clock } = this
    return {
      coveredMs: Math.max(1, clock.nowMs - older.startMs),
      paths: merged(older.paths, recent.paths),
      clients: merged(older.clients, recent.clients).map(({ key, ...counts }) => {
        const space = key.indexOf(' ')
        return { ...counts, sessionId: BigInt(key.slice(0, space)), address: key.slice(space + 1) }
      }),
      slow: [...older.slow, ...recent.slow].toSorted((a, b) => b.tookMs - a.tookMs),
    }
  }

  /** Some hundred samples a second are enough, however many requests there are. */
  private pace(): void {
    const { nowMs } = this.clock
    const tookMs = nowMs - this.pacedSinceMs
    if (tookMs < pacedMsMin) this.intervalBits = Math.min(this.intervalBits + 1, intervalBitsMax)
    if (tookMs > pacedMsMax) this.intervalBits = Math.max(this.intervalBits - 1, intervalBitsMin)
    this.samples = 0
    this.pacedSinceMs = nowMs
  }

  /** From half the mean to one and a half of it; it need not be unpredictable, only irregular. */
  private nextInterval(): number {
    let x = this.state
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.state = x
    return (1 << (this.intervalBits - 1)) + 1 + (x >>> (32 - this.intervalBits))
  }
}

function emptyWindow(startMs: number): Window {
  return { startMs, paths: new TopCounts(keysMax), clients: new TopCounts(keysMax), slow: [] }
}

function indexOfFastest(slow: readonly SlowRequest[]): number {
  let fastest = 0
  for (const [at, { tookMs }] of slow.entries()) if (tookMs < slow[fastest]!.tookMs) fastest = at
  return fastest
}

function merged(older: TopCounts, recent: TopCounts): Counted[] {
  const sums = new Map<string, Counted>()
  for (const counts of [older, recent]) {
    for (const each of counts.all()) {
      const before = sums.get(each.key)
      sums.set(each.key, before === undefined ? each : sumOf(before, each))
    }
  }
  const weight = ({ reads, writes }: Counted): number => reads + writes
  return [...sums.values()].toSorted((a, b) => weight(b) - weight(a))
}

function sumOf(a: Counted, b: Counted): Counted {
  const [reads, writes, error] = [a.reads + b.reads, a.writes + b.writes, a.error + b.error]
  return { key: a.key, reads, writes, error }
}

const startsWithPath: ReadonlySet<number> = new Set([
  codes.create,
  codes.delete,
  codes.exists,
  codes.getData,
  codes.setData,
  codes.getACL,
  codes.setACL,
  codes.getChildren,
  codes.sync,
  codes.getChildren2,
  codes.check,
  codes.create2,
  codes.checkWatches,
  codes.removeWatches,
  codes.createContainer,
  codes.createTTL,
  codes.getEphemerals,
  codes.getAllChildrenNumber,
  codes.addWatch,
])

/** The path in a request, of a list that of its first part; the reader stays where it is. */
function pathIn(request: Reader, type: number): string | undefined {
  const at = request.position
  try {
    let first = type
    if (type === codes.multi || type === codes.multiRead) {
      first = request.int()
      if (request.bool()) return undefined
      request.int()
    }
    return startsWithPath.has(first) ? request.ustring() : undefined
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw error
  } finally {
    request.position = at
  }
}
