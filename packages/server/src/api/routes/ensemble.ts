import { ApiError } from '../api-error.ts'
import { members, memberSchema } from '../members.ts'
import type { Route } from '../route.ts'
import { array, choice, nullable, object, text } from '../schema.ts'

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
      members: array(memberSchema),
    }),
    handle: ({ view }) => members(view),
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
