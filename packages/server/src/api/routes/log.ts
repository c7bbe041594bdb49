import type { LogLevel } from '../../base/event-logger.ts'
import type { LogLine } from '../../base/log-ring.ts'
import type { Parameter, Route } from '../route.ts'
import { array, choice, integer, object, text } from '../schema.ts'

export const levels = ['info', 'warn', 'error'] as const satisfies readonly LogLevel[]
const linesMax = 2000

export const levelParameter: Parameter = {
  kind: 'choice',
  words: levels,
  description: 'Lines of this level and of worse ones',
}

export const log: readonly Route[] = [
  {
    method: 'GET',
    path: '/log',
    summary: 'The last lines of the log of this server, the oldest first',
    role: 'private',
    isAlwaysAnswered: true,
    parameters: {
      level: levelParameter,
      text: { kind: 'text', description: 'Lines that contain this' },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: linesMax },
    },
    answer: object({
      lines: array(
        object({ number: integer, time: text, level: choice(...levels), message: text }),
      ),
    }),
    handle({ view, query }) {
      const isWanted = logFilter(query.text('level'))
      const wanted = query.text('text') ?? ''
      const lines = view.log.lines.filter((line) => isWanted(line) && line.message.includes(wanted))
      return Promise.resolve({ lines: lines.slice(-(query.integer('limit') ?? 500)).map(logJson) })
    },
  },
]

/** Whether a line is of this level or a worse one. */
export function logFilter(level: string | undefined): (line: LogLine) => boolean {
  const least = levels.findIndex((each) => each === level)
  return (line) => levels.indexOf(line.level) >= least
}

export function logJson({ number, timeMs, level, message }: LogLine): object {
  return { number, time: new Date(timeMs).toISOString(), level, message }
}
