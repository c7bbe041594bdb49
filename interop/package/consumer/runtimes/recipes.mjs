// Watches and recipes of two clients: for Node, Bun and Deno.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, text } from '@zabra/client'
import { Counter, Election, Lock, Queue, TreeCache } from '@zabra/recipes'
import { LeaderCoordinator } from '@zabra/recipes/schedulers'
import { expect, setting } from './setting.mjs'

const ann = await connect(setting.servers)
const bob = await connect(setting.servers)
await ann.ensure('/')

// Watches of both kinds.
const told = []
const once = new Promise((resolve) => void ann.exists('/seen', { watch: resolve }))
const watching = ann.watch('/seen', { initial: true, recursive: true })
const changes = (async () => {
  for await (const change of watching) {
    told.push(`${change.type} ${change.path}`)
    if (change.type === 'created' && change.path === '/seen') await bob.create('/seen/child')
    if (change.path === '/seen/child') await bob.set('/seen', 'x')
    if (change.type === 'changed') break
  }
})()
await watching.ready
await bob.create('/seen')
expect((await once).type === 'created', 'a one-shot watch')
await changes
const expected = ['initial /seen', 'created /seen', 'created /seen/child', 'changed /seen']
expect(told.join() === expected.join(), `a watch: ${told.join()}`)

// A lock that one holds and the other waits for, a hundred times.
await ann.create('/total', '0')
async function add(client) {
  const lock = new Lock(client, '/lock')
  for (let i = 0; i < 50; i++) {
    await lock.run(async (held) => {
      const { data } = await client.get('/total')
      const next = String(Number(Buffer.from(data).toString()) + 1)
      await held.guard(client.transaction().set('/total', next)).commit()
    })
  }
}
await Promise.all([add(ann), add(bob)])
const { data } = await ann.get('/total')
expect(Buffer.from(data).toString() === '100', 'a lock')
const held = await new Lock(ann, '/lock').acquire()
const wait = await new Lock(bob, '/lock').acquire({ timeoutMs: 200 }).catch((error) => error)
expect(wait.code === 'timeout', `a lock that another holds: ${wait}`)
await held.release()

const term = await new Election(ann, '/election', { id: 'ann' }).campaign()
expect(term.id === 'ann' && term.epoch > 0n, 'a leadership')
await term.release()
const counter = new Counter(ann, '/counter')
const numbers = Array.from({ length: 20 }, () => counter.add(1))
await Promise.all(numbers)
expect((await counter.get()) === 20n, 'a counter')
const queue = new Queue(ann, '/queue', { codec: text })
await queue.put('a')
const bobs = new Queue(bob, '/queue', { codec: text })
const item = await bobs.take()
await item.complete()
expect(item.value === 'a', 'a queue')
await Promise.all([queue.close(), bobs.close()])
const cache = await TreeCache.open(ann, '/seen')
expect(cache.children('/seen').join() === 'child', 'a tree cache')
await cache.close()
const coordinator = await LeaderCoordinator.open(ann, '/cron')
await coordinator.elected()
expect(await coordinator.shouldRun('task:2026-01-01T00:00:00.000Z'), 'a coordinator')
expect(!(await coordinator.shouldRun('task:2026-01-01T00:00:00.000Z')), 'only once')
await coordinator.close()

// Messages for observers.
const traces = []
const listen = ({ operation, durationMs }) => traces.push({ operation, durationMs })
subscribe('tracing:zabra:client:request:asyncEnd', listen)
await ann.exists('/seen')
unsubscribe('tracing:zabra:client:request:asyncEnd', listen)
expect(traces.length === 1 && traces[0].durationMs > 0, 'a trace')

await Promise.all([ann.close(), bob.close()])
console.log('all well')
