import { hex } from '@zabra/core'
import { operationName } from '@zabra/protocol'
import type { Call, Route } from '../route.ts'
import { array, integer, nullable, number, object, text } from '../schema.ts'
import { isoTime } from '../shapes.ts'
import type { Outstanding } from '../survey.ts'
import { VisiblePaths } from '../visible-paths.ts'

const pageMax = 200

const rates = { readsPerSecond: number, writesPerSecond: number }
const outstanding = array(object({ path: text, value: integer }), pageMax)

export const load: readonly Route[] = [
  {
    method: 'GET',
    path: '/load',
    summary:
      'What the requests of the last minute or two were about and who sent them, estimated from a sample, and the slowest',
    role: 'private',
    parameters: {
      limit: { kind: 'integer', description: 'How many of each', minimum: 1, maximum: pageMax },
    },
    answer: object({
      coveredMs: integer,
      paths: array(object({ path: text, ...rates }), pageMax),
      clients: array(
        object({
          session: text,
          address: text,
          ...rates,
          connection: nullable(
            object({
              since: text,
              requests: integer,
              outstanding: integer,
              watches: integer,
              meanLatencyMs: number,
              maxLatencyMs: number,
            }),
          ),
        }),
        pageMax,
      ),
      slow: array(
        object({
          time: text,
          tookMs: number,
          operation: nullable(text),
          path: nullable(text),
          address: text,
          session: text,
        }),
        pageMax,
      ),
      hidden: { ...integer, description: 'Paths that the caller may not see' },
    }),
    handle: report,
  },
  {
    method: 'GET',
    path: '/load/large',
    summary:
      'The znodes with the most data, the most children and the most changes; looked for in slices, and kept for a few seconds',
    role: 'metadata',
    answer: object({
      taken: text,
      znodes: integer,
      data: outstanding,
      children: outstanding,
      versions: outstanding,
      hidden: { ...integer, description: 'Znodes that the caller may not see' },
    }),
    handle: large,
  },
]

function report(call: Call): Promise<unknown> {
  const { view, query } = call
  const limit = query.integer('limit') ?? 50
  const visible = new VisiblePaths(call)
  const { coveredMs, paths, clients, slow } = view.peer.load.report()
  const seconds = coveredMs / 1000
  const perSecond = ({ reads, writes }: { readonly reads: number; readonly writes: number }) => ({
    readsPerSecond: Math.round((reads / seconds) * 100) / 100,
    writesPerSecond: Math.round((writes / seconds) * 100) / 100,
  })
  const connections = new Map(
    Array.from(view.peer.connections, (each) => [each.sessionId, each] as const),
  )
  const seen = paths.filter(({ key }) => visible.has(key))
  return Promise.resolve({
    coveredMs: Math.round(coveredMs),
    paths: seen.slice(0, limit).map((each) => ({ path: each.key, ...perSecond(each) })),
    clients: clients.slice(0, limit).map(({ sessionId, address, ...counts }) => {
      const connection = connections.get(sessionId)
      return {
        session: hex(sessionId),
        address,
        ...perSecond(counts),
        connection:
          connection === undefined
            ? null
            : {
                since: new Date(connection.openedWallMs).toISOString(),
                requests: connection.packetsReceived,
                outstanding: connection.queue.length,
                watches: view.peer.db.watches.countOf(connection),
                meanLatencyMs: Math.round(connection.latency.mean * 100) / 100,
                maxLatencyMs: connection.latency.max,
              },
      }
    }),
    slow: slow.slice(0, limit).map(({ wallMs, tookMs, type, path, address, sessionId }) => ({
      time: isoTime(BigInt(Math.round(wallMs))),
      tookMs: Math.round(tookMs * 10) / 10,
      operation: operationName(type) ?? null,
      path: path !== undefined && visible.has(path) ? path : null,
      address,
      session: hex(sessionId),
    })),
    hidden: paths.length - seen.length,
  })
}

async function large(call: Call): Promise<unknown> {
  const { surveyor } = call
  const { takenWallMs, znodes, data, children, versions } = await surveyor.survey()
  const visible = new VisiblePaths(call)
  let hidden = 0
  const seen = (all: readonly Outstanding[]): Outstanding[] => {
    const kept = all.filter(({ path }) => visible.has(path))
    hidden += all.length - kept.length
    return kept
  }
  return {
    taken: new Date(takenWallMs).toISOString(),
    znodes,
    data: seen(data),
    children: seen(children),
    versions: seen(versions),
    hidden,
  }
}
