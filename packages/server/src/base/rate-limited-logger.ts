import type { Logger } from './logger.ts'

export interface RateOptions {
  /** Lines of one kind that are written in one interval. */
  readonly linesMax: number
  readonly intervalMs: number
  /** Kinds that are told apart at a time. */
  readonly kindsMax: number
  /** Calls back once, after so long, without keeping the process alive. */
  readonly later: (done: () => void, ms: number) => void
}

const defaults: RateOptions = {
  linesMax: 10,
  intervalMs: 10_000,
  kindsMax: 500,
  later: (done, ms) => setTimeout(done, ms).unref(),
}

interface Kind {
  lines: number
  suppressed: number
}

/**
 * Writes a few lines of each kind in each interval, and then how many more there were. Clients
 * cause most lines, and can cause any number of them. Lines are of one kind when they differ only
 * in numbers, addresses, paths and quoted text.
 */
export function limitRate(logger: Logger, options: Partial<RateOptions> = {}): Logger {
  const { linesMax, intervalMs, kindsMax, later } = { ...defaults, ...options }
  const kinds = new Map<string, Kind>()
  /** The very same line often comes again at once. */
  let last = { message: '', level: '', kind: '' }
  const nameOf = (level: keyof Logger, message: string): string => {
    if (last.message !== message || last.level !== level) {
      last = { message, level, kind: kinds.size < kindsMax ? kindOf(message) : '' }
    }
    return `${level} ${last.kind}`
  }
  const limited = (level: keyof Logger) => (message: string) => {
    const name = nameOf(level, message)
    let kind = kinds.get(name)
    if (kind === undefined) {
      kind = { lines: 0, suppressed: 0 }
      const counted = kind
      kinds.set(name, counted)
      later(() => {
        kinds.delete(name)
        if (counted.suppressed === 0) return
        logger[level](`${counted.suppressed} more lines like this were not written: ${message}`)
      }, intervalMs)
    }
    if (kind.lines < linesMax) {
      kind.lines++
      logger[level](message)
    } else {
      kind.suppressed++
    }
  }
  return { info: limited('info'), warn: limited('warn'), error: limited('error') }
}

function kindOf(message: string): string {
  return message.replace(/"(?:[^"\\]|\\.)*"|\S*[\d/]\S*/g, '#')
}
