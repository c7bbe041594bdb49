/** Errors of the client: in what it repeats, watches, guarantees and remembers. */
import type {
  Client,
  Created,
  CreateOptions,
  Watching,
  WatchEvent,
  WatchOptions,
} from '@zabra/client'
import { inside, replace } from './inside.ts'
import type { ProgramMutant } from './program-mutant.ts'

const conversationOf = (client: Client): Record<string, unknown> =>
  inside(client, 'live', 'conversation')
const machineOf = (client: Client): Record<string, unknown> =>
  inside(client, 'live', 'link', 'machine')
const watchesOf = (client: Client): Record<string, unknown> => inside(client, 'watches')
const doNothing = (): void => {}

/** Calls a function before or after each event that an iteration of changes receives. */
function atEvents(
  client: Client,
  act: (watching: Watching, event: WatchEvent) => void,
  when: 'before' | 'after',
): void {
  type Watch = (path: string, options?: WatchOptions) => Watching
  replace(client, 'watch', (original: Watch) => (path, options) => {
    const watching = original(path, options)
    replace(watching, 'event', (hear: (event: WatchEvent) => void) => (event) => {
      if (when === 'before') act(watching, event)
      hear(event)
      if (when === 'after') act(watching, event)
    })
    return watching
  })
}

interface Queue {
  takeAll(): unknown[]
  push(call: unknown): void
}

export const clientMutants: readonly ProgramMutant[] = [
  {
    name: 'watches are not set again after a reconnection',
    workload: 'client',
    client: (client) => replace(conversationOf(client), 'restoreWatches', () => doNothing),
  },
  {
    name: 'an iteration of changes does not look what it missed',
    workload: 'client',
    client: (client) => replace(watchesOf(client), 'resumed', () => doNothing),
  },
  {
    name: 'children that change stand for a node that was not looked at yet',
    workload: 'client',
    client: (client) => {
      const markTold = (watching: Watching, { type, path }: WatchEvent): void => {
        const told = inside(watching, 'told') as unknown as Set<string>
        if (type === 'children' && Reflect.get(watching, 'isBehind') === true) told.add(path)
      }
      atEvents(client, markTold, 'after')
    },
  },
  {
    name: 'a change after a reconnection is taken for the next',
    workload: 'client',
    client: (client) => {
      const forgetGap = (watching: Watching): unknown => Reflect.set(watching, 'hasGap', false)
      atEvents(client, forgetGap, 'before')
    },
  },
  {
    name: 'who waits for a watch is not told that the session is over',
    workload: 'client',
    client: (client) => {
      replace(watchesOf(client), 'clear', (original: (reason: unknown) => void) => (reason) => {
        for (const kind of ['data', 'exist', 'child'])
          (inside(watchesOf(client), kind) as unknown as Map<string, unknown>).clear()
        original(reason)
      })
    },
  },
  {
    name: 'what was repeated goes behind what was asked later',
    workload: 'client',
    client: (client) => {
      const conversation = conversationOf(client)
      replace(conversation, 'connected', (original: (lastZxid: bigint) => void) => (lastZxid) => {
        const waiting = inside(conversation, 'waiting') as unknown as Queue
        for (const call of waiting.takeAll().toReversed()) waiting.push(call)
        original(lastZxid)
      })
    },
  },
  {
    name: 'a write is repeated after a lost connection',
    workload: 'lock',
    client: (client) => {
      replace(conversationOf(client), 'submit', (original: (call: object) => unknown) => (call) => {
        const kind: unknown = Reflect.get(call, 'kind')
        Reflect.set(call, 'kind', { ...(kind as object), isRead: true })
        return original(call)
      })
    },
  },
  {
    name: 'a protected create is made anew without looking for the first',
    workload: 'lock',
    client: (client) => {
      type Make = (path: string, data: Uint8Array, options: CreateOptions) => Promise<Created>
      replace(client, 'createProtected', (): Make => async (path, data, options) => {
        for (;;) {
          try {
            return await client.create(path, data, { ...options, protect: false })
          } catch (error) {
            if (!(error instanceof Error) || error.name !== 'ConnectionLossError') throw error
          }
        }
      })
    },
  },
  {
    name: 'calls of an expired session are forgotten',
    workload: 'client',
    client: (client) => {
      const conversation = conversationOf(client)
      replace(conversation, 'abandon', (original: (reason: unknown) => void) => (reason) => {
        for (const queue of ['sent', 'waiting'])
          (inside(conversation, queue) as unknown as Queue).takeAll()
        original(reason)
      })
    },
  },
  {
    name: 'a client that is cut off does not notice the end of its session',
    workload: 'client',
    client: (client) => {
      const machine = machineOf(client)
      replace(machine, 'lost', (original: (nowMs: number, cause: Error) => void) => {
        return (nowMs, cause) => {
          original(nowMs, cause)
          Reflect.set(machine, 'expiresAtMs', Infinity)
        }
      })
    },
  },
  {
    // A follower asks the leader about a global session, and the answer comes behind all that was
    // committed. Of a local session nobody is asked.
    name: 'a client does not say how much it has seen',
    workload: 'client',
    servers: 3,
    localSessions: true,
    client: (client) => replace(machineOf(client), 'seen', () => doNothing),
  },
  {
    name: 'a linearizable read goes without its sync',
    workload: 'client',
    servers: 3,
    client: (client) => {
      const conversation = conversationOf(client)
      replace(
        conversation,
        'transmitBefore',
        (original: (read: object, kind: unknown) => void) => (read, kind) => {
          if (kind !== conversation['syncKind']) original(read, kind)
        },
      )
    },
  },
  {
    name: 'after a lost reply a read goes behind a sync only',
    workload: 'lock',
    servers: 3,
    // With linearizable syncs, a sync is as good as the write that the client sends before the
    // read.
    zab: { confirmSyncs: false },
    client: (client) => {
      const conversation = conversationOf(client)
      replace(
        conversation,
        'transmitBefore',
        (original: (read: object, kind: unknown) => void) => (read) =>
          original(read, conversation['syncKind']),
      )
    },
  },
  {
    name: 'a buffer is used again before it was sent',
    workload: 'client',
    client: (client) => {
      replace(
        inside(client, 'live', 'link'),
        'send',
        (original: (bytes: Uint8Array, frames: number) => boolean) => (bytes, frames) => {
          original(bytes, frames)
          return true
        },
      )
    },
  },
  {
    name: 'a call does not end with its deadline',
    workload: 'client',
    client: (client) => {
      replace(client, 'children', (original: (path: string, options: object) => unknown) => {
        return (path, options) => original(path, { ...options, timeoutMs: undefined })
      })
    },
  },
]
