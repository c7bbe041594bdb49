import type { EventLogger, LogFields, LogLevel } from './event-logger.ts'

export interface RateOptions {
  /** Limit of lines with the same message in one interval. */
  readonly linesMax: number
  readonly intervalMs: number
  /** Calls back once after the given time, without keeping the process alive. */
  readonly later: (done: () => void, ms: number) => void
}

const defaults: RateOptions = {
  linesMax: 10,
  intervalMs: 10_000,
  later: (done, ms) => setTimeout(done, ms).unref(),
}

interface Counts {
  lines: number
  suppressed: number
}

/**
 * Writes a few lines of each message in each interval, then the number of suppressed ones. Clients
 * cause most lines, and can cause any number of them.
 */
export function limitRate(logger: EventLogger, options: Partial<RateOptions> = {}): EventLogger {
  const { linesMax, intervalMs, later } = { ...defaults, ...options }
  const messages = new Map<string, Counts>()
  const limited = (level: LogLevel) => (message: string, fields?: LogFields) => {
    const key = `${level} ${message}`
    let counts = messages.get(key)
    if (counts === undefined) {
      const started: Counts = { lines: 0, suppressed: 0 }
      counts = started
      messages.set(key, counts)
      later(() => {
        messages.delete(key)
        const { suppressed } = started
        if (suppressed > 0) logger[level]('log: suppressed similar lines', { suppressed, message })
      }, intervalMs)
    }
    if (counts.lines < linesMax) {
      counts.lines++
      logger[level](message, fields)
    } else {
      counts.suppressed++
    }
  }
  return { info: limited('info'), warn: limited('warn'), error: limited('error') }
}
