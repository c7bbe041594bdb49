import type { Apache } from '../src/apache.ts'
import { JavaLoad } from '../src/java-load.ts'

/** What came to pass in one step. */
export interface StepCounts {
  readonly writes: number
  /** Writes whose connection was lost before the answer; each was made again. */
  readonly unanswered: number
  readonly reconnects: number
  /** Sessions that ended, since the start. */
  readonly lost: number
  /** The longest time in which nobody's write was acknowledged. */
  readonly longestMs: number
  /** The longest time in which one client's writes were not. */
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

  /** What they say went wrong. */
  get problems(): readonly string[] {
    return this.load.problems
  }

  /** What happened since it was last asked. */
  step(): Promise<StepCounts> {
    return this.ask('step')
  }

  /** The clients come to their end and look whether everything is there. */
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
