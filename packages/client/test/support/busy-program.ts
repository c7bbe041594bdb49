/**
 * A program that creates an ephemeral node and then computes for a while.
 *
 *     busy-program.ts CONNECT-STRING loop|worker BUSY-MS
 */
import { connect } from '../../src/index.ts'

const [servers = '', keepAlive = '', busyMs = ''] = process.argv.slice(2)
const client = await connect(servers, {
  sessionTimeoutMs: 2000,
  keepAlive: keepAlive === 'worker' ? 'worker' : 'loop',
})
const { path } = await client.create('/busy-', '', { ephemeral: true, sequential: true })
const states: string[] = []
client.onState(({ name }) => states.push(name))
await new Promise<void>((resolve) => process.stdout.write(`${path}\n`, () => resolve()))

const end = performance.now() + Number(busyMs)
while (performance.now() < end) Math.sqrt(end)

await client.sync().catch(() => client.connected())
const isThere = (await client.exists(path)) !== undefined
await client.close()
process.stdout.write(`${JSON.stringify({ isThere, states })}\n`)
