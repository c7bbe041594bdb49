import { ConnectionLossError, isRefusal, json, type Client, type Stat } from '@zabra/client'
import { takeFrom, type Bucket, type Limit } from './bucket.ts'

export interface TakeOptions {
  readonly permits?: number
  /** A caller that would have to wait longer takes nothing. No limit by default. */
  readonly waitMsMax?: number
  readonly signal?: AbortSignal
}

interface Request {
  readonly permits: number
  readonly waitMsMax: number
  /** Called with undefined if it would take too long. */
  readonly granted: (waitMs: number | undefined) => void
  readonly failed: (error: unknown) => void
}

const codec = json<Bucket>()

/**
 * A limit shared by all processes: a bucket of permits in one node, changed by compare-and-set.
 * Taking permits is one small write, however many calls of a process wait for it; then each call
 * knows how long to wait, and nothing polls. It uses the server's clock, so the clocks of the
 * processes do not matter.
 */
export class RateLimiter {
  private readonly client: Client
  private readonly path: string
  private readonly limit: Limit
  private readonly requests: Request[] = []
  private isServing = false
  /** The difference between the server's and the client's clock. */
  private offsetMs = 0

  private constructor(client: Client, path: string, limit: Limit) {
    this.client = client
    this.path = path
    this.limit = limit
  }

  static async open(client: Client, path: string, limit: Limit): Promise<RateLimiter> {
    const limiter = new RateLimiter(client, path, limit)
    await client.ensure(path)
    await limiter.lookAtClock()
    return limiter
  }

  /**
   * Resolves to true when this caller has its permits, to false if that would take too long.
   * Permits that were taken are not given back when the signal aborts.
   */
  async take({ permits = 1, waitMsMax = Infinity, signal }: TakeOptions = {}): Promise<boolean> {
    signal?.throwIfAborted()
    const waitMs = await new Promise<number | undefined>((granted, failed) => {
      this.requests.push({ permits, waitMsMax, granted, failed })
      if (!this.isServing) void this.serve()
    })
    if (waitMs === undefined) return false
    await this.pause(waitMs, signal)
    return true
  }

  private async serve(): Promise<void> {
    this.isServing = true
    while (this.requests.length > 0) {
      const batch = this.requests.splice(0)
      try {
        await this.takeTogether(batch)
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    this.isServing = false
  }

  private async takeTogether(batch: readonly Request[]): Promise<void> {
    for (;;) {
      const { bucket: found, version } = await this.read()
      let bucket = found
      const waits = batch.map(({ permits, waitMsMax }) => {
        const taken = takeFrom(bucket, permits, this.nowMs(), this.limit)
        if (taken.waitMs > waitMsMax) return undefined
        bucket = taken.bucket
        return taken.waitMs
      })
      if (bucket !== found && !(await this.write(bucket, version))) continue
      for (const [index, { granted }] of batch.entries()) granted(waits[index])
      return
    }
  }

  private async read(): Promise<{ bucket: Bucket; version: number }> {
    const { data, stat } = await this.client.get(this.path)
    const bucket = data.length === 0 ? { fullAtMs: 0 } : codec.decode(data)
    return { bucket, version: stat.version }
  }

  /**
   * False if another process was faster, or the result is unknown: permits may be lost then, never
   * added.
   */
  private async write(bucket: Bucket, ifVersion: number): Promise<boolean> {
    try {
      this.seeClock(await this.client.set(this.path, bucket, { codec, ifVersion }))
      return true
    } catch (error) {
      if (isRefusal(error, 'badVersion') || error instanceof ConnectionLossError) return false
      throw error
    }
  }

  /** Writes the same data again, because only the reply to a write tells the server's time. */
  private async lookAtClock(): Promise<void> {
    for (let isDone = false; !isDone;) {
      const { bucket, version } = await this.read()
      isDone = await this.write(bucket, version)
    }
  }

  private seeClock({ mtime }: Stat): void {
    this.offsetMs = Number(mtime) - this.client.nowMs()
  }

  private nowMs(): number {
    return this.client.nowMs() + this.offsetMs
  }

  private async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (ms === 0) return
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.client.host.timer(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
}
