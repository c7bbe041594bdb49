/** Errors of the recipes: in what they wait for, and in what they believe to hold. */
import {
  isRefusal,
  type Client,
  type Created,
  type State,
  type Transaction,
  type WatchableReadOptions,
} from '@zabra/client'
import { replace } from './inside.ts'
import type { ProgramMutant } from './program-mutant.ts'

type Get = (path: string, options?: WatchableReadOptions) => Promise<unknown>
type Children = (path: string, options?: WatchableReadOptions) => Promise<string[]>
type Exists = (path: string, options?: WatchableReadOptions) => Promise<unknown>
type Create = (path: string, data?: Uint8Array, options?: object) => Promise<Created>
type Set = (path: string, data: Uint8Array, options?: object) => unknown

const byNumber = (a: string, b: string): number => Number(a.slice(-10)) - Number(b.slice(-10))
const isLockNode = (path: string): boolean => /lock-\d+$/.test(path)

/** Changes what waiters watch: they read the node ahead of them. */
function watching(
  client: Client,
  change: (path: string, options: WatchableReadOptions) => readonly [string, WatchableReadOptions],
): void {
  replace(client, 'get', (original: Get) => (path, options) => {
    if (options?.watch === undefined || !isLockNode(path)) return original(path, options)
    return original(...change(path, options))
  })
}

export const recipeMutants: readonly ProgramMutant[] = [
  {
    name: 'a waiter does not watch',
    workload: 'lock',
    client: (client) => {
      watching(client, (path, options) => [path, { ...options, watch: undefined }])
    },
  },
  {
    name: 'a waiter watches itself in place of its predecessor',
    workload: 'lock',
    client: (client) => {
      let own = ''
      replace(
        client,
        'create',
        (original: (...args: readonly unknown[]) => Promise<Created>) =>
          async (...args) => {
            const created = await original(...args)
            own = created.path
            return created
          },
      )
      watching(client, (path, options) => [isLockNode(own) ? own : path, options])
    },
  },
  {
    name: 'the first in line is not seen',
    workload: 'lock',
    client: (client) => {
      replace(client, 'children', (original: Children) => async (path, options) => {
        const names = await original(path, options)
        return names.toSorted(byNumber).slice(names.length > 1 ? 1 : 0)
      })
    },
  },
  {
    name: 'a suspended session does not count as lost',
    workload: 'lock',
    held: (held) => {
      replace(held, 'judge', (original: (state: State) => void) => (state) => {
        if (state.name !== 'suspended') original(state)
      })
    },
  },
  {
    name: 'an expired session does not count as lost',
    workload: 'lock',
    held: (held) => {
      replace(held, 'judge', (original: (state: State) => void) => (state) => {
        if (state.name === 'connected' || state.name === 'suspended') original(state)
      })
    },
  },
  {
    name: 'a guard adds nothing to a transaction',
    workload: 'lock',
    held: (held) => replace(held, 'guard', () => (transaction: Transaction) => transaction),
  },
  {
    name: 'a token is the version of the node',
    workload: 'lock',
    held: (held) => void Reflect.set(held, 'token', 0n),
  },
  {
    name: 'a lost reply to giving back is taken for success',
    workload: 'lock',
    held: (held) => {
      const client = Reflect.get(held, 'client') as Client
      replace(held, 'giveBack', () => async () => {
        Reflect.set(held, 'policy', 'released')
        await client.delete(held.path).catch(() => {})
      })
    },
  },
  {
    name: 'a lease too many is overlooked',
    workload: 'semaphore',
    client: (client) => {
      replace(client, 'children', (original: Children) => async (path, options) => {
        const names = await original(path, options)
        return path.endsWith('/leases')
          ? names.toSorted(byNumber).slice(names.length > 1 ? 1 : 0)
          : names
      })
    },
  },
  {
    name: 'a reader overlooks writers',
    workload: 'read-write-lock',
    client: (client) => {
      replace(client, 'children', (original: Children) => async (path, options) => {
        const names = await original(path, options)
        const readers = names.filter((name) => name.includes('__READ__'))
        return readers.length > 0 ? readers : names
      })
    },
  },
  { name: 'a count goes by no version', workload: 'counter', client: valuesWithoutVersion },
  {
    name: 'a configuration is changed whatever others changed',
    workload: 'configuration',
    client: valuesWithoutVersion,
  },
  { name: 'what is said can be said again', workload: 'rendezvous', client: setsWithoutVersion },
  {
    name: 'a vote is written over another',
    workload: 'two-phase-commit',
    client: setsWithoutVersion,
  },
  {
    name: 'the end of a coordinator is not noticed',
    workload: 'two-phase-commit',
    client: (client) => {
      replace(client, 'exists', (original: Exists) => (path, options) => {
        const isCoordinator = path.endsWith('/coordinator')
        return original(path, isCoordinator ? { ...options, watch: undefined } : options)
      })
    },
  },
  {
    name: 'a name that is bound is bound again',
    workload: 'names',
    client: (client) => {
      replace(
        client,
        'create',
        (original: Create) => (path, data, options) =>
          original(path, data, options).catch(async (error: unknown) => {
            if (!isRefusal(error, 'nodeExists') || data === undefined) throw error
            return { path, stat: await client.set(path, data) }
          }),
      )
    },
  },
  {
    name: 'an offer outlasts its session',
    workload: 'services',
    client: (client) => {
      replace(
        client,
        'create',
        (original: Create) => (path, data, options) =>
          original(path, data, { ...options, ephemeral: false }),
      )
    },
  },
  {
    name: 'the leader is not told that it may have been replaced',
    workload: 'leader-only',
    held: (held) => replace(held, 'judge', () => () => {}),
  },
]

/** A write of a value with its witness ignores the version. */
export function valuesWithoutVersion(client: Client): void {
  replace(client, 'transaction', (original: () => Transaction) => () => {
    const transaction = original()
    replace(transaction, 'set', (set: Set) => (path, data, options) => {
      return set(path, data, path.includes('witness') ? options : {})
    })
    return transaction
  })
}

function setsWithoutVersion(client: Client): void {
  replace(client, 'set', (set: Set) => (path, data, options) => {
    return set(path, data, { ...options, ifVersion: undefined })
  })
}
