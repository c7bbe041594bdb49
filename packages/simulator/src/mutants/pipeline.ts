import { codes } from '@zabra/protocol'
/** Errors in the order of requests and replies, and in which clients get what. */
import { inside, replace } from './inside.ts'
import type { Mutant, ServerParts } from '../cluster/mutant.ts'

const pipelineOf = ({ peer }: ServerParts): Record<string, unknown> => inside(peer, 'pipeline')
const proposerOf = ({ peer }: ServerParts): Record<string, unknown> => inside(peer, 'proposer')

interface Part {
  readonly type: number
}

export const pipelineMutants: readonly Mutant[] = [
  {
    name: 'pipelined writes do not see each other',
    serving: (parts) => {
      const projection = inside(proposerOf(parts), 'projection')
      replace(projection, 'load', (original: (path: string) => unknown) => (path) => {
        const newest = Reflect.get(projection, 'newest') as Map<string, unknown>
        Reflect.set(projection, 'newest', new Map())
        const node = original(path)
        Reflect.set(projection, 'newest', newest)
        return node
      })
    },
  },
  {
    name: 'a watch fires after the reply',
    serving: (parts) => {
      const { watches } = parts.db
      const pipeline = pipelineOf(parts)
      let waiting: (() => void)[] = []
      replace(watches, 'deliver', (original: (watcher: unknown, frame: Uint8Array) => void) => {
        return (watcher, frame) => {
          const kept = new Uint8Array(frame)
          waiting.push(() => original(watcher, kept))
        }
      })
      replace(
        pipeline,
        'commit',
        (original: (...args: readonly unknown[]) => void) =>
          (...args) => {
            original(...args)
            const due = waiting
            waiting = []
            for (const deliver of due) deliver()
          },
      )
    },
  },
  {
    name: 'a session expires early',
    serving: ({ peer }) => {
      replace(
        peer.sessions,
        'touch',
        (original: (session: unknown, timeoutMs: number, nowMs: number) => void) =>
          (session, timeoutMs, nowMs) =>
            original(session, timeoutMs / 2, nowMs),
      )
    },
  },
  {
    name: 'a session never expires',
    serving: ({ peer }) => replace(peer.sessions, 'expire', () => () => []),
  },
  {
    name: 'ephemerals survive their session',
    serving: (parts) => {
      const projection = inside(proposerOf(parts), 'projection')
      replace(projection, 'ephemeralsOf', () => () => [])
      replace(parts.db.tree, 'ephemeralsOf', () => () => new Set<number>())
    },
  },
  {
    name: 'a failed multi does its first part',
    serving: (parts) => {
      const { db } = parts
      replace(
        pipelineOf(parts),
        'applyMulti',
        (original: (header: never, body: { txns: Part[] }, isAnswered: boolean) => void) =>
          (header, body, isAnswered) => {
            original(header, body, isAnswered)
            const [first] = body.txns
            const isFailed = body.txns.some(({ type }) => type === codes.error)
            if (isFailed && first !== undefined && first.type !== codes.error)
              db.apply(header, first as never)
          },
      )
    },
  },
  {
    name: 'reads overtake their own writes',
    serving: (parts) => {
      const pipeline = pipelineOf(parts)
      replace(pipeline, 'request', (original: (...args: readonly unknown[]) => unknown) => {
        return (...args) => {
          const connection = args[0] as { queue: unknown[] }
          const { queue } = connection
          const bytes = args[1] as Uint8Array
          const type = bytes[(args[2] as number) + 7]!
          if (![3, 4, 8, 12].includes(type) || queue.length === 0) return original(...args)
          Reflect.set(connection, 'queue', [])
          const goesOn = original(...args)
          Reflect.set(connection, 'queue', queue)
          return goesOn
        }
      })
    },
  },
  {
    name: 'a reply carries the zxid of the next transaction',
    serving: ({ db }) => {
      replace(db, 'advance', (original: (zxid: bigint) => void) => (zxid) => {
        original(zxid)
        db.lastZxidLow++
      })
    },
  },
  {
    name: 'a persistent watch is used up',
    serving: ({ db }) => {
      replace(
        db.watches.data,
        'fire',
        (original: (path: string, visit: (watcher: object) => void) => void) => (path, visit) => {
          const told: object[] = []
          original(path, (watcher) => {
            told.push(watcher)
            visit(watcher)
          })
          for (const watcher of told) db.watches.data.remove(path, watcher as never, 2)
        },
      )
    },
  },
  {
    name: 'what happened while a client was away is not told',
    serving: ({ db }) => replace(db.watches, 'catchUp', () => () => {}),
  },
  {
    name: 'now and then a child watch does not fire',
    serving: ({ db }) => {
      replace(
        db.watches.children,
        'fire',
        (original: (path: string, visit: (watcher: object) => void) => void) => {
          let calls = 0
          return (path, visit) => {
            if (++calls % 3 !== 0) original(path, visit)
          }
        },
      )
    },
  },
  {
    name: 'an expired session may be resumed',
    serving: (parts) => {
      const proposer = proposerOf(parts)
      const tracker = parts.peer.sessions
      replace(proposer, 'resumeSession', (original: (c: never, id: bigint) => void) => {
        return (connection, id) => {
          if (tracker.get(id) === undefined) tracker.add(id, 10_000, parts.peer.nowMs)
          original(connection, id)
        }
      })
    },
  },
]
