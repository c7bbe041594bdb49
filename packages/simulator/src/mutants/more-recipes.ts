/** Errors of the recipes for several locks, downgrades, leases, delays and partitions. */
import type { Client, Transaction, WatchableReadOptions } from '@zabra/client'
import type { HeldLocks, HeldNode } from '@zabra/recipes'
import { replace } from './inside.ts'
import type { ProgramMutant } from './program-mutant.ts'

type Children = (path: string, options?: WatchableReadOptions) => Promise<string[]>
type OnPath = (path: string, ...more: unknown[]) => unknown
type Create = (path: string, data?: Uint8Array | string, options?: object) => Transaction

const byNumber = (a: string, b: string): number => Number(a.slice(-10)) - Number(b.slice(-10))

/** Hides the first contender of the lines below some paths. */
function hidingFirst(isMeant: (path: string) => boolean) {
  return (client: Client): void =>
    replace(client, 'children', (original: Children) => async (path, options) => {
      const names = await original(path, options)
      return isMeant(path) ? names.toSorted(byNumber).slice(names.length > 1 ? 1 : 0) : names
    })
}

export const moreRecipeMutants: readonly ProgramMutant[] = [
  {
    name: 'all of several locks let a second one in',
    workload: 'multi-lock',
    client: hidingFirst((path) => path.startsWith('/multi/')),
  },
  {
    name: 'several locks are guarded by none of them',
    workload: 'multi-lock',
    held: (held) => replace(held, 'guard', () => (transaction: Transaction) => transaction),
  },
  {
    name: 'several locks are guarded by the first of them',
    workload: 'multi-lock',
    held: (held) => {
      const [first] = [...(held as HeldLocks).locks.values()]
      if (first !== held)
        replace(held, 'guard', () => (transaction: Transaction) => first!.guard(transaction))
    },
  },
  {
    name: 'a downgraded lock has the number of its node for a token',
    workload: 'downgrade',
    held: (held) => {
      const node = Reflect.get(held, 'node') as HeldNode
      Reflect.set(held, 'token', node.stat.czxid)
    },
  },
  {
    name: 'a downgraded lock goes to the end of the line',
    workload: 'downgrade',
    client: (client) => {
      const moved = new Map<string, string>()
      const nowAt = (path: string): string => moved.get(path) ?? path
      replace(client, 'transaction', (original: () => Transaction) => () => {
        const transaction = original()
        replace(transaction, 'create', (create: Create) => (path, data, options) => {
          moved.set(path, path.replace(/__READ__0/, '__READ__1'))
          return create(nowAt(path), data, options)
        })
        return transaction
      })
      // All other operations use the node at the wrong path.
      for (const name of ['exists', 'delete'] as const)
        replace(
          client,
          name,
          (original: OnPath) =>
            (path, ...more) =>
              original(nowAt(path), ...more),
        )
    },
    held: (held) => {
      const { token } = Reflect.get(held, 'node') as HeldNode
      if (token !== undefined)
        Reflect.set(held, 'path', held.path.replace(/__READ__0/, '__READ__1'))
    },
  },
  {
    name: 'a lease is guarded by nothing',
    workload: 'lease',
    held: (held) => replace(held, 'guard', () => (transaction: Transaction) => transaction),
  },
  {
    name: 'what is not due is handed out',
    workload: 'delay-queue',
    client: (client) => void Reflect.set(client.host, 'wallMs', () => 1e14),
  },
  {
    name: 'the locks of a partition let a second one in',
    workload: 'set-partitioner',
    client: hidingFirst((path) => path.startsWith('/partitions/locks/')),
    held: (held) => replace(held, 'guard', () => (transaction: Transaction) => transaction),
  },
]
