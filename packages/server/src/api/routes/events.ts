import { type Change, hex } from '@zabra/core'
import { eventTypes } from '@zabra/protocol'
import { ApiError, badRequest } from '../api-error.ts'
import { SessionClients } from '../history/session-clients.ts'
import type { WatchEvent } from '../internal-client.ts'
import { samplesSchema, type Sample } from '../metrics-ring.ts'
import { maySeePrivate } from '../roles.ts'
import { streamed, type Call, type Route } from '../route.ts'
import { openStream } from '../stream.ts'
import { levelParameter, logFilter, logJson } from './log.ts'

const collectMs = 100
const changesMax = 500

const kinds = new Map<number, string>([
  [eventTypes.nodeCreated, 'created'],
  [eventTypes.nodeDeleted, 'deleted'],
  [eventTypes.nodeDataChanged, 'changed'],
  [eventTypes.nodeChildrenChanged, 'children'],
])

export const events: readonly Route[] = [
  {
    method: 'GET',
    path: '/metrics',
    summary: 'The last hour of this server',
    role: 'metadata',
    isAlwaysAnswered: true,
    parameters: {
      after: {
        kind: 'integer',
        description: 'Only samples after this time, in milliseconds since 1970',
        maximum: Number.MAX_SAFE_INTEGER,
      },
    },
    answer: samplesSchema,
    handle({ metrics, query }) {
      const after = query.integer('after') ?? 0
      const samples = metrics.all.filter(({ time }) => time > after)
      return Promise.resolve({ everyMs: metrics.everyMs, samples })
    },
  },
  {
    method: 'GET',
    path: '/events',
    summary:
      'Server-sent events: changes at a path and below it, metrics, sessions and the log. It ends when the server stops serving',
    role: 'metadata',
    parameters: {
      path: { kind: 'path', description: 'Changes at this znode and below it' },
      metrics: { kind: 'flag', description: 'Each new sample of the metrics' },
      sessions: { kind: 'flag', description: 'Sessions that begin and end' },
      log: { ...levelParameter, description: `Lines of the log: ${levelParameter.description}` },
    },
    answer: 'text/event-stream',
    handle: stream,
  },
]

async function stream(call: Call): Promise<unknown> {
  const { client, live, metrics, query, role, view } = call
  const path = query.text('path')
  const wantsMetrics = query.flag('metrics')
  const wantsSessions = query.flag('sessions')
  const level = query.text('log')
  if (path === undefined && !wantsMetrics && !wantsSessions && level === undefined) {
    throw badRequest('path, metrics, sessions or log is missing')
  }
  if ((wantsSessions || level !== undefined) && !maySeePrivate(view, role)) {
    throw new ApiError(403, 'role', 'Sessions and the log need the role admin')
  }
  await openStream(call, async (send, ends) => {
    if (path !== undefined) {
      const changes = new Changes((told) => send('changes', told))
      ends.push(await client.watch(path, (event) => changes.add(event)), () => changes.stop())
    }
    if (wantsSessions) {
      const end = live.listen((change) => {
        if (change.path === undefined) send('session', sessionJson(call, change))
      })
      ends.push(end)
    }
    if (level !== undefined) {
      const isWanted = logFilter(level)
      ends.push(view.log.onLine((line) => isWanted(line) && send('log', logJson(line))))
    }
    if (wantsMetrics) ends.push(metrics.onSample((sample: Sample) => send('metrics', sample)))
  })
  return streamed
}

function sessionJson({ view, role }: Call, { session, kind, cause, timeMs }: Change): object {
  const what = kind === 'openSession' ? 'opened' : cause === 'expired' ? 'expired' : 'closed'
  const client = new SessionClients(view, role).of(session)
  return { id: hex(session), what, time: new Date(timeMs).toISOString(), client }
}

interface Told {
  readonly changes: readonly { readonly type: string; readonly path: string }[]
  /** More changes happened than are listed. */
  readonly isTruncated: boolean
}

/** Collects changes for a moment, so that many writes to one znode become one event. */
class Changes {
  private readonly tell: (told: Told) => void
  private readonly collected = new Map<string, { readonly type: string; readonly path: string }>()
  private isTruncated = false
  private timer: NodeJS.Timeout | undefined

  constructor(tell: (told: Told) => void) {
    this.tell = tell
  }

  add({ type: code, path }: WatchEvent): void {
    const type = kinds.get(code) ?? 'changed'
    if (this.collected.size < changesMax) this.collected.set(`${type} ${path}`, { type, path })
    else this.isTruncated = true
    this.timer ??= setTimeout(() => this.flush(), collectMs)
  }

  private flush(): void {
    this.timer = undefined
    const told = { changes: [...this.collected.values()], isTruncated: this.isTruncated }
    this.collected.clear()
    this.isTruncated = false
    this.tell(told)
  }

  stop(): void {
    clearTimeout(this.timer)
  }
}
