import {
  createInterface,
  cursorTo,
  clearScreenDown,
  moveCursor,
  type Interface,
} from 'node:readline'
import type { State } from '@zabra/client'
import type { ConnectionSettings } from '../connection/settings.ts'
import type { Io } from '../framework/io.ts'
import type { Output } from '../output/output.ts'
import { completeLine } from './completer.ts'
import { searchHistory } from './history-search.ts'
import { HistoryFile, mayBeKept } from './history-file.ts'
import { hex } from '../node/stat.ts'
import { ShellSession } from './session.ts'

/** The shell on a terminal: a prompt, completion, history, Ctrl-C. */
export async function runTerminal(
  settings: ConnectionSettings,
  io: Io,
  out: Output,
): Promise<number> {
  const terminal = new Terminal(settings, io, out)
  return terminal.run()
}

class Terminal {
  private readonly io: Io
  private readonly out: Output
  private readonly session: ShellSession
  private readonly historyFile: HistoryFile
  private readonly reader: Interface
  /** Lines typed while a command runs. */
  private readonly waiting: string[] = []
  private running: AbortController | undefined
  private answer: ((line: string) => void) | undefined
  private isHandedOver = false
  private finish!: (code: number) => void

  constructor(settings: ConnectionSettings, io: Io, out: Output) {
    this.io = io
    this.out = out
    this.historyFile = new HistoryFile(io.env)
    this.session = new ShellSession(settings, io, out, {
      announce: (text) => this.announce(text),
      announceState: (name) => this.announceState(name),
      confirm: (question) => this.confirm(question),
      handOver: (act) => this.handOver(act),
    })
    this.reader = createInterface({
      input: io.stdin,
      output: io.stdout,
      terminal: true,
      history: this.historyFile.read(),
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        completeLine(this.session, line, io.env).then(
          (result) => done(null, result),
          () => done(null, [[], line]),
        )
      },
    })
  }

  async run(): Promise<number> {
    const { reader, session, out } = this
    out.line('`help` lists the commands, Tab completes them, Ctrl-D leaves.')
    session.onState = () => this.refreshPrompt()
    const over = new Promise<number>((resolve) => (this.finish = resolve))
    searchHistory(reader, () => this.running === undefined && this.answer === undefined)
    reader.on('line', (line) => this.typed(line))
    reader.on('SIGINT', () => this.interrupted())
    reader.on('history', (lines: string[]) => {
      this.historyFile.write(lines)
      const [last] = lines
      if (last !== undefined && !mayBeKept(last)) lines.shift()
    })
    reader.on('close', () => this.finish(session.exitCode))
    await session.open()
    await session.client.connected({ timeoutMs: 300 }).catch(() => {})
    this.prompt()
    const code = await over
    reader.close()
    out.line()
    await session.close({ isEnd: true })
    return code
  }

  private typed(line: string): void {
    if (this.answer !== undefined) {
      this.answer(line)
      return
    }
    this.waiting.push(line)
    if (this.running === undefined) void this.executeWaiting()
  }

  private async executeWaiting(): Promise<void> {
    const { session } = this
    let isFirst = true
    for (let line = this.waiting.shift(); line !== undefined; line = this.waiting.shift()) {
      // Lines that were pasted or typed ahead are far above by now.
      if (!isFirst && line.trim() !== '') this.out.line(this.promptText() + line)
      isFirst = false
      this.running = new AbortController()
      session.signal = this.running.signal
      await session.execute(line)
      if (session.isOver) return this.finish(session.exitCode)
    }
    this.running = undefined
    this.prompt()
  }

  /** Ctrl-C: ends the command that runs, or takes back what is typed. */
  private interrupted(): void {
    const { reader, running } = this
    this.waiting.length = 0
    if (this.answer !== undefined) {
      this.io.stdout.write('\n')
      this.answer('')
    } else if (running !== undefined) {
      this.io.stdout.write('^C\n')
      running.abort()
    } else {
      const wasEmpty = reader.line === ''
      // To the end of the line, so that what is typed stays readable.
      reader.write(null, { ctrl: true, name: 'e' })
      this.io.stdout.write(wasEmpty ? '\n(Ctrl-D or `quit` leaves)\n' : '^C\n')
      Object.assign(reader, { line: '', cursor: 0 })
      this.prompt()
    }
  }

  private prompt(): void {
    this.reader.setPrompt(this.promptText())
    this.reader.prompt(true)
  }

  private promptText(): string {
    const { session, out } = this
    const { style } = out
    const state = session.stateName
    const color =
      state === 'CONNECTED' ? style.green : state === 'CONNECTING' ? style.yellow : style.red
    return `[zabra: ${placeOf(session.settings)}(${color(state)}) ${session.number}] `
  }

  /** The connection came or went while a line is typed. */
  private refreshPrompt(): void {
    if (this.running === undefined && this.answer === undefined && !this.isHandedOver) this.prompt()
  }

  /** Prints above the line that is being typed. */
  private announce(text: string): void {
    if (this.running !== undefined || this.isHandedOver) return this.out.write(text)
    const { stdout } = this.io
    const { rows } = this.reader.getCursorPos()
    cursorTo(stdout, 0)
    moveCursor(stdout, 0, -rows)
    clearScreenDown(stdout)
    stdout.write(text)
    this.prompt()
  }

  /** The prompt shows the state; what a user must know besides is when it changed, and why. */
  private announceState(name: State['name']): void {
    const { session, out } = this
    const { style } = out
    const id = session.clientIfAny?.session?.id
    if (name === 'connected' && id !== undefined)
      this.announce(style.dim(`connected, session ${hex(id)}\n`))
    if (name === 'suspended')
      this.announce(style.yellow('disconnected; trying until the session expires\n'))
    if (name === 'expired')
      this.announce(style.red('the session has expired; `connect` opens another one\n'))
  }

  private confirm(question: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.answer = (line) => {
        this.answer = undefined
        // It is no command.
        this.forgetLastLine(line)
        resolve(/^y(es)?$/i.test(line.trim()))
      }
      this.reader.setPrompt(`${question} [y/N] `)
      this.reader.prompt()
    })
  }

  private forgetLastLine(line: string): void {
    const { history } = this.reader as Interface & { history?: string[] }
    if (history?.[0] === line) history.shift()
  }

  /** Another program has the terminal meanwhile, an editor for example. */
  private async handOver<T>(act: () => Promise<T>): Promise<T> {
    const { reader, io } = this
    const input = io.stdin as typeof io.stdin & { setRawMode?: (isRaw: boolean) => void }
    this.isHandedOver = true
    reader.pause()
    input.setRawMode?.(false)
    try {
      return await act()
    } finally {
      input.setRawMode?.(true)
      reader.resume()
      this.isHandedOver = false
    }
  }
}

/** Where a shell is, in a few words: its context, or its first server and how many more. */
function placeOf({ servers, origin }: ConnectionSettings): string {
  if (origin.startsWith('context ')) return origin.slice('context '.length)
  const slash = servers.indexOf('/')
  const [hosts, chroot] =
    slash < 0 ? [servers, ''] : [servers.slice(0, slash), servers.slice(slash)]
  const [first = '', ...others] = hosts.split(',')
  return `${first}${others.length === 0 ? '' : `,+${others.length}`}${chroot}`
}
