import { once } from 'node:events'
import type { Io } from '../framework/io.ts'
import { Progress } from './progress.ts'
import { chooseStyle, type Style } from './style.ts'
import { formatTable, type Cell, type TableOptions } from './table.ts'

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: string | undefined
}

/**
 * The output of a command. Results go to stdout; notes, warnings and progress to stderr, so that a
 * pipe gets results only.
 */
export class Output {
  /** The result is wanted as JSON: call `data`, and nothing else that goes to stdout. */
  readonly json: boolean
  readonly quiet: boolean
  /** Of stdout. */
  readonly isTerminal: boolean
  readonly style: Style
  readonly errorStyle: Style
  private readonly io: Io
  private progresses = new Set<Progress>()

  constructor(io: Io, { json, quiet, color }: OutputOptions) {
    this.io = io
    this.json = json
    this.quiet = quiet
    this.isTerminal = io.stdout.isTTY === true
    this.style = chooseStyle(this.isTerminal, color, io.env)
    this.errorStyle = chooseStyle(io.stderr.isTTY === true, color, io.env)
  }

  /** Of the terminal, or what lines are broken at elsewhere. */
  get columns(): number {
    return this.io.stdout.columns ?? 80
  }

  get rows(): number {
    return this.io.stdout.rows ?? 24
  }

  write(text: string | Uint8Array): void {
    this.hideProgress()
    this.io.stdout.write(text)
  }

  /** Waits until a slow reader of stdout has caught up; for output of any length. */
  async drained(): Promise<void> {
    const { stdout } = this.io
    if (stdout.writableNeedDrain) await once(stdout, 'drain')
  }

  line(text = ''): void {
    this.write(`${text}\n`)
  }

  /** Columns with a head; the head is bold on a terminal. */
  table(
    head: readonly string[],
    rows: readonly (readonly Cell[])[],
    options: TableOptions = {},
  ): void {
    this.write(formatTable(head, rows, this.style, options))
  }

  /** One JSON document; on a terminal indented and in color. 64-bit numbers must be text by now. */
  async data(value: unknown): Promise<void> {
    if (!this.isTerminal) return this.write(`${JSON.stringify(value)}\n`)
    const { coloredJson } = await import('./colored-json.ts')
    this.write(`${coloredJson(value, this.style)}\n`)
  }

  /** One JSON document on one line, for commands that print one after another. */
  dataLine(value: unknown): void {
    this.write(`${JSON.stringify(value)}\n`)
  }

  /** A remark on stderr, which --quiet switches off. */
  note(text: string): void {
    if (!this.quiet) this.error(text)
  }

  /** A line on stderr. */
  error(text: string): void {
    this.hideProgress()
    this.io.stderr.write(`${text}\n`)
  }

  warn(text: string): void {
    this.error(`${this.errorStyle.yellow('warning:')} ${text}`)
  }

  /** Shows itself when it takes more than a second; call `end`. */
  progress(what: string, total?: number): Progress {
    const progress = new Progress(what, total, this.quiet ? undefined : this.io.stderr, () =>
      this.progresses.delete(progress),
    )
    this.progresses.add(progress)
    return progress
  }

  endProgress(): void {
    for (const progress of this.progresses) progress.end()
  }

  private hideProgress(): void {
    for (const progress of this.progresses) progress.hide()
  }
}
