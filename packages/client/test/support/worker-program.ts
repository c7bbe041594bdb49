/**
 * Programs whose session lives in a worker thread.
 *
 *     worker-program.ts CONNECT-STRING unref|life|replies
 *     worker-program.ts CONNECT-STRING servers OTHER-CONNECT-STRING
 */
import { Client, connect } from '../../src/index.ts'

const [servers = '', what = '', others = ''] = process.argv.slice(2)
const tell = (said: unknown): boolean => process.stdout.write(`${JSON.stringify(said)}\n`)

/** Nothing else keeps it alive. */
async function unref(): Promise<void> {
  const other = setTimeout(() => {}, 20_000)
  const client = await connect(servers, { keepAlive: 'worker', unref: true })
  tell(client.state.name)
  clearTimeout(other)
}

/** When the session expires, before and after its end. */
async function life(): Promise<void> {
  const client = await connect(servers, { keepAlive: 'worker', sessionTimeoutMs: 4000 })
  const { id, password } = client.session!
  const leftMs = (): number => client.aliveUntilMs - client.nowMs()
  const before = leftMs() > 0
  const expired = new Promise<boolean>((resolve) => {
    client.onState(({ name }) => {
      if (name === 'expired') resolve(leftMs() > 0)
    })
  })
  const thief = new Client({ servers, session: { id, password, lastZxid: client.lastZxid } })
  await thief.connected()
  await thief.close()
  const whenExpired = await expired
  await client.connected()
  await client.close()
  tell({ before, whenExpired, whenClosed: leftMs() > 0 })
}

/** The outcome of three writes on connections that break in the middle of a message. */
async function replies(): Promise<void> {
  const client = await connect(servers, { keepAlive: 'worker', sessionTimeoutMs: 4000 })
  const outcomes: string[] = []
  for (const path of ['/1', '/2', '/3']) {
    const outcome = client.delete(path, { timeoutMs: 3000 })
    outcomes.push(
      await outcome.then(
        () => 'done',
        (error: { code: string }) => error.code,
      ),
    )
  }
  tell(outcomes)
  process.exit()
}

/** The addresses that a session uses when its client gets other servers. */
async function moves(): Promise<void> {
  const client = await connect(servers, { keepAlive: 'worker', sessionTimeoutMs: 4000 })
  await client.create('/moved-by-worker', '', { ephemeral: true })
  const moved = new Promise<{ resumed: boolean; server: string }>((resolve) => {
    client.onState((state) => {
      if (state.name === 'connected') resolve(state)
    })
  })
  client.setServers([servers, others])
  await client.exists('/moved-by-worker')
  const stayed = client.state.name === 'connected' ? client.state.server : ''
  client.setServers(others)
  const { resumed, server } = await moved
  const isThere = (await client.exists('/moved-by-worker')) !== undefined
  await client.close()
  tell({ stayed, server, resumed, isThere })
}

await { unref, life, replies, servers: moves }[what as 'unref' | 'life' | 'replies' | 'servers']()
