import type { Point } from '@zabra/core'
import { badRequest } from '../api-error.ts'
import { pointFrom } from '../history/points.ts'
import type { Call, Route } from '../route.ts'
import { array, integer, object, text } from '../schema.ts'
import { isoTime } from '../shapes.ts'

const binsMax = 1000
const binsDefault = 100

/** How much happened when, without names: what the numbers of the server reveal, too. */
export const historyDensity: readonly Route[] = [
  {
    method: 'GET',
    path: '/history/density',
    summary:
      'How many transactions were logged in each part of a time; those of sessions and refusals count, too',
    role: 'metadata',
    parameters: {
      from: { kind: 'text', description: 'A time (ISO 8601)', isRequired: true },
      to: { kind: 'text', description: 'A time, which is included', isRequired: true },
      bins: { kind: 'integer', description: 'How many parts', minimum: 1, maximum: binsMax },
    },
    answer: object({
      from: text,
      to: text,
      total: integer,
      counts: { ...array(integer, binsMax), description: 'The oldest part first' },
    }),
    errors: [410, 501],
    handle: density,
  },
]

function density({ desk, signal, query }: Call): Promise<unknown> {
  const [fromMs, toMs] = (['from', 'to'] as const).map((name) =>
    timeOf(name, pointFrom(name, query.text(name) ?? '')),
  ) as [number, number]
  if (fromMs > toMs) throw badRequest('from is later than to')
  return desk.ask(signal, async (past) => {
    const counts = await past.density({ fromMs, toMs, count: query.integer('bins') ?? binsDefault })
    return {
      from: isoTime(BigInt(fromMs)),
      to: isoTime(BigInt(toMs)),
      total: counts.reduce((sum, each) => sum + each, 0),
      counts,
    }
  })
}

function timeOf(name: string, point: Point): number {
  if ('timeMs' in point) return point.timeMs
  throw badRequest(`${name}: expected a time such as 2026-01-31T08:00Z`)
}
