import type { Apache } from '../src/apache.ts'
import { JavaLoad } from '../src/java-load.ts'

/** The work of the clients so far. */
export interface Counts {
  readonly writes: number
  /** Attempts that lost their connection, and were repeated. */
  readonly unanswered: number
  readonly watches: number
  readonly sessions: number
  readonly reconnects: number
}

/** Apache's Java clients at work. */
export class Load {
  private readonly load: JavaLoad

  /** `size` is the number of writers, and of pairs that change and watch. */
  static async start(apache: Apache, servers: string, size: number): Promise<Load> {
    const sources = ['Load', 'Holder', 'Ledger', 'Watching']
    const load = { name: 'takeover', folder: import.meta.dirname, sources }
    return new Load(await JavaLoad.start(apache, load, servers, size))
  }

  private constructor(load: JavaLoad) {
    this.load = load
  }

  /** The problems that they report. */
  get problems(): readonly string[] {
    return this.load.problems
  }

  count(): Promise<Counts> {
    return this.ask('count')
  }

  /** Stops the clients, which check that nothing is missing. */
  stop(): Promise<Counts> {
    return this.ask('stop')
  }

  end(): Promise<void> {
    return this.load.end()
  }

  private async ask(what: string): Promise<Counts> {
    const number = await this.load.ask(what)
    return {
      writes: number('writes'),
      unanswered: number('unanswered'),
      watches: number('watches'),
      sessions: number('sessions'),
      reconnects: number('reconnects'),
    }
  }
}
