import type { LogLevel } from './event-logger.ts'
import type { Logger } from './logger.ts'

export interface LogLine {
  /** Numbered from 1 since the start of the server, without gaps. */
  readonly number: number
  readonly timeMs: number
  readonly level: LogLevel
  readonly message: string
}

const linesMax = 2000
const charactersMax = 1024 * 1024

/** The last lines of the log, in memory, for those who cannot get at the file. */
export class LogRing {
  private readonly kept: LogLine[] = []
  private readonly listeners = new Set<(line: LogLine) => void>()
  private characters = 0
  private last = 0

  /** Oldest first. */
  get lines(): readonly LogLine[] {
    return this.kept
  }

  /** Keeps the lines that it passes on. */
  around(logger: Logger): Logger {
    const at =
      (level: LogLevel) =>
      (message: string): void => {
        logger[level](message)
        this.add(level, message)
      }
    return { info: at('info'), warn: at('warn'), error: at('error') }
  }

  /** Calls back on each line, until the returned function is called. */
  onLine(listener: (line: LogLine) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  private add(level: LogLevel, message: string): void {
    const line = { number: ++this.last, timeMs: Date.now(), level, message }
    this.kept.push(line)
    this.characters += message.length
    while (this.kept.length > linesMax || (this.characters > charactersMax && this.kept.length > 1))
      this.characters -= this.kept.shift()!.message.length
    for (const listener of this.listeners) listener(line)
  }
}
