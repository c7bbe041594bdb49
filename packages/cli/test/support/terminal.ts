import { execFileSync, spawnSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

let count = 0

/** Whether there is a terminal multiplexer on this machine. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0

/** Readline takes keys that come together for a paste, in which Tab is a character. */
const keyPauseMs = 60
const patienceMs = 20_000

/** A terminal with a program in it; `await using` ends both. */
export class Terminal implements AsyncDisposable {
  private readonly socket = `zabra-test-${process.pid}-${++count}`

  constructor(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    { columns = 100, rows = 40 }: { readonly columns?: number; readonly rows?: number } = {},
  ) {
    const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const size = ['-x', String(columns), '-y', String(rows)]
    this.tmux('-f', '/dev/null', 'new-session', '-d', ...size, ...variables, '--', ...command)
    this.tmux('set-option', '-g', 'remain-on-exit', 'on')
  }

  /** Types keys one after another: `Tab`, `Enter`, `C-c`, or text. */
  async type(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.tmux(
        'send-keys',
        ...(/^(Tab|Enter|Up|Down|BSpace|C-.)$/.test(key) ? [key] : ['-l', '--', key]),
      )
      await delay(keyPauseMs)
    }
  }

  /** The text on the screen; lines that wrap at its edge are joined. */
  get screen(): string {
    return this.tmux('capture-pane', '-p', '-J')
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .trimEnd()
  }

  get isOver(): boolean {
    return this.tmux('display-message', '-p', '#{pane_dead}').trim() === '1'
  }

  /** Waits until the screen shows it. */
  async shows(wanted: RegExp): Promise<string> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      const { screen } = this
      if (wanted.test(screen)) return screen
      if (Date.now() > deadline) throw new Error(`no ${wanted} on the screen:\n${screen}`)
      await delay(50)
    }
  }

  async ends(): Promise<void> {
    const deadline = Date.now() + patienceMs
    while (!this.isOver) {
      if (Date.now() > deadline) throw new Error(`it does not end:\n${this.screen}`)
      await delay(50)
    }
  }

  resize(columns: number, rows: number): void {
    this.tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.tmux('kill-server')
  }

  private tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.socket, ...args], { encoding: 'utf8' })
  }
}
