import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { ClosedError, OperationError, text, type Client } from '@zabra/client'
import { aborted, untilChildren } from '@zabra/testing'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { expire, openProxied } from '../../test/support/trouble.ts'
import { hold, type Held } from './held.ts'
import { Group } from '../group.ts'
import { holdAll } from '../hold-all.ts'
import { Lease } from '../lease.ts'
import { Lock } from '../lock.ts'

const fixture = useServer()

test('any ephemeral node can be held', async () => {
  const client = await fixture.open()
  const node = await client.create('/mine', '', { ephemeral: true })
  const held = hold(client, node)
  expect(held.token).toBe(node.stat.czxid)
  await held.guard(client.transaction().create('/mine-work')).commit()
  await held.release()
  expect(await client.exists('/mine')).toBeUndefined()
})

test('a guard checks its own node, whatever the namespace of the transaction', async () => {
  const client = await fixture.open()
  await client.ensure('/spaced/locks')
  const space = client.namespace('/spaced')
  const open = async (): Promise<readonly Held[]> => [
    hold(client, await client.create('/guarding', '', { ephemeral: true })),
    hold(space, await space.create('/locks/guarding', '', { ephemeral: true })),
    await new Group(space, '/group', { codec: text }).join('x', { name: 'guarding' }),
    await new Lease(space, '/lease', { id: 'a', ttlMs: 60_000 }).acquire(),
  ]
  // Nodes of the same names where the other namespace would look.
  for (const path of ['/spaced/guarding', '/locks/guarding', '/group/guarding', '/lease'])
    await client.put(path, '', { parents: true })
  for (const held of await open()) {
    for (const from of [client, space]) {
      const [stat] = await held.guard(from.transaction().set('/', 'x')).commit()
      expect(stat.version).toBeGreaterThan(0)
    }
    await held.release()
  }
  const [first, second] = await open()
  await client.delete(first!.path)
  await space.delete(second!.path)
  for (const held of [first!, second!])
    for (const from of [client, space])
      await expect(
        held.guard(from.transaction().create('/not-guarded')).commit(),
      ).rejects.toMatchObject({ code: 'lost', reason: 'deleted' })
})

test('releasing spares a node that somebody else has created in its place', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const make = (maker: Client) => maker.create('/place', '', { ephemeral: true })
  const gone = (): Promise<boolean> => other.exists('/place').then((stat) => stat === undefined)
  const held = hold(client, await make(client))
  proxy.hold({ direction: 'toClient' })
  const released = held.release()
  await expect.poll(gone).toBe(true)
  const { stat } = await make(other)
  proxy.reset()
  await proxy.heal()
  await released
  expect((await other.exists('/place'))?.czxid).toBe(stat.czxid)

  await other.delete('/place')
  const deleted = hold(client, await make(client))
  await other.delete('/place')
  await aborted(deleted.signal)
  const next = await make(other)
  await deleted.release()
  expect((await other.exists('/place'))?.czxid).toBe(next.stat.czxid)
})

test('a node that outlives its session is not held', async () => {
  const client = await fixture.open()
  const node = await client.create('/persistent')
  expect(() => hold(client, node)).toThrow(
    new TypeError('the node is not ephemeral, and so no session holds it: /persistent'),
  )
})

test('a node of an earlier session is not held', async () => {
  const client = await fixture.open()
  const node = await client.create('/earlier', '', { ephemeral: true })
  await expire(client, fixture.connectString)
  await client.connected()
  expect(hold(client, node).signal.reason).toMatchObject({ reason: 'expired' })
})

test('the deadline moves with each answer of the server, and is past once the node is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const held = await new Lock(client, '/deadline').acquire()
  const first = held.deadlineMs
  expect(first).toBeGreaterThan(client.nowMs())
  expect(first).toBeLessThanOrEqual(client.nowMs() + 2000)
  await client.sync()
  expect(held.deadlineMs).toBeGreaterThan(first)
  proxy.reset()
  await new Promise((resolve) => held.signal.addEventListener('abort', resolve))
  expect(held.deadlineMs).toBe(0)
})

test('a closed client holds nothing, and releasing succeeds', async () => {
  const client = await fixture.open()
  const held = await new Lock(client, '/closed').acquire()
  await client.close()
  expect(held.signal.reason).toMatchObject({ reason: 'closed' })
  await held.release()
})

test('closing a client aborts the signal before somebody else can have the right', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const held = await new Lock(client, '/closing').acquire()
  const own = hold(client, await client.create('/closing-own', '', { ephemeral: true }))
  const next = new Lock(other, '/closing').acquire()
  await untilChildren(other, '/closing', 2)
  const closing = client.close()
  expect(held.signal.reason).toMatchObject({ reason: 'closed' })
  expect(own.signal.reason).toMatchObject({ reason: 'closed' })
  expect([held.deadlineMs, own.deadlineMs]).toEqual([0, 0])
  expect((await next).token).toBeGreaterThan(held.token)
  await closing
})

test('a waiter is told at once when its client is closed', async () => {
  const [client, other] = [await fixture.open(), await fixture.open()]
  await new Lock(other, '/closing-line').acquire()
  const waiting = new Lock(client, '/closing-line').acquire().catch((error: unknown) => error)
  await untilChildren(other, '/closing-line', 2)
  await client.close()
  expect(await waiting).toBeInstanceOf(ClosedError)
})

test('a right that is acquired while the client is being closed is lost', async () => {
  const client = await fixture.open()
  const made = await client.create('/too-late', '', { ephemeral: true })
  const closing = client.close()
  expect(await aborted(hold(client, made).signal)).toMatchObject({ reason: 'closed' })
  expect(client.state.name).toBe('connected')
  await closing
})

test('several rights are held as one', async () => {
  const client = await fixture.open()
  const one = await new Lock(client, '/one').acquire()
  const two = await new Lock(client, '/two').acquire()
  const both = holdAll(one, two)
  expect(both.token).toBe(two.token)
  await both.guard(client.transaction().create('/both')).commit()
  await client.delete(one.path)
  await client.sync()
  expect(both.signal.reason).toMatchObject({ reason: 'deleted', path: one.path })
  expect(both.deadlineMs).toBe(0)
  const late = both.guard(client.transaction().create('/late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', path: one.path })
  await both.release()
  expect(await client.exists(two.path)).toBeUndefined()
})

test('acquired and lost rights are published; a place in a queue is not', async () => {
  const messages: unknown[] = []
  const listen = (message: unknown): void => void messages.push(message)
  subscribe('zabra:recipes:held', listen)
  onTestFinished(() => void unsubscribe('zabra:recipes:held', listen))
  const client = await fixture.open()
  const lock = new Lock(client, '/published')
  const { path, token } = await lock.acquire()
  expect(messages).toEqual([{ event: 'held', path, token, reason: undefined }])
  await expect(lock.acquire({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'timeout' })
  await client.delete(path)
  await client.sync()
  expect(messages.slice(1)).toEqual([{ event: 'ended', path, token, reason: 'deleted' }])
})

test('a deletion by somebody else is noticed even if the server refused the watch at first', async () => {
  const [client, other] = [await fixture.open(), await fixture.open()]
  const node = await client.create('/unwatched', '', { ephemeral: true })
  const exists = client.exists.bind(client)
  client.exists = () => {
    client.exists = exists
    return Promise.reject(new OperationError('throttledOp'))
  }
  const held = hold(client, node)
  await other.delete('/unwatched')
  expect(await aborted(held.signal)).toMatchObject({ reason: 'deleted' })
})
