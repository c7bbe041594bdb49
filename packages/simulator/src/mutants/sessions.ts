/** Errors in which server knows a session, and for how long. */
import { packetTypes, Writer } from '@zabra/protocol'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner } from './roles.ts'

const closeSession = -11

/** A session, with the server that may write for it. */
interface Owned {
  owner?: object | undefined
}

/** Changes each proposer that the peer gets. */
function ofProposer(name: string, change: (proposer: Record<string, unknown>) => void): Mutant {
  return ofLeader(name, (_leader, _peer, { parts }) =>
    replace<unknown[], object>(parts, 'serve', (original) => (...args) => {
      const proposer = original(...args)
      change(proposer as Record<string, unknown>)
      return proposer
    }),
  )
}

export const sessionMutants: readonly Mutant[] = [
  {
    ...ofLearner(
      'a session stays local although it has an ephemeral node',
      (_learner, _peer, { upstream }) =>
        replace<[object], object>(upstream, 'makeGlobal', () => (session) => session),
    ),
    localSessions: true,
  },
  {
    ...ofProposer('a session that stays local may own a node', (proposer) =>
      replace<unknown[], object>(
        proposer,
        'preparation',
        (original) => (session, identities) => original(session, identities, undefined),
      ),
    ),
    localSessions: 'kept',
  },
  ofLearner(
    'a follower does not tell its leader who was heard of',
    (_learner, _peer, { upstream }) => replace(upstream, 'touch', () => () => {}),
  ),
  ofLeader('a leader does not listen to who was heard of', (leader) =>
    replace(leader, 'touchSessions', () => () => {}),
  ),
  ofProposer('a new leader gives sessions half of their time', (proposer) => {
    const tracker = proposer.sessions as {
      all(): Iterable<{ timeoutMs: number }>
      touch(session: object, timeoutMs: number, nowMs: number): void
    }
    const { nowMs } = inside(proposer, 'clock') as { nowMs?: number }
    for (const session of tracker.all()) tracker.touch(session, session.timeoutMs / 2, nowMs!)
  }),
  ofLearner('a follower ends sessions by itself', (_learner, _peer, { upstream, link }) => {
    let pings = 0
    replace<[bigint], void>(upstream, 'answerPing', (original) => (zxid) => {
      original(zxid)
      const [first] = (upstream.sessions as Map<bigint, unknown>).keys()
      if (first === undefined || ++pings % 10 !== 0) return
      const writer = new Writer(16)
      writer.long(first)
      writer.int(0)
      writer.int(closeSession)
      const request = {
        type: packetTypes.request,
        zxid: -1n,
        data: writer.written(),
        authinfo: null,
      }
      link.sendPacket(request)
    })
  }),
  ofLearner(
    'a session goes on at another server without the leader’s leave',
    (_learner, _peer, { upstream }) => {
      replace<[object, bigint], void>(upstream, 'resumeSession', () => (connection, id) => {
        const session = (upstream as { sessionOf?(id: bigint): unknown }).sessionOf!(id)
        const pipeline = inside(upstream, 'parts', 'pipeline') as {
          resumed?(...args: unknown[]): void
        }
        pipeline.resumed!(connection, id, session)
      })
    },
  ),
  ofProposer('a server may write for a session that has left it', (proposer) => {
    replace<[Owned | undefined, object], unknown>(
      proposer,
      'sessionProblem',
      (original) => (session, owner) => {
        const kept = session?.owner
        if (session !== undefined) session.owner = owner
        const problem = original(session, owner)
        if (session !== undefined) session.owner = kept
        return problem
      },
    )
  }),
  ofProposer('a session that is over may go on at another server', (proposer) => {
    const tracker = proposer.sessions as {
      get(id: bigint): unknown
      add(id: bigint, timeoutMs: number, nowMs: number): void
    }
    replace<[bigint, number, object], unknown>(
      proposer,
      'takeSession',
      (original) => (id, timeoutMs, owner) => {
        const { nowMs } = inside(proposer, 'clock') as { nowMs?: number }
        if (tracker.get(id) === undefined) tracker.add(id, timeoutMs, nowMs!)
        return original(id, timeoutMs, owner)
      },
    )
  }),
]
