import { hex } from '@zabra/core'
import { operationName } from '@zabra/protocol'
import { addressOf } from '../../http/authorization.ts'
import type { ServerView } from '../../view/server-view.ts'
import { ApiError, badRequest } from '../api-error.ts'
import { identityText } from '../history/session-clients.ts'
import { InternalClient } from '../internal-client.ts'
import { type Call, type Route } from '../route.ts'
import { array, boolean, integer, nullable, number, object, text } from '../schema.ts'
import { VisiblePaths } from '../visible-paths.ts'

const pageMax = 1000
const detailMax = 500

const connectionSchema = object({
  address: text,
  port: integer,
  since: text,
  lastHeardMsAgo: integer,
  lastOperation: nullable(text),
  requests: integer,
  replies: integer,
  outstanding: integer,
  watches: integer,
  meanLatencyMs: number,
  maxLatencyMs: number,
  identities: array(text),
})

export const sessions: readonly Route[] = [
  {
    method: 'GET',
    path: '/sessions',
    summary: 'A page of the sessions that this server knows, those connected to it first',
    role: 'private',
    parameters: {
      offset: { kind: 'integer', description: 'How many to skip' },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: pageMax },
      filter: {
        kind: 'text',
        description: 'Only those whose id, address or identities contain this',
      },
      ids: { kind: 'text', description: 'Only these, separated by commas' },
    },
    answer: object({
      total: integer,
      matching: integer,
      offset: integer,
      sessions: array(
        object({
          id: text,
          timeoutMs: integer,
          isLocal: boolean,
          ephemerals: integer,
          isOfApi: boolean,
          connection: nullable(connectionSchema),
        }),
      ),
    }),
    handle: list,
  },
  {
    method: 'GET',
    path: '/sessions/detail',
    summary:
      'The ephemeral znodes of a session, and its watches on this server, as far as the caller may see them',
    role: 'private',
    parameters: {
      id: { kind: 'text', description: 'The session, as 0x and hexadecimal', isRequired: true },
    },
    answer: object({
      id: text,
      timeoutMs: integer,
      isLocal: boolean,
      isOfApi: boolean,
      connection: {
        ...nullable(connectionSchema),
        description: 'Null where it is not connected to this server',
      },
      ephemerals: array(text, detailMax),
      ephemeralsTotal: integer,
      watches: array(object({ path: text, kinds: text }), detailMax),
      watchesTotal: integer,
      hidden: integer,
    }),
    errors: [404],
    handle: detail,
  },
  {
    method: 'DELETE',
    path: '/sessions',
    summary: 'Ends a session, with its ephemeral znodes',
    role: 'admin',
    parameters: {
      id: { kind: 'text', description: 'The session, as 0x and hexadecimal', isRequired: true },
    },
    answer: object({ id: text, isDone: boolean }),
    errors: [404],
    handle: end,
  },
]

async function list({ view, clients, query }: Call): Promise<unknown> {
  const { db, localSessions } = view.peer
  const ofApi = await clients.sessionIds
  const connected = new Map(
    Array.from(view.sockets, (socket) => [socket.connection.sessionId, socket] as const),
  )
  const local = new Map(
    Array.from(localSessions?.all() ?? [], ({ id, timeoutMs }) => [id, timeoutMs] as const),
  )
  const all = [...local.keys(), ...[...db.sessions.keys()].filter((id) => !local.has(id))]
  const ordered = [
    ...all.filter((id) => connected.has(id)),
    ...all.filter((id) => !connected.has(id)),
  ]
  const filter = query.text('filter')?.toLowerCase() ?? ''
  const ids = query.text('ids')?.split(',', pageMax)
  const wanted = ids === undefined ? undefined : new Set(ids.map((id) => sessionIn('ids', id)))
  const matching = ordered.filter(
    (id) =>
      wanted?.has(id) !== false &&
      (filter === '' || nameOf(id, connected.get(id)).includes(filter)),
  )
  const offset = query.integer('offset') ?? 0
  const page = matching.slice(offset, offset + (query.integer('limit') ?? 100))
  return {
    total: all.length,
    matching: matching.length,
    offset,
    sessions: page.map((id) => ({
      id: hex(id),
      timeoutMs: local.get(id) ?? db.sessions.get(id) ?? 0,
      isLocal: local.has(id),
      ephemerals: db.tree.ephemeralsOf(id).size,
      isOfApi: ofApi.has(id),
      connection: connectionJson(view, connected.get(id)),
    })),
  }
}

type Socket = ServerView['sockets'] extends ReadonlySet<infer Each> ? Each : never

/** The fields that a filter compares. */
function nameOf(id: bigint, socket: Socket | undefined): string {
  if (socket === undefined) return hex(id)
  const { address, port, connection } = socket
  const identities = connection.identities.map(identityText).join(' ')
  return `${hex(id)} ${address}:${port} ${identities}`.toLowerCase()
}

function connectionJson(view: ServerView, socket: Socket | undefined): object | null {
  if (socket === undefined) return null
  const { connection, address, port } = socket
  const { session, latency } = connection
  const heardMs = (session?.expiresAtMs ?? view.peer.nowMs) - connection.timeoutMs
  const sinceMs = Math.min(heardMs, view.peer.nowMs)
  return {
    address,
    port,
    since: new Date(connection.openedWallMs).toISOString(),
    lastHeardMsAgo: Math.max(
      0,
      Math.round(view.peer.nowMs - Math.max(sinceMs, connection.lastResponseMs)),
    ),
    lastOperation: operationName(connection.lastOperation) ?? null,
    requests: connection.packetsReceived,
    replies: connection.packetsSent,
    outstanding: connection.queue.length,
    watches: view.peer.db.watches.countOf(connection),
    meanLatencyMs: Math.round(latency.mean * 100) / 100,
    maxLatencyMs: latency.max,
    identities: connection.identities.map(identityText),
  }
}

const sessionFrom = ({ query }: Pick<Call, 'query'>): bigint =>
  sessionIn('id', query.text('id') ?? '')

function sessionIn(name: string, given: string): bigint {
  if (/^0x[0-9a-f]{1,16}$/i.test(given)) return BigInt.asIntN(64, BigInt(given))
  throw badRequest(`${name}: expected 0x and hexadecimal digits`)
}

async function detail(call: Call): Promise<unknown> {
  const { view, clients } = call
  const id = sessionFrom(call)
  const { db, localSessions } = view.peer
  const timeoutMs = db.sessions.get(id) ?? localSessions?.get(id)?.timeoutMs
  if (timeoutMs === undefined) {
    throw new ApiError(404, 'noSession', `There is no session ${hex(id)}`)
  }
  const visible = new VisiblePaths(call)
  let hidden = 0
  const isSeen = (path: string): boolean => {
    const isIt = visible.has(path)
    if (!isIt) hidden++
    return isIt
  }
  const ephemerals = db.tree.ephemeralsOf(id)
  const paths: string[] = []
  for (const node of ephemerals) {
    if (paths.push(db.tree.pathOf(node)) >= detailMax) break
  }
  const connection = [...view.peer.connections].find((each) => each.sessionId === id)
  const watches = new Map<string, string>()
  const tables =
    connection === undefined ? {} : { data: db.watches.data, children: db.watches.children }
  for (const [name, table] of Object.entries(tables)) {
    for (const path of table.watchedBy(connection!)) {
      const before = watches.get(path)
      watches.set(path, before === undefined ? name : `${before}, ${name}`)
      if (watches.size >= detailMax) break
    }
  }
  const socket = [...view.sockets].find((each) => each.connection.sessionId === id)
  return {
    id: hex(id),
    timeoutMs,
    isLocal: localSessions?.get(id) !== undefined,
    isOfApi: (await clients.sessionIds).has(id),
    connection: connectionJson(view, socket),
    ephemerals: paths.filter(isSeen).toSorted(),
    ephemeralsTotal: ephemerals.size,
    watches: [...watches]
      .filter(([path]) => isSeen(path))
      .map(([path, kinds]) => ({ path, kinds })),
    watchesTotal: connection === undefined ? 0 : db.watches.countOf(connection),
    hidden,
  }
}

async function end(call: Call): Promise<unknown> {
  const { view, request } = call
  const id = sessionFrom(call)
  const { db, localSessions } = view.peer
  const isKnown = db.sessions.has(id) || localSessions?.get(id) !== undefined
  if (!isKnown || !(await InternalClient.endSession(view, addressOf(request), id))) {
    throw new ApiError(404, 'noSession', `There is no session ${hex(id)}`)
  }
  return { id: hex(id), isDone: true }
}
