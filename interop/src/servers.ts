/**
 * A server as a child process on a loopback port, with its own folder. `ensemble.ts` combines
 * servers into ensembles, `commands.ts` says how each kind of server is run.
 *
 *     const server = new ManagedServer(zabraCommand(), { cfg: 'tickTime=1000' })
 *     await server.start()
 *     ... server.port ...
 *     await server.restart(true)
 *     await server.dispose()
 */
import { spawn, type ChildProcess } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import type { ServerCommand } from './commands.ts'
import { askFourLetters } from './four-letters.ts'

export interface ServerOptions {
  /**
   * Lines of zoo.cfg; `dataDir`, `clientPort` and a disabled admin port are added unless present.
   */
  readonly cfg?: string
  /** Java system properties, such as `znode.container.checkIntervalMs=60000`. */
  readonly properties?: readonly string[]
  /** The number of this server in an ensemble. */
  readonly myid?: number
  /** The client port; a free one by default. */
  readonly port?: number
  /** The folder of `zoo.cfg`, `data` and `server.log`; a temporary folder by default. */
  readonly dir?: string
  readonly startTimeoutMs?: number
  /** How long the server may take to stop before it is killed. */
  readonly stopTimeoutMs?: number
  /** Keeps the server's changes to its zoo.cfg for the next start. */
  readonly keepsCfg?: boolean
}

export const loopback = '127.0.0.1'

export class ManagedServer {
  readonly host = loopback
  #command: ServerCommand
  #options: ServerOptions
  #dir: string | undefined
  #port: number | undefined
  #child: ChildProcess | undefined

  constructor(command: ServerCommand, options: ServerOptions = {}) {
    this.#command = command
    this.#options = options
    this.#port = options.port
  }

  get name(): string {
    return this.#command.name
  }

  /** Known after the first start. */
  get port(): number {
    if (this.#port === undefined) throw new Error(`${this.name} has not been started yet`)
    return this.#port
  }

  /**
   * Contains `zoo.cfg`, `data` and `server.log`; created by the first start, deleted by `dispose`.
   */
  get dir(): string {
    if (this.#dir === undefined) throw new Error(`${this.name} has no folder: it is not started`)
    return this.#dir
  }

  get running(): boolean {
    return (
      this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
    )
  }

  /** Runs the server on its data folder and waits until `srvr` answers with its mode. */
  async start(): Promise<void> {
    await this.launch()
    await this.untilServing()
  }

  /** Creates the folder and writes `zoo.cfg`; returns its path. */
  async prepare(): Promise<string> {
    this.#port ??= (await freePorts(1))[0]
    this.#dir ??= this.#options.dir ?? mkdtempSync(join(tmpdir(), `zabra-interop-${this.name}-`))
    return this.#writeConfiguration()
  }

  /** The first half of `start`: members of an ensemble serve only after several are launched. */
  async launch(): Promise<void> {
    if (this.running) throw new Error(`${this.name} is running already`)
    const cfgFile = await this.prepare()
    const properties = this.#options.properties ?? []
    const [program, ...args] = [...this.#command.command(properties), cfgFile]
    if (program === undefined) throw new Error(`${this.name} has no command`)
    const inherited = process.env['SERVER_JVMFLAGS'] ?? ''
    const flags = [inherited, ...properties.map((property) => `-D${property}`)].join(' ').trim()
    const log = openSync(this.#logFile, 'a')
    // A separate process group, so that children of a wrapper end with it.
    const child = spawn(program, args, {
      stdio: ['ignore', log, log],
      env: { ...process.env, SERVER_JVMFLAGS: flags },
      cwd: this.dir,
      detached: true,
    })
    closeSync(log)
    const { dir } = this
    child.on('error', (error) => {
      writeFileSync(join(dir, 'server.log'), `${error.message}\n`, { flag: 'a' })
    })
    this.#child = child
    endWithUs(child)
  }

  /** The second half of `start`. */
  async untilServing(): Promise<void> {
    const timeoutMs = this.#options.startTimeoutMs ?? 60_000
    const deadline = Date.now() + timeoutMs
    while (Date.now() < deadline) {
      const mode = await this.mode()
      // If our child has ended, the answer came from another process on this port.
      if (!this.running) throw new Error(`${this.name} ended while starting\n${this.logTail()}`)
      if (mode !== undefined) return
      await delay(50)
    }
    throw new Error(`${this.name} did not serve within ${timeoutMs} ms\n${this.logTail()}`)
  }

  /** Answer to a four-letter word; empty if there is none. */
  ask(word: string): Promise<string> {
    return askFourLetters(this.host, this.port, word)
  }

  /** `leader`, `follower`, `observer`, `standalone` or `read-only`; undefined while it does not serve. */
  async mode(): Promise<string | undefined> {
    return /^Mode: (\S+)/m.exec(await this.ask('srvr'))?.[1]
  }

  /** The last transaction that it has applied, as `srvr` shows it. */
  async zxid(): Promise<string | undefined> {
    return /^Zxid: (\w+)/m.exec(await this.ask('srvr'))?.[1]
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined
  }

  /** Resolves when the current process has ended. */
  async ended(): Promise<void> {
    const child = this.#child
    if (child !== undefined && this.running)
      await new Promise<void>((resolve) => child.once('exit', () => resolve()))
  }

  /** Sends the signal and waits for the end; kills a server that ignores it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.running) return
    const ended = this.ended()
    signalGroup(child, signal)
    const { stopTimeoutMs = 10_000 } = this.#options
    const impatience = setTimeout(() => signalGroup(child, 'SIGKILL'), stopTimeoutMs)
    await ended
    clearTimeout(impatience)
    // Members of the group that outlived the child.
    signalGroup(child, 'SIGKILL')
  }

  /** Stops it by SIGKILL (hard) or SIGTERM, and starts it again with the same data and port. */
  async restart(hard: boolean): Promise<void> {
    await this.stop(hard ? 'SIGKILL' : 'SIGTERM')
    await this.start()
  }

  /** Kills the server and deletes its folder. It may be started again, without data. */
  async dispose(): Promise<void> {
    await this.stop('SIGKILL')
    if (this.#dir !== undefined) rmSync(this.#dir, { recursive: true, force: true })
    this.#dir = undefined
  }

  /** Changes the command or zoo.cfg for the next start, on the same folder and port. */
  become(change: { readonly command?: ServerCommand; readonly cfg?: string }): void {
    if (this.running) throw new Error(`${this.name} runs: stop it first`)
    const { command = this.#command, cfg } = change
    this.#command = command
    if (cfg !== undefined) this.#options = { ...this.#options, cfg }
  }

  /**
   * Resolves when the process is stopped (SIGSTOP); its connections stay open. On a busy machine
   * its threads may run on for a while after the signal.
   */
  async freeze(): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.running) return
    signalGroup(child, 'SIGSTOP')
    while (this.running && !isStopped(child.pid)) await delay(5)
  }

  /** Lets a stopped process continue (SIGCONT). */
  thaw(): void {
    if (this.running && this.#child !== undefined) signalGroup(this.#child, 'SIGCONT')
  }

  /** All output of the server, in all its runs. */
  get log(): string {
    return readFileSync(this.#logFile, 'utf8')
  }

  /** The last lines of its output, for reports. */
  logTail(lineCount = 40): string {
    if (this.#dir === undefined) return `--- ${this.name}: not started, or disposed`
    const lines = readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lineCount)
    return [`--- ${this.name}: ${this.#logFile}`, ...lines, '---'].join('\n')
  }

  get #logFile(): string {
    return join(this.dir, 'server.log')
  }

  #writeConfiguration(): string {
    const dataDir = join(this.dir, 'data')
    mkdirSync(dataDir, { recursive: true })
    if (this.#options.myid !== undefined) {
      writeFileSync(join(dataDir, 'myid'), `${this.#options.myid}\n`)
    }
    const lines = (this.#options.cfg ?? '').split('\n')
    const has = (start: string) => lines.some((line) => line.trim().startsWith(start))
    if (!has('dataDir=')) lines.push(`dataDir=${dataDir}`)
    if (!has('clientPort=')) lines.push(`clientPort=${this.port}`)
    if (!has('clientPortAddress=')) lines.push(`clientPortAddress=${this.host}`)
    if (!has('admin.')) lines.push('admin.enableServer=false')
    const file = join(this.dir, 'zoo.cfg')
    if (this.#options.keepsCfg === true && existsSync(file)) return file
    writeFileSync(file, `${lines.filter((line) => line.trim() !== '').join('\n')}\n`)
    return file
  }
}

const children = new Set<ChildProcess>()
let watchingOurEnd = false

/** Ends the child when this process ends in any way except SIGKILL. */
function endWithUs(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
  if (watchingOurEnd) return
  watchingOurEnd = true
  process.on('exit', killChildren)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      killChildren()
      process.exit(130)
    })
  }
}

function killChildren(): void {
  for (const child of children) signalGroup(child, 'SIGKILL')
}

/** Whether every thread of a process is stopped; true if the system does not tell. */
function isStopped(pid: number | undefined): boolean {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`)
    return tasks.every((task) => {
      const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8')
      return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T')
    })
  } catch {
    return true
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has ended.
  }
}
