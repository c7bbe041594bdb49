/**
 * Errors of the recipes for presence, persistent nodes, hand-overs, shared counts and queues by id.
 */
import type { Created, Data, Transaction, WatchableReadOptions } from '@zabra/client'
import { replace } from './inside.ts'
import type { ProgramMutant } from './program-mutant.ts'
import { valuesWithoutVersion } from './recipes.ts'

type Create = (path: string, data?: Uint8Array, options?: object) => Promise<Created>
type Set = (path: string, data: Uint8Array, options?: object) => Promise<unknown>
type Get = (path: string, options?: object) => Promise<Data>
type Exists = (path: string, options?: WatchableReadOptions) => Promise<unknown>
type OnPath = (path: string, options?: object) => Promise<unknown>
type Delete = (path: string, options?: object) => Transaction

/** As recipes call clients: a default deadline would be an error of its own. */
const patience = { timeoutMs: Infinity }

export const presenceMutants: readonly ProgramMutant[] = [
  {
    name: 'a member that leaves a party stays',
    workload: 'party',
    client: (client) => {
      replace(client, 'delete', (original: OnPath) => async (path, options) => {
        return path.startsWith('/party/') ? undefined : original(path, { ...patience, ...options })
      })
    },
  },
  {
    name: 'a program is present at a party once at most',
    workload: 'party',
    client: (client) => void Reflect.set(client.host, 'random', () => 0.5),
  },
  {
    name: 'the id of an item is forgotten',
    workload: 'id-queue',
    client: (client) => {
      replace(client, 'children', (original: (...args: unknown[]) => Promise<string[]>) => {
        return async (...args) => {
          const names = await original(...args)
          return names.map((name) => name.replace(/\|item-\d+\|/, '||'))
        }
      })
    },
  },
  {
    name: 'an item that is completed or removed stays in the queue',
    workload: 'id-queue',
    client: (client) => {
      replace(client, 'transaction', (original: () => Transaction) => () => {
        const transaction = original()
        replace(transaction, 'delete', (remove: Delete) => (path, options) => {
          return path.includes('/entries/') ? transaction : remove(path, options)
        })
        return transaction
      })
    },
  },
  {
    name: 'a persistent node comes back with its first value',
    workload: 'persistent-node',
    client: (client) => {
      const first = new Map<string, Uint8Array | undefined>()
      replace(client, 'create', (original: Create) => (path, data, options) => {
        if (!first.has(path)) first.set(path, data)
        return original(path, first.get(path), { ...patience, ...options })
      })
    },
  },
  {
    name: 'a persistent node is not watched',
    workload: 'persistent-node',
    client: (client) => {
      replace(client, 'exists', (original: Exists) => (path, options) => {
        return original(path, { ...patience, ...options, watch: undefined })
      })
    },
  },
  {
    name: 'a node with a TTL is touched only once',
    workload: 'persistent-node',
    client: (client) => {
      replace(client, 'set', (original: Set) => async (path, data, options) => {
        if (path.endsWith('/touch')) return undefined
        return original(path, data, { ...patience, ...options })
      })
    },
  },
  {
    name: 'a shared count is set whatever others have set',
    workload: 'shared-count',
    client: valuesWithoutVersion,
  },
  {
    name: 'a session that is handed over ends',
    workload: 'session-hand-over',
    client: (client) => {
      replace(client, 'detach', () => async () => {
        const { session, lastZxid } = client
        await client.close()
        return session && { id: session.id, password: session.password, lastZxid }
      })
    },
  },
  {
    name: 'the next process takes a node of another session',
    workload: 'session-hand-over',
    client: (client) => {
      replace(client, 'get', (original: Get) => async (path, options) => {
        const { data, stat } = await original(path, { ...patience, ...options })
        const ephemeralOwner = client.session?.id ?? stat.ephemeralOwner
        return { data, stat: Object.assign(stat, { ephemeralOwner }) }
      })
    },
  },
]
