import type { Apache } from '../src/apache.ts'
import { compile, javaCommand } from '../clients/java/prepare.ts'
import { Program } from '../clients/program.ts'

/** What the clients have done so far. */
export interface Counts {
  readonly writes: number
  /** Attempts that lost their connection, and were made again. */
  readonly unanswered: number
  readonly watches: number
  readonly sessions: number
  readonly reconnects: number
}

const answerMsMax = 120_000

/** Apache's Java clients at work, in a process of their own. */
export class Load {
  /** What they say went wrong. */
  readonly problems: string[] = []
  private readonly program: Program

  /** `size` is how many write, and how many pairs change and watch. */
  static async start(apache: Apache, servers: string, size: number): Promise<Load> {
    const sources = ['Load', 'Holder', 'Ledger', 'Watching']
    const name = `takeover-${apache.release}`
    const classes = await compile(name, sources, apache.classPath, import.meta.dirname)
    if (!classes.ok) throw new Error(`javac failed: ${classes.output}`)
    const command = javaCommand([classes.dir, apache.classPath], 'Load')
    const load = new Load(new Program([...command, servers, `${size}`]))
    await load.untilSays('ready')
    return load
  }

  private constructor(program: Program) {
    this.program = program
  }

  count(): Promise<Counts> {
    return this.ask('count')
  }

  /** The clients come to their end and look whether everything is there. */
  stop(): Promise<Counts> {
    return this.ask('stop')
  }

  end(): Promise<void> {
    return this.program.end()
  }

  private async ask(what: string): Promise<Counts> {
    this.program.tell(what)
    const line = await this.untilSays(what)
    const number = (name: string): number => {
      return Number(new RegExp(`\\b${name}=(\\d+)`).exec(line)?.[1])
    }
    return {
      writes: number('writes'),
      unanswered: number('unanswered'),
      watches: number('watches'),
      sessions: number('sessions'),
      reconnects: number('reconnects'),
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
