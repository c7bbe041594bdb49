import { compile, javaCommand } from '../clients/java/prepare.ts'
import { Program } from '../clients/program.ts'
import type { Apache } from './apache.ts'

const answerMsMax = 120_000

/** Apache's Java clients at work, in a separate process that answers in lines of name=number. */
export class JavaLoad {
  /** The problems that they report. */
  readonly problems: string[] = []
  private readonly program: Program

  /** `sources` are Java files of a folder; the first one is run, with the servers and a number. */
  static async start(
    apache: Apache,
    load: { readonly name: string; readonly folder: string; readonly sources: readonly string[] },
    servers: string,
    size: number,
  ): Promise<JavaLoad> {
    const name = `${load.name}-${apache.release}`
    const classes = await compile(name, [...load.sources], apache.classPath, load.folder)
    if (!classes.ok) throw new Error(`javac failed: ${classes.output}`)
    const command = javaCommand([classes.dir, apache.classPath], load.sources[0]!)
    const started = new JavaLoad(new Program([...command, servers, `${size}`]))
    await started.untilSays('ready')
    return started
  }

  private constructor(program: Program) {
    this.program = program
  }

  /** The numbers of the answer, by name. */
  async ask(what: string): Promise<(name: string) => number> {
    this.program.tell(what)
    const line = await this.untilSays(what)
    return (name) => Number(new RegExp(`\\b${name}=(\\d+)`).exec(line)?.[1])
  }

  end(): Promise<void> {
    return this.program.end()
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
