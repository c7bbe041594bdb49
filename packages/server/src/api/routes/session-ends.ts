import { hex, type SessionEnd } from '@zabra/core'
import { explainEnd, sessionVerdicts } from '../../view/session-end.ts'
import { badRequest } from '../api-error.ts'
import type { Call, Route } from '../route.ts'
import { array, boolean, choice, integer, nullable, object, text } from '../schema.ts'
import { hexText, isoTime } from '../shapes.ts'

const pageMax = 1000

const endSchema = object({
  id: hexText,
  zxid: hexText,
  time: text,
  verdict: choice(...sessionVerdicts),
  seen: array({ ...text, description: 'Sentences, the most important first' }),
  unknown: array({ ...text, description: 'The facts that this server cannot know' }),
  timeoutMs: nullable(integer),
  isDecidedHere: boolean,
  lastHeardMsAgo: nullable(integer),
  lastHeardIsExact: boolean,
  heldBy: nullable(text),
  moves: nullable(integer),
  connections: array(
    object({
      address: text,
      opened: text,
      closed: nullable(text),
      end: nullable(choice('client', 'broken', 'server', 'replaced')),
      requests: integer,
      longestGapMs: integer,
    }),
  ),
  stalls: array(object({ ended: text, ms: integer })),
  roles: array(object({ time: text, role: text })),
})

export const sessionEnds: readonly Route[] = [
  {
    method: 'GET',
    path: '/sessions/expired',
    summary:
      'Why sessions ended lately, as this server saw it, the last one first; in an ensemble the server of the client and the leader each know a part',
    role: 'private',
    isAlwaysAnswered: true,
    parameters: {
      id: { kind: 'text', description: 'Of this session only, as 0x and hexadecimal' },
      closed: { kind: 'flag', description: 'Include those that were closed on request' },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: pageMax },
    },
    answer: object({ sessions: array(endSchema, pageMax) }),
    handle: list,
  },
]

function list({ view, query }: Call): Promise<unknown> {
  const { expired, closed } = view.peer.sessionEnds
  const id = query.text('id')
  if (id !== undefined && !/^0x[0-9a-f]{1,16}$/i.test(id)) {
    throw badRequest('id: expected 0x and hexadecimal digits')
  }
  const wanted = id === undefined ? undefined : BigInt.asIntN(64, BigInt(id))
  const all = query.flag('closed')
    ? [...expired, ...closed].toSorted((a, b) => a.wallMs - b.wallMs)
    : [...expired]
  const found = all.filter(({ sessionId }) => wanted === undefined || sessionId === wanted)
  const page = found.toReversed().slice(0, query.integer('limit') ?? 100)
  return Promise.resolve({ sessions: page.map(endJson) })
}

function endJson(end: SessionEnd): object {
  const { verdict, sentences, unknown } = explainEnd(end)
  const { sessionId, zxid, wallMs, timeoutMs, lastHeardMsAgo, heldBy, moves } = end
  return {
    id: hex(sessionId),
    zxid: hex(zxid),
    time: timeText(wallMs),
    verdict,
    seen: sentences,
    unknown,
    timeoutMs: timeoutMs ?? null,
    isDecidedHere: end.isDecidedHere,
    lastHeardMsAgo: lastHeardMsAgo ?? null,
    lastHeardIsExact: end.lastHeardIsExact,
    heldBy: heldBy === undefined ? null : String(heldBy),
    moves: moves ?? null,
    connections: end.connections.map((each) => ({
      address: each.address,
      opened: timeText(each.openedWallMs),
      closed: each.closedWallMs === undefined ? null : timeText(each.closedWallMs),
      end: each.end ?? null,
      requests: each.requests,
      longestGapMs: Math.round(each.longestGapMs),
    })),
    stalls: end.stalls.map(({ endedWallMs, ms }) => ({
      ended: timeText(endedWallMs),
      ms: Math.round(ms),
    })),
    roles: end.roles.map((each) => ({ time: timeText(each.wallMs), role: each.role })),
  }
}

function timeText(ms: number): string {
  return isoTime(BigInt(Math.round(ms)))
}
