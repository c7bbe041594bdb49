import { compile, javaCommand } from '../clients/java/prepare.ts'
import { Program } from '../clients/program.ts'
import type { Apache } from '../src/apache.ts'

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

const answerMsMax = 120_000

/** Apache's Java clients at work, in a process of their own. */
export class Sessions {
  /** What they say went wrong. */
  readonly problems: string[] = []
  private readonly program: Program

  static async start(apache: Apache, servers: string, count: number): Promise<Sessions> {
    const name = `rolling-${apache.release}`
    const classes = await compile(name, ['Sessions'], apache.classPath, import.meta.dirname)
    if (!classes.ok) throw new Error(`javac failed: ${classes.output}`)
    const command = javaCommand([classes.dir, apache.classPath], 'Sessions')
    const sessions = new Sessions(new Program([...command, servers, `${count}`]))
    await sessions.untilSays('ready')
    return sessions
  }

  private constructor(program: Program) {
    this.program = program
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
    return this.program.end()
  }

  private async ask(what: string): Promise<StepCounts> {
    this.program.tell(what)
    const line = await this.untilSays(what)
    const number = (name: string): number => {
      return Number(new RegExp(`\\b${name}=(\\d+)`).exec(line)?.[1])
    }
    return {
      writes: number('writes'),
      unanswered: number('unanswered'),
      reconnects: number('reconnects'),
      lost: number('lost'),
      longestMs: number('longestUs') / 1000,
      ownMs: number('ownUs') / 1000,
    }
  }

  private async untilSays(start: string): Promise<string> {
    const deadline = Date.now() + answerMsMax
    for (;;) {
      const line = await this.program.nextLine(deadline - Date.now())
      if (line === undefined) throw new Error(`the clients are gone: ${this.program.ending}`)
      if (line.startsWith('FAIL ')) this.problems.push(line.slice(5))
      else if (line.startsWith(start)) return line
    }
  }
}
