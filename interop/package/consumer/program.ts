// A typical program of a user. It is compiled in fresh projects, by several compilers, against the
// packages as they would be published, and run.
import {
  connect,
  isRefusal,
  json,
  type Change,
  type Client,
  type Stat,
  type TransactionCreated,
} from '@zabra/client'
import { Election, Lock, type Held, type Term } from '@zabra/recipes'

interface Settings {
  readonly greeting: string
  readonly times: number
}

const settings = json<Settings>()

async function main(servers: string): Promise<void> {
  await using client: Client = await connect(servers, { sessionTimeoutMs: 10_000 })
  await client.ensure('/')

  const [made, changed]: [TransactionCreated, Stat] = await client
    .transaction()
    .create('/settings', { greeting: 'hello', times: 1 }, { codec: settings })
    .set('/settings', { greeting: 'hello', times: 2 }, { codec: settings })
    .commit()
  expect(made.path === '/settings' && changed.version === 1, 'a transaction')

  const { data, stat } = await client.get('/settings', { codec: settings })
  const times: number = data.times
  const born: bigint = stat.czxid
  expect(times === 2 && born > 0n, 'a value with its codec')

  const refusal: unknown = await client
    .set('/settings', 'other', { ifVersion: 7 })
    .catch((error: unknown) => error)
  expect(isRefusal(refusal, 'badVersion') && refusal.path === '/settings', 'a refusal')

  const changes: Change[] = []
  for await (const change of client.watch('/settings', { initial: true })) {
    changes.push(change)
    if (change.type === 'deleted') break
    void client.delete('/settings')
  }
  expect(changes.map(({ type }) => type).join() === 'initial,deleted', 'a watch')

  const lock = new Lock(client, '/lock')
  await using held: Held = await lock.acquire({ timeoutMs: 5000 })
  await held.guard(client.transaction().create('/guarded')).commit()
  expect(held.token > 0n && !held.signal.aborted, 'a lock')

  const term: Term = await new Election(client, '/election', { id: 'me' }).campaign()
  expect(term.epoch > held.token && term.id === 'me', 'a leadership')
  await term.release()
}

function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not as it should be: ${what}`)
}

await main(process.argv[2] ?? '')
console.log('all well')
