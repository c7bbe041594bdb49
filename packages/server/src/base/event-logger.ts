import type { Logger } from './logger.ts'

/** Values of a log line by name; undefined ones are left out. */
export type LogFields = Readonly<
  Record<string, string | number | bigint | boolean | readonly string[] | undefined>
>

export type LogLevel = keyof Logger

/**
 * The log as the server's own code writes it: a message that never varies, such as
 * `disk: log sync is slow`, and the values that do. Operators search for the message.
 */
export type EventLogger = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>

/** A line that is described in one place and logged in another. */
export interface LogEntry {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

export function info(message: string, fields: LogFields = {}): LogEntry {
  return { level: 'info', message, fields }
}

export function warn(message: string, fields: LogFields = {}): LogEntry {
  return { level: 'warn', message, fields }
}

export function error(message: string, fields: LogFields = {}): LogEntry {
  return { level: 'error', message, fields }
}

export function logEntry(logger: EventLogger, { level, message, fields }: LogEntry): void {
  logger[level](message, fields)
}

/** Writes each event to a logger as one line: `component: message key=value ...`. */
export function eventLogger(logger: Logger): EventLogger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      logger[level](formatLine(message, fields))
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

/** Long enough for any path and reason that helps, and too short to fill the log. */
const valueCharactersMax = 2000

export function formatLine(message: string, fields: LogFields): string {
  let line = message
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue
    line += ` ${key}=${quoteIfNeeded(typeof value === 'object' ? value.join(',') : String(value))}`
  }
  return line
}

/** Clients choose some values: none of these may end the line, or look like another field. */
function quoteIfNeeded(value: string): string {
  const text =
    value.length > valueCharactersMax ? `${value.slice(0, valueCharactersMax)}...` : value
  if (/^[^\s"=\p{C}]+$/u.test(text)) return text
  return JSON.stringify(text).replace(/\p{C}|[\u2028\u2029]/gu, escapeUnits)
}

function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
