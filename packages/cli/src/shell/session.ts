import type { Client, State } from '@zabra/client'
import { clientOptions } from '../connection/connect.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import type { Target } from '../connection/target.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { run } from '../framework/run.ts'
import type { Io } from '../framework/io.ts'
import type { Output } from '../output/output.ts'
import { commands } from '../table/index.ts'
import { servers as serverCommands } from '../table/servers.ts'
import { tokenize } from './tokenize.ts'
import { Watches } from './watches.ts'
import { zkCommands } from './zk/index.ts'
import { zkMessage } from './zk/messages.ts'
import { parseZk, ZkError, ZkUsageError } from './zk/zk-command.ts'

const stateNames: Readonly<Record<State['name'], string>> = {
  connecting: 'CONNECTING',
  connected: 'CONNECTED',
  suspended: 'CONNECTING',
  expired: 'CLOSED',
  closed: 'CLOSED',
}

/** As a shell exits that does not find a command. */
const notFoundCode = 127

/** The parts of the terminal that a session needs. */
export interface Surface {
  /** Prints between commands, above the prompt where there is one. */
  announce(text: string): void
  /** Tells of the connection to people; without it, as zkCli.sh does. */
  announceState?(name: State['name']): void
  confirm(question: string, flag: string): Promise<boolean>
  handOver<T>(act: () => Promise<T>): Promise<T>
}

/** One run of the shell: its client, its watches, its history, and what its commands do. */
export class ShellSession {
  readonly out: Output
  readonly watches: Watches
  /** Lines with their numbers, the last ones. */
  readonly lines: (readonly [number, string])[] = []
  isOver = false
  exitCode = 0
  /** Aborts the command that runs. */
  signal: AbortSignal = new AbortController().signal
  settings: ConnectionSettings
  private readonly io: Io
  private readonly surface: Surface
  private current: Client | undefined
  private count = 0
  onState: () => void = () => {}

  constructor(settings: ConnectionSettings, io: Io, out: Output, surface: Surface) {
    this.settings = settings
    this.io = io
    this.out = out
    this.surface = surface
    this.watches = new Watches(
      () => this.client,
      (text) => surface.announce(text),
    )
  }

  readonly complain = (sentence: string): void => this.out.error(sentence)

  /** Throws where there is no session. */
  get client(): Client {
    if (this.current === undefined) throw new ZkError('Not connected')
    return this.current
  }

  get clientIfAny(): Client | undefined {
    return this.current
  }

  /** As the prompt shows it. */
  get stateName(): string {
    return this.current === undefined ? 'CLOSED' : stateNames[this.current.state.name]
  }

  /** The number of the next command. */
  get number(): number {
    return this.count
  }

  /** Begins to connect; commands wait for that. */
  async open(): Promise<void> {
    const { Client } = await import('@zabra/client')
    const client = new Client(await clientOptions(this.settings, false))
    this.current = client
    client.onState((state, before) => {
      if (this.current === client) this.stateChanged(state, before)
    })
    client.onAuthRefused(({ scheme }) => {
      this.watches.tellState('AuthFailed')
      this.complain(`the server refused the identity of scheme ${scheme}`)
    })
  }

  /** Without a word about it where the shell just ends, as zkCli.sh does. */
  async close({ isEnd = false } = {}): Promise<void> {
    const client = this.current
    if (client === undefined) return
    this.current = undefined
    this.watches.forget()
    const wasConnected = client.state.name === 'connected'
    await client.close()
    if (wasConnected && !isEnd) this.watches.tellState('Closed')
    this.onState()
  }

  async reconnect(target: Target | undefined): Promise<void> {
    await this.close()
    if (target !== undefined) {
      const { servers, auth, tls = this.settings.tls } = target
      this.settings = {
        ...this.settings,
        servers,
        tls,
        auth: [...this.settings.auth, ...auth],
        origin: 'connect',
      }
    }
    await this.open()
    await this.client.connected({ signal: this.signal, timeoutMs: this.settings.timeoutMs })
  }

  /** Carries a line out; never rejects. The result is its exit code. */
  async execute(line: string, words = tokenize(line)): Promise<number> {
    if (words.length === 0) return this.exitCode
    this.lines.push([this.count++, line.trim()])
    if (this.lines.length > 1000) this.lines.shift()
    this.exitCode = await this.again(line, words)
    return this.exitCode
  }

  /** The same without a number of its own: for `redo`. */
  async again(line: string, words = tokenize(line)): Promise<number> {
    const [name = '', ...rest] = words
    try {
      if (name === 'help') return await this.help(rest)
      const isOwn = Object.hasOwn(commands, name)
      // Both have `get`; zkCli.sh has no long options.
      const isZk = Object.hasOwn(zkCommands, name) && !(isOwn && rest.some(isLongOption))
      if (isZk) return await this.executeZk(name, rest)
      if (isOwn) return await this.executeOwn(words)
      this.complain(`Command not found: ${name}`)
      const { nearest } = await import('../framework/nearest.ts')
      const near = nearest(name, [...Object.keys(zkCommands), ...Object.keys(commands)])
      this.complain(near === undefined ? '  `help` lists the commands' : `  did you mean ${near}?`)
      return notFoundCode
    } catch (error) {
      this.complain(this.signal.aborted ? 'interrupted' : zkMessage(error))
      return this.signal.aborted ? exitCodes.interrupted : 1
    }
  }

  private async executeZk(name: string, words: readonly string[]): Promise<number> {
    const command = zkCommands[name]!
    const usage = (): string =>
      [`${name} ${command.usage}`, ...(command.explained ?? [])].join('\n')
    const { flags, args } = parseZk(command, words, usage)
    if (command.isLocal !== true && this.current === undefined) {
      this.out.line('Not connected')
      return 1
    }
    const work = command.run({ session: this, flags, args })
    return (await this.unlessAborted(work)) ?? 0
  }

  /** Ctrl-C gets the prompt back also where an answer does not come. */
  private async unlessAborted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    let onAbort!: () => void
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason as Error)
      signal.addEventListener('abort', onAbort, { once: true })
    })
    try {
      return await Promise.race([work, aborted])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  private executeOwn(words: readonly string[]): Promise<number> {
    const { io, signal, settings, surface } = this
    const { current: client } = this
    if (Object.hasOwn(serverCommands, words[0] ?? ''))
      throw new ZkUsageError(`\`${words[0]}\` does not run inside a shell`)
    return run(commands, words, {
      io,
      signal,
      settings,
      ...(client === undefined ? {} : { client }),
      confirm: (question, flag) => surface.confirm(question, flag),
      handOver: (act) => surface.handOver(act),
    })
  }

  private async help(words: readonly string[]): Promise<number> {
    const { shellHelp } = await import('./help.ts')
    const [name = ''] = words
    if (name !== '' && !Object.hasOwn(zkCommands, name)) return this.executeOwn(['help', ...words])
    this.out.write(shellHelp(name, this.out.style))
    return 0
  }

  private stateChanged({ name }: State, before: State): void {
    if (this.surface.announceState !== undefined && this.watches.isPrinting) {
      if (name !== before.name) this.surface.announceState(name)
      this.onState()
      return
    }
    if (name === 'connected') this.watches.tellState('SyncConnected')
    if (name === 'suspended') this.watches.tellState('Disconnected')
    if (name === 'expired' && before.name !== 'expired') this.watches.tellState('Expired')
    this.onState()
  }
}

function isLongOption(word: string): boolean {
  return /^--[a-z]/.test(word)
}
