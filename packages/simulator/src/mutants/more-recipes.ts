/** Errors of the recipes for several locks, downgrades, leases, delays and partitions. */
import type { Client, Transaction, WatchableReadOptions } from '@zabra/client'
import { replace } from './inside.ts'
import type { ProgramMutant } from './program-mutant.ts'

type Children = (path: string, options?: WatchableReadOptions) => Promise<string[]>
type Create = (path: string, data?: Uint8Array | string, options?: object) => Transaction

const byNumber = (a: string, b: string): number => Number(a.slice(-10)) - Number(b.slice(-10))

/** In lines below these paths the first is not seen. */
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
    name: 'a downgraded lock goes to the end of the line',
    workload: 'downgrade',
    client: (client) => {
      replace(client, 'transaction', (original: () => Transaction) => () => {
        const transaction = original()
        replace(transaction, 'create', (create: Create) => (path, data, options) => {
          return create(path.replace(/__READ__0/, '__READ__1'), data, options)
        })
        return transaction
      })
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
