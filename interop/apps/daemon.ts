import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../src/until.ts'

export interface DaemonOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}

const running = new Set<Daemon>()
process.on('exit', () => {
  for (const daemon of running) daemon.signal('SIGKILL')
})

/** A process of an application in its own process group; its output goes to a file. */
export class Daemon {
  readonly name: string
  private readonly command: readonly string[]
  private readonly logFile: string
  private readonly options: DaemonOptions
  private child: ChildProcess | undefined

  constructor(
    name: string,
    command: readonly string[],
    folder: string,
    options: DaemonOptions = {},
  ) {
    this.name = name
    this.command = command
    this.logFile = join(folder, `${name}.log`)
    this.options = options
  }

  get isRunning(): boolean {
    const { child } = this
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null
  }

  start(): void {
    if (this.isRunning) throw new Error(`${this.name} is running already`)
    const [program = '', ...args] = this.command
    const log = openSync(this.logFile, 'a')
    const child = spawn(program, args, {
      ...this.options,
      stdio: ['ignore', log, log],
      detached: true,
    })
    closeSync(log)
    child.on('error', () => running.delete(this))
    child.once('exit', () => running.delete(this))
    this.child = child
    running.add(this)
  }

  /** Sends a signal to the whole group. */
  signal(signal: NodeJS.Signals): void {
    const pid = this.child?.pid
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // The group has ended.
    }
  }

  /**
   * Sends the signal and waits for the end; kills the process if it ignores the signal for 20 s.
   */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const { child } = this
    if (child === undefined || !this.isRunning) return
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    this.signal(signal)
    const impatience = setTimeout(() => this.signal('SIGKILL'), 20_000)
    await ended
    clearTimeout(impatience)
    this.signal('SIGKILL')
  }

  get log(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8') : ''
  }

  /** Waits for a text in its log, after a given position. */
  async untilSays(pattern: RegExp, timeoutMs: number, since = 0): Promise<void> {
    await until(`${this.name} has not said ${pattern}`, timeoutMs, () => {
      if (!this.isRunning) throw new Error(`${this.name} has ended\n${this.logTail()}`)
      return pattern.test(this.log.slice(since))
    })
  }

  logTail(lineCount = 15): string {
    const lines = this.log.trimEnd().split('\n').slice(-lineCount)
    return [`--- ${this.name} said last`, ...lines, '---'].join('\n')
  }
}
