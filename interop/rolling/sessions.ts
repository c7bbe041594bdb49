import type { Apache } from '../src/apache.ts'
import { JavaLoad } from '../src/java-load.ts'

/** The events of one step. */
export interface StepCounts {
  readonly writes: number
  /** Writes whose connection was lost before the reply; each was repeated. */
  readonly unanswered: number
  readonly reconnects: number
  /** Sessions that ended since the start. */
  readonly lost: number
  /** The longest time without an acknowledged write of any client. */
  readonly longestMs: number
  /** The longest time without an acknowledged write of one client. */
  readonly ownMs: number
}

/** Apache's Java clients at work. */
export class Sessions {
  private readonly load: JavaLoad

  static async start(apache: Apache, servers: string, count: number): Promise<Sessions> {
    const load = { name: 'rolling', folder: import.meta.dirname, sources: ['Sessions'] }
    return new Sessions(await JavaLoad.start(apache, load, servers, count))
  }

  private constructor(load: JavaLoad) {
    this.load = load
  }

  /** The problems that they report. */
  get problems(): readonly string[] {
    return this.load.problems
  }

  /** The events since the last call. */
  step(): Promise<StepCounts> {
    return this.ask('step')
  }

  /** Stops the clients, which check that nothing is missing. */
  stop(): Promise<StepCounts> {
    return this.ask('stop')
  }

  end(): Promise<void> {
    return this.load.end()
  }

  private async ask(what: string): Promise<StepCounts> {
    const number = await this.load.ask(what)
    return {
      writes: number('writes'),
      unanswered: number('unanswered'),
      reconnects: number('reconnects'),
      lost: number('lost'),
      longestMs: number('longestUs') / 1000,
      ownMs: number('ownUs') / 1000,
    }
  }
}
