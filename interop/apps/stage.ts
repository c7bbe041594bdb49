import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { runTool, say } from '../src/tools.ts'
import { Daemon, type DaemonOptions } from './daemon.ts'
import type { AppEnsemble } from './ensemble.ts'

/** Where an application is run: the ensemble, a folder, and what ends with the run. */
export class Stage {
  readonly ensemble: AppEnsemble
  readonly dir: string
  /** How many steps were taken. */
  steps = 0
  private readonly name: string
  private readonly daemons: Daemon[] = []
  private readonly endings: (() => void | Promise<void>)[] = []

  constructor(name: string, ensemble: AppEnsemble) {
    this.name = name
    this.ensemble = ensemble
    this.dir = mkdtempSync(join(tmpdir(), `zabra-app-${name}-`))
  }

  /** Something that must go well, and is named when it does not. */
  async step<T>(what: string, action: () => Promise<T>): Promise<T> {
    const startedMs = performance.now()
    try {
      const result = await action()
      this.steps++
      say(`${this.name}: ${what} (${Math.round(performance.now() - startedMs)} ms)`)
      return result
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new Error(`${what}: ${why}`, { cause: error })
    }
  }

  /** A process that is started, and ended with the run at the latest. */
  daemon(name: string, command: readonly string[], options: DaemonOptions = {}): Daemon {
    const daemon = new Daemon(name, command, this.dir, options)
    this.daemons.push(daemon)
    daemon.start()
    return daemon
  }

  /** A tool of the application that must succeed; its output. */
  async tool(command: readonly string[], timeoutMs = 90_000): Promise<string> {
    const [program = '', ...args] = command
    const { ok, output } = await runTool(program, args, { timeoutMs, cwd: this.dir })
    if (!ok) {
      // A class path says nothing to whoever reads this.
      const shown = args.filter((arg) => arg.length < 200).slice(-6)
      const said = output.split('\n').slice(-15)
      throw new Error([shown.join(' '), ...said].join('\n'))
    }
    return output
  }

  /** Done when the run is over, the last first. */
  atEnd(ending: () => void | Promise<void>): void {
    this.endings.push(ending)
  }

  /** A look into the tree, on a server that is up. */
  async look<T>(look: (client: RawClient) => Promise<T>): Promise<T> {
    const client = await RawClient.connect(this.ensemble.anyPort)
    try {
      return await look(client)
    } finally {
      await client.close()
    }
  }

  /** What the processes said last, where something went wrong. */
  tails(): string {
    return this.daemons.map((daemon) => daemon.logTail()).join('\n')
  }

  async dispose(keepFiles: boolean): Promise<void> {
    for (const ending of this.endings.toReversed()) await ending()
    await Promise.all(this.daemons.map((daemon) => daemon.stop('SIGKILL')))
    if (!keepFiles)
      rmSync(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
}
