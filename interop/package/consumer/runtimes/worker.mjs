// A session in a worker thread outlives a program that computes: for Node, Bun and Deno.
import { connect } from '@zabra/client'
import { expect, nextState, please, setting } from './setting.mjs'

const client = await connect(setting.proxied, { keepAlive: 'worker', sessionTimeoutMs: 2000 })
await client.ensure('/')
const { path } = await client.create('/busy-', '', { ephemeral: true, sequential: true })
const states = []
client.onState(({ name }) => states.push(name))
const end = performance.now() + 5000
while (performance.now() < end) Math.sqrt(end)
expect((await client.exists(path)) !== undefined, `the node is there; ${states.join()}`)
expect(states.length === 0, `no change of state: ${states.join()}`)

const suspended = nextState(client, 'suspended')
await please('cut')
const { expiresAtMs } = await suspended
const leftMs = expiresAtMs - client.nowMs()
expect(leftMs > 0 && leftMs <= 2000, `time left: ${leftMs}`)
const back = nextState(client, 'connected')
await please('heal')
expect((await back).resumed && (await client.exists(path)) !== undefined, 'the same session')
const expired = nextState(client, 'expired')
await please(`expire?id=${client.session.id}`)
await expired
await client.connected()
expect((await client.exists(path)) === undefined, 'the next session')
await client.close()
console.log('all well')
