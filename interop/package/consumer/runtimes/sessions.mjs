// Lost connections and lost sessions: for Node, Bun and Deno.
import { connect, ConnectionLossError, SessionExpiredError } from '@zabra/client'
import { Lock, LostError } from '@zabra/recipes'
import { expect, nextState, please, setting } from './setting.mjs'

const lines = []
const logger = { warn: (line) => lines.push(line), info: () => {} }
const client = await connect(setting.proxied, { sessionTimeoutMs: 4000, logger })
await client.ensure('/')
const { id } = client.session

// A connection that is lost: the session goes on over the next one.
await client.create('/here', '', { ephemeral: true })
const changes = client.watch('/', { recursive: true })
const read = changes[Symbol.asyncIterator]()
await changes.ready
const suspended = nextState(client, 'suspended')
await please('hold')
const write = client.set('/here', 'x').catch((error) => error)
const reading = client.exists('/here')
await please('cut')
await suspended
const lost = await write
expect(lost instanceof ConnectionLossError && lost.mayHaveHappened, `a write: ${lost}`)
const resumed = nextState(client, 'connected')
await please('heal')
expect((await resumed).resumed && client.session.id === id, 'the same session')
expect((await reading) !== undefined, 'a read that is repeated, of an ephemeral node')
await client.create('/after', '')
for (;;) {
  const { value } = await read.next()
  if (value.path === '/after' && value.type === 'created') break
}

// A server that is silent: the client leaves it by itself.
const silent = nextState(client, 'suspended')
await please('hold')
await silent
const back = nextState(client, 'connected')
await please('heal')
await back

// A session that is ended by the servers.
const held = await new Lock(client, '/lock').acquire()
const guarded = held.guard(client.transaction().create('/guarded'))
const expired = nextState(client, 'expired')
await please(`expire?id=${client.session.id}`)
await expired
await client.connected()
expect(client.session.id !== id, 'another session')
expect(held.signal.aborted && held.signal.reason instanceof LostError, 'a lock that is lost')
const refused = await guarded.commit().catch((error) => error)
expect(refused instanceof LostError, `the guard: ${refused}`)
expect((await client.exists('/here')) === undefined, 'ephemeral nodes gone with the session')
for (;;) {
  const { value } = await read.next()
  if (value.type === 'sessionExpired') break
}
await client.create('/in-the-next', '')
for (;;) {
  const { value } = await read.next()
  if (value.path === '/in-the-next') break
}
await changes.return()

// The same, for a client that does not want another session.
const single = await connect(setting.servers, { onExpiry: 'end', sessionTimeoutMs: 4000 })
const ended = nextState(single, 'closed')
await please(`expire?id=${single.session.id}`)
await ended
const late = await single.get('/').catch((error) => error)
expect(late instanceof SessionExpiredError, `an end: ${late}`)

await client.close()
for (const word of ['suspended', 'resumed', 'expired'])
  expect(
    lines.some((line) => line.includes(word)),
    `the log tells of ${word}: ${lines.join('\n')}`,
  )
console.log('all well')
