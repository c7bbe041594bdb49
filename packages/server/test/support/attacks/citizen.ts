import { RawClient, textOf } from '../raw-client.ts'

/** The measurements of the well-behaved client. */
export interface Sight {
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** A client that writes and reads one thing after the other, and checks every answer. */
export class Citizen {
  readonly problems: string[] = []
  private readonly client: RawClient
  private readonly path: string
  private latencies: number[] = []
  private isRetired = false
  private readonly life: Promise<void>

  static async arrive(port: number, path = '/citizen'): Promise<Citizen> {
    const client = await RawClient.connect(port, { timeoutMs: 8000 })
    await client.create(path, '0')
    return new Citizen(client, path)
  }

  private constructor(client: RawClient, path: string) {
    this.client = client
    this.path = path
    this.life = this.live().catch((error: unknown) => void this.problems.push(String(error)))
  }

  /** The measurements since the last call. */
  look(): Sight {
    const sorted = this.latencies.toSorted((a, b) => a - b)
    this.latencies = []
    const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? NaN
    return { requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
  }

  async retire(): Promise<void> {
    this.isRetired = true
    await this.life
    await this.client.close().catch(() => {})
  }

  private async live(): Promise<void> {
    const { client, path } = this
    for (let i = 1; !this.isRetired; i++) {
      const set = await this.timed(() =>
        client.must('setData', { path, data: Buffer.from(`${i}`), version: -1 }),
      )
      const got = await this.timed(() => client.must('getData', { path, watch: false }))
      if (set.stat.version !== i || textOf(got.data) !== `${i}`) {
        this.problems.push(`the answers to request ${i} are wrong`)
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  private async timed<T>(work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    const result = await work()
    this.latencies.push(performance.now() - started)
    return result
  }
}
