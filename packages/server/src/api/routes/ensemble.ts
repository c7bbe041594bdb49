import { verifierOf } from '@zabra/core'
import { formatLine } from '../../base/event-logger.ts'
import { describeZab } from '../../view/describe-zab.ts'
import { ApiError } from '../api-error.ts'
import { members, memberSchema } from '../members.ts'
import { restartAdvice } from '../restart-advice.ts'
import type { Call, Route } from '../route.ts'
import { array, choice, integer, nullable, object, text } from '../schema.ts'
import { isoTime } from '../shapes.ts'

export const ensemble: readonly Route[] = [
  {
    method: 'GET',
    path: '/ensemble',
    summary: 'The servers: role, epoch, zxid, lag, latency and connections of each',
    role: 'metadata',
    isAlwaysAnswered: true,
    answer: object({
      mode: choice('standalone', 'ensemble'),
      self: text,
      leader: nullable(text),
      configVersion: nullable(text),
      failuresLeft: {
        ...nullable(integer),
        description:
          'How many of the servers that serve now may fail, whichever they are, while the others have a quorum: at most 3; null without a quorum, if a server cannot be asked, and for a standalone server',
      },
      members: array(memberSchema),
    }),
    handle: ({ view }) => members(view),
  },
  {
    method: 'GET',
    path: '/ensemble/timeline',
    summary:
      'Elections, roles, hand-overs and changes of members since this server started, as it saw them; the oldest first',
    role: 'metadata',
    isAlwaysAnswered: true,
    answer: object({
      started: text,
      now: text,
      entries: array(
        object({
          time: text,
          kind: text,
          leader: nullable(text),
          epoch: nullable(integer),
          text,
        }),
      ),
    }),
    handle: timeline,
  },
  {
    method: 'GET',
    path: '/ensemble/restart',
    summary:
      'The server that may be restarted next in a rolling restart, and the reasons against the others',
    role: 'metadata',
    isAlwaysAnswered: true,
    answer: object({
      next: nullable(text),
      servers: array(
        object({
          id: text,
          verdict: choice('next', 'later', 'last', 'down', 'unsafe'),
          reason: text,
        }),
      ),
    }),
    handle: restart,
  },
  {
    method: 'POST',
    path: '/ensemble/hand-over',
    summary: 'Lets another server lead; for the leader',
    role: 'admin',
    body: object({}),
    answer: object({ leader: text }),
    async handle({ view }) {
      const outcome = await view.handOver()
      if ('problem' in outcome) throw new ApiError(503, 'handOver', outcome.problem)
      return { leader: String(outcome.leader) }
    },
  },
]

function timeline({ view }: Call): Promise<unknown> {
  const { entries = [] } = view.timeline ?? {}
  let leader: string | null = null
  return Promise.resolve({
    started: isoTime(BigInt(view.startedWallMs)),
    now: new Date().toISOString(),
    entries: entries.map(({ wallMs, event }) => {
      const { type } = event
      const { message, fields } = describeZab(event)
      if ('leader' in event) leader = String(event.leader)
      else if (type === 'leading') leader = view.ensemble?.config.serverId.toString() ?? null
      else if (type === 'looking' || type === 'roleEnded') leader = null
      return {
        time: isoTime(BigInt(wallMs)),
        kind: type,
        leader,
        epoch: 'epoch' in event ? Number(event.epoch) : null,
        text: formatLine(message.replace(/^\w+: /, ''), fields),
      }
    }),
  })
}

async function restart({ view }: Call): Promise<unknown> {
  const { members: all, leader } = await members(view)
  const { ensemble: part } = view
  const verifier = part === undefined ? undefined : verifierOf(part.membership)
  const servers = restartAdvice(
    all.map(({ id, votes, state, lag }) => ({
      id,
      votes,
      isLeader: id === leader,
      isServing: state === 'serving',
      lag,
    })),
    (ids) => verifier?.isQuorum(new Set(ids.map(BigInt))) === true,
  )
  return { next: servers.find(({ verdict }) => verdict === 'next')?.id ?? null, servers }
}
