import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { runTool, say } from '../src/tools.ts'
import { Daemon, type DaemonOptions } from './daemon.ts'
import type { AppEnsemble } from './ensemble.ts'

/**
 * The surroundings of an application: the ensemble, a folder, and cleanup at the end of the run.
 */
export class Stage {
  readonly ensemble: AppEnsemble
  readonly dir: string
  /** The number of steps. */
  steps = 0
  private readonly name: string
  private readonly daemons: Daemon[] = []
  private readonly endings: (() => void | Promise<void>)[] = []

  constructor(name: string, ensemble: AppEnsemble) {
    this.name = name
    this.ensemble = ensemble
    this.dir = mkdtempSync(join(tmpdir(), `zabra-app-${name}-`))
  }

  /** Runs a step; an error names it. */
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

  /** Starts a process, which ends with the run at the latest. */
  daemon(name: string, command: readonly string[], options: DaemonOptions = {}): Daemon {
    const daemon = new Daemon(name, command, this.dir, options)
    this.daemons.push(daemon)
    daemon.start()
    return daemon
  }

  /** Runs a tool of the application, which must succeed; returns its output. */
  async tool(command: readonly string[], timeoutMs = 90_000): Promise<string> {
    const [program = '', ...args] = command
    const { ok, output } = await runTool(program, args, { timeoutMs, cwd: this.dir })
    if (!ok) {
      // A class path is of no use to the reader.
      const shown = args.filter((arg) => arg.length < 200).slice(-6)
      const said = output.split('\n').slice(-15)
      throw new Error([shown.join(' '), ...said].join('\n'))
    }
    return output
  }

  /** Runs at the end of the run, in reverse order. */
  atEnd(ending: () => void | Promise<void>): void {
    this.endings.push(ending)
  }

  /** Reads the tree on a server that is up. */
  async look<T>(look: (client: RawClient) => Promise<T>): Promise<T> {
    const client = await RawClient.connect(this.ensemble.anyPort)
    try {
      return await look(client)
    } finally {
      await client.close()
    }
  }

  /** The last output of the processes, for errors. */
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
