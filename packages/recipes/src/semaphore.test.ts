import { SessionExpiredError } from '@zabra/client'
import { untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire } from '../test/support/trouble.ts'
import type { Held } from './holding/held.ts'
import { Semaphore } from './semaphore.ts'

const fixture = useServer()

test('never more holders than permits, and everybody gets one', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => fixture.open()))
  let holders = 0
  let most = 0
  let open = (): void => {}
  const three = new Promise<void>((resolve) => (open = resolve))
  const tokens: bigint[] = []
  const turns = Array.from({ length: 16 }, async (_, i) => {
    const client = clients[i % 4]!
    await using held = await new Semaphore(client, '/pool', 3).acquire()
    most = Math.max(most, ++holders)
    tokens.push(held.token)
    if (holders === 3) open()
    await three
    await client.sync()
    holders--
  })
  await Promise.all(turns)
  expect(most).toBe(3)
  expect(new Set(tokens).size).toBe(16)
  await untilChildren(clients[0]!, '/pool/leases', 0)
  await untilChildren(clients[0]!, '/pool/locks', 0)
})

test('leases have the names of Curator', async () => {
  const semaphore = new Semaphore(await fixture.open(), '/names', 1)
  await using held = await semaphore.acquire()
  expect(held.path).toMatch(/^\/names\/leases\/_c_[0-9a-f-]{36}-lease-\d{10}$/)
})

test('several permits are acquired and released together', async () => {
  const client = await fixture.open()
  const semaphore = new Semaphore(client, '/several', 3)
  const two = await semaphore.acquire({ permits: 2 })
  expect(await semaphore.free()).toBe(1)
  expect(await semaphore.tryAcquire({ permits: 2 })).toBeUndefined()
  const all = semaphore.acquire({ permits: 3 })
  await untilChildren(client, '/several/leases', 5)
  await two.guard(client.transaction().create('/several-work')).commit()
  await two.release()
  const three = await all
  expect(three.token).toBeGreaterThan(two.token)
  expect(await semaphore.free()).toBe(0)
  await three.release()
  expect(await semaphore.free()).toBe(3)
  await expect(semaphore.acquire({ permits: 4 })).rejects.toThrow('there are 3 permits')
})

test('losing one of several permits loses them all', async () => {
  const client = await fixture.open()
  const held = await new Semaphore(client, '/one-of', 2).acquire({ permits: 2 })
  const [name] = await client.children('/one-of/leases')
  await client.delete(`/one-of/leases/${name}`)
  await client.sync()
  expect(held.signal.reason).toMatchObject({ reason: 'deleted' })
  const late = held.guard(client.transaction().create('/one-of-late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', reason: 'deleted' })
  await held.release()
  expect(await client.children('/one-of/leases')).toEqual([])
})

test('giving up waiting leaves nothing behind, neither in the queue nor among the leases', async () => {
  const client = await fixture.open()
  const semaphore = new Semaphore(client, '/given-up', 1)
  const held = await semaphore.acquire()
  const controller = new AbortController()
  const { signal } = controller
  const waiting = [semaphore.acquire({ signal }), semaphore.acquire({ signal })]
  const outcome = Promise.allSettled(waiting)
  await untilChildren(client, '/given-up/leases', 2)
  await untilChildren(client, '/given-up/locks', 2)
  controller.abort(new Error('enough'))
  for (const { status } of await outcome) expect(status).toBe('rejected')
  await untilChildren(client, '/given-up/leases', 1)
  await untilChildren(client, '/given-up/locks', 0)
  await held.release()
})

test('one waits for leases, the others for their turn: a release wakes only one', async () => {
  const holder = await fixture.open()
  const held = await new Semaphore(holder, '/calm', 1).acquire()
  const waiters = await Promise.all(Array.from({ length: 4 }, () => fixture.open()))
  const turns: Promise<Held>[] = []
  for (const client of waiters) {
    turns.push(new Semaphore(client, '/calm', 1).acquire())
    await untilChildren(holder, '/calm/locks', turns.length)
  }
  await untilChildren(holder, '/calm/leases', 2)
  await Promise.all(waiters.map((client) => client.sync()))
  const before = waiters.map((client) => client.stats().notifications)
  await held.release()
  await turns[0]
  await untilChildren(holder, '/calm/leases', 2)
  await Promise.all(waiters.map((client) => client.sync()))
  const told = waiters.map((client, i) => client.stats().notifications - before[i]!)
  // The first notices the lease, then the end of its own lock; the second the first's lock.
  expect(told[0]).toBeLessThanOrEqual(2)
  expect(told[1]).toBeLessThanOrEqual(2)
  expect(told.slice(2)).toEqual([0, 0])
  for (const turn of turns) await (await turn).release()
})

test('the permits of an ended session are free again, and a waiter without session rejects', async () => {
  const [first, second, third] = await Promise.all(Array.from({ length: 3 }, () => fixture.open()))
  await new Semaphore(first!, '/expiry', 1).acquire()
  const rejected = new Semaphore(second!, '/expiry', 1).acquire().catch((error: unknown) => error)
  await untilChildren(third!, '/expiry/leases', 2)
  const patient = new Semaphore(third!, '/expiry', 1).acquire({ requeue: true })
  await untilChildren(third!, '/expiry/locks', 2)
  await expire(second!, fixture.connectString)
  expect(await rejected).toBeInstanceOf(SessionExpiredError)
  await untilChildren(third!, '/expiry/leases', 2)
  await expire(third!, fixture.connectString)
  await expire(first!, fixture.connectString)
  await (await patient).release()
})
