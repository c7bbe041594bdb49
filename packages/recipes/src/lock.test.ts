import { setImmediate } from 'node:timers/promises'
import { SessionExpiredError, TimeoutError, type Client } from '@zabra/client'
import { aborted, nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { LostError, type Held } from './holding/held.ts'
import { Lock } from './lock.ts'

const isElsewhere = process.env['ZABRA_TEST_CONNECT'] !== undefined
const fixture = useServer({ 'znode.container.checkIntervalMs': 100 })
const open = (options = {}) => fixture.open(options)

/** Resolves when the line has this length, to the paths in order. */
async function untilQueued(client: Client, path: string, count: number): Promise<string[]> {
  await untilChildren(client, path, count)
  return new Lock(client, path).queue()
}

test('one holds the lock at a time, in the order of calls, with growing tokens', async () => {
  const clients = await Promise.all(Array.from({ length: 5 }, () => open()))
  const first = await new Lock(clients[0]!, '/fair').acquire()
  const order: number[] = []
  const tokens: bigint[] = []
  let holders = 0
  const turns: Promise<void>[] = []
  for (let i = 0; i < 25; i++) {
    const lock = new Lock(clients[i % 5]!, '/fair')
    const turn = async (): Promise<void> => {
      await using held = await lock.acquire()
      expect(++holders).toBe(1)
      order.push(i)
      tokens.push(held.token)
      await setImmediate()
      holders--
    }
    turns.push(turn())
    await untilQueued(clients[0]!, '/fair', i + 2)
  }
  await first.release()
  await Promise.all(turns)
  expect(order).toEqual(Array.from({ length: 25 }, (_, i) => i))
  expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true)
})

test('nodes have the names of Curator', async () => {
  const client = await open()
  const held = await new Lock(client, '/named/lock', { id: 'me' }).acquire()
  expect(held.path).toMatch(/^\/named\/lock\/_c_[0-9a-f-]{36}-lock-\d{10}$/)
  expect(Buffer.from((await client.get(held.path)).data).toString()).toBe('me')
  await held.release()
  await held.release()
  expect(await new Lock(client, '/named/lock').queue()).toEqual([])
})

test.skipIf(isElsewhere)('the parent is deleted when nobody is left', async () => {
  const client = await open()
  await using held = await new Lock(client, '/passing').acquire()
  const gone = new Promise((resolve) => {
    void client.exists('/passing', { watch: resolve })
  })
  await held.release()
  expect(await gone).toMatchObject({ type: 'deleted' })
  await using again = await new Lock(client, '/passing').acquire()
  expect(again.token).toBeGreaterThan(held.token)
})

test('a release wakes only one waiter', async () => {
  const holder = await open()
  const held = await new Lock(holder, '/calm').acquire()
  const waiters = await Promise.all(Array.from({ length: 6 }, () => open()))
  const turns: Promise<Held>[] = []
  for (const client of waiters) {
    turns.push(new Lock(client, '/calm').acquire())
    await untilQueued(holder, '/calm', turns.length + 1)
  }
  await Promise.all(waiters.map((client) => client.sync()))
  const before = waiters.map((client) => client.stats().notifications)
  await held.release()
  await turns[0]
  await Promise.all(waiters.map((client) => client.sync()))
  const after = waiters.map((client, i) => client.stats().notifications - before[i]!)
  expect(after).toEqual([1, 0, 0, 0, 0, 0])
  for (const turn of turns) await (await turn).release()
})

test('when the session of a waiter in the middle ends, those behind it still get their turn', async () => {
  const [first, second, third] = await Promise.all([open(), open(), open()])
  const held = await new Lock(first, '/middle').acquire()
  const lock = new Lock(third, '/middle')
  const middle = new Lock(second, '/middle').acquire().catch((error: unknown) => error)
  await untilQueued(third, '/middle', 2)
  const last = lock.acquire()
  await untilQueued(third, '/middle', 3)
  await expire(second, fixture.connectString)
  expect(await middle).toBeInstanceOf(SessionExpiredError)
  expect(await lock.queue()).toHaveLength(2)
  await held.release()
  await (await last).release()
})

test('a waiter can queue again after the end of its session', async () => {
  const [first, second] = await Promise.all([open(), open()])
  const lock = new Lock(first, '/anew')
  const held = await lock.acquire()
  const waiting = new Lock(second, '/anew').acquire({ requeue: true })
  const [, before] = await untilQueued(first, '/anew', 2)
  await expire(second, fixture.connectString)
  for (;;) {
    const [, now] = await untilQueued(first, '/anew', 2)
    if (now !== before) break
  }
  await held.release()
  const next = await waiting
  expect(next.token).toBeGreaterThan(held.token)
  expect((await second.exists(next.path))?.ephemeralOwner).toBe(second.session!.id)
})

test('the end of the session loses the lock, and lets the next one in with a larger token', async () => {
  const [first, second] = await Promise.all([open(), open()])
  const held = await new Lock(first, '/expiry').acquire({ lostOn: 'expired' })
  const waiting = new Lock(second, '/expiry').acquire()
  await untilQueued(second, '/expiry', 2)
  await expire(first, fixture.connectString)
  // The server may report the node before the session.
  expect(['expired', 'deleted']).toContain((held.signal.reason as LostError).reason)
  const next = await waiting
  expect(next.token).toBeGreaterThan(held.token)
  // Requests of the new session under the old lock are refused.
  const late = held.guard(first.transaction().create('/expiry-late')).commit()
  await expect(late).rejects.toBeInstanceOf(LostError)
  await held.release()
  expect(next.signal.aborted).toBe(false)
})

test('a lost connection loses the lock, or only the end of the session does, by policy', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const strict = await new Lock(client, '/strict').acquire()
  const lenient = await new Lock(client, '/lenient').acquire({ lostOn: 'expired' })
  const suspended = nextState(client, 'suspended')
  proxy.reset()
  await suspended
  expect(strict.signal.reason).toMatchObject({ reason: 'suspended' })
  expect(lenient.signal.aborted).toBe(false)
  await client.connected()
  await client.get('/')
  expect(lenient.signal.aborted).toBe(false)
  await Promise.all([strict.release(), lenient.release()])
  expect(await new Lock(client, '/strict').queue()).toEqual([])
})

test('a client that is cut off knows that the lock is lost before another one can have it', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 600 })
  const other = await open()
  const held = await new Lock(client, '/cut').acquire({ lostOn: 'expired' })
  const waiting = new Lock(other, '/cut').acquire()
  const lost = aborted(held.signal)
  proxy.cut()
  expect(await Promise.race([lost, waiting])).toMatchObject({ reason: 'expired' })
  await waiting
})

test('deleting the node takes the lock away, and its holder is told', async () => {
  const [first, second] = await Promise.all([open(), open()])
  const held = await new Lock(first, '/taken').acquire()
  const lost = aborted(held.signal)
  await second.delete(held.path)
  expect(await lost).toMatchObject({ name: 'LostError', reason: 'deleted' })
})

test('a waiter whose node is deleted rejects', async () => {
  const [first, second] = await Promise.all([open(), open()])
  const lock = new Lock(first, '/removed')
  const held = await lock.acquire()
  const waiting = new Lock(second, '/removed').acquire().catch((error: unknown) => error)
  const [, path] = await untilQueued(first, '/removed', 2)
  await first.delete(path!)
  expect(await waiting).toMatchObject({ name: 'LostError', reason: 'deleted' })
  await held.release()
})

test('a guarded transaction succeeds while the lock is held, and fails afterwards', async () => {
  const client = await open()
  const held = await new Lock(client, '/guarded').acquire()
  const [{ path }] = await held.guard(client.transaction().create('/work')).commit()
  expect(path).toBe('/work')
  await held.release()
  expect(held.signal.reason).toMatchObject({ reason: 'released' })
  const late = held.guard(client.transaction().set('/work', 'late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', reason: 'released', path: held.path })
  expect((await client.get('/work')).stat.version).toBe(0)
})

test('giving up waiting leaves no node behind', async () => {
  const [first, second] = await Promise.all([open(), open()])
  const lock = new Lock(first, '/given-up')
  const held = await lock.acquire()
  const controller = new AbortController()
  const unwanted = new Lock(second, '/given-up').acquire({ signal: controller.signal })
  const late = new Lock(second, '/given-up').acquire({ timeoutMs: 100 })
  const reasons = Promise.allSettled([unwanted, late])
  await untilQueued(first, '/given-up', 3)
  controller.abort(new Error('enough'))
  const [one, two] = await reasons
  expect(one).toMatchObject({ reason: { message: 'enough' } })
  expect(two).toMatchObject({ reason: expect.any(TimeoutError) as TimeoutError })
  await second.sync('/given-up')
  expect(await untilQueued(first, '/given-up', 1)).toEqual([held.path])
  await held.release()
})

test('an aborted signal sends nothing', async () => {
  const client = await open()
  const signal = AbortSignal.abort(new Error('never mind'))
  await expect(new Lock(client, '/never').acquire({ signal })).rejects.toThrow('never mind')
  expect(await client.exists('/never')).toBeUndefined()
})

test('a place whose creation was not confirmed is found again, and there is only one', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await open()
  await client.ensure('/unconfirmed')
  proxy.hold({ direction: 'toClient' })
  const acquiring = new Lock(client, '/unconfirmed').acquire({ lostOn: 'expired' })
  const [path] = await untilQueued(other, '/unconfirmed', 1)
  proxy.reset()
  await proxy.heal()
  const held = await acquiring
  expect(held.path).toBe(path)
  expect(await new Lock(other, '/unconfirmed').queue()).toEqual([path])
})

test('giving up before the creation was confirmed leaves no node behind', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await open()
  await client.ensure('/unconfirmed-abort')
  const controller = new AbortController()
  proxy.hold({ direction: 'toClient' })
  const acquiring = new Lock(client, '/unconfirmed-abort').acquire({ signal: controller.signal })
  const outcome = acquiring.catch((error: unknown) => error)
  await untilQueued(other, '/unconfirmed-abort', 1)
  controller.abort(new Error('enough'))
  expect(await outcome).toMatchObject({ message: 'enough' })
  proxy.reset()
  await proxy.heal()
  await untilQueued(other, '/unconfirmed-abort', 0)
})

test('tryAcquire takes the lock only if it is free, and leaves nothing behind', async () => {
  const [first, second] = await Promise.all([open(), open()])
  const lock = new Lock(second, '/tried')
  const held = await new Lock(first, '/tried').tryAcquire()
  expect(held).toBeDefined()
  expect(await lock.tryAcquire()).toBeUndefined()
  expect(await lock.queue()).toEqual([held!.path])
  await held!.release()
  await using mine = await lock.tryAcquire()
  expect(mine).toBeDefined()
})

test('the end of the sequence numbers does not change the order', async () => {
  const client = await open()
  const lock = new Lock(client, '/overflow')
  // The numbers that servers give when the counter has reached its end, and after that.
  const guid = '_c_00000000-0000-4000-8000-000000000000'
  const before = [`${guid}-lock-2147483646`, 'f00d__lock__2147483647']
  await client.ensure('/overflow')
  for (const name of before) await makeEphemeral(client, `/overflow/${name}`)
  await makeEphemeral(client, `/overflow/${guid}-lock--2147483648`)
  expect(await lock.queue()).toEqual([
    ...before.map((name) => `/overflow/${name}`),
    `/overflow/${guid}-lock--2147483648`,
  ])
})

test('a number that is negative after the overflow comes before those that follow it', async () => {
  const client = await open()
  const lock = new Lock(client, '/overflown')
  await client.ensure('/overflown')
  const blocker = '/overflown/_c_00000000-0000-4000-8000-000000000000-lock--000000001'
  await makeEphemeral(client, blocker)
  const waiting = lock.acquire()
  const [first] = await untilQueued(client, '/overflown', 2)
  expect(first).toBe(blocker)
  await client.delete(blocker)
  await (await waiting).release()
})

test('a waiter counts the locks of kazoo', async () => {
  const client = await open()
  await client.ensure('/kazoo')
  await makeEphemeral(client, '/kazoo/2f1c0ee2f8b94a76bb4b1ef32b3c4f5d__lock__0000000000')
  const lock = new Lock(client, '/kazoo')
  expect(await lock.tryAcquire()).toBeUndefined()
  const waiting = lock.acquire()
  await untilQueued(client, '/kazoo', 2)
  await client.delete('/kazoo/2f1c0ee2f8b94a76bb4b1ef32b3c4f5d__lock__0000000000')
  await (await waiting).release()
})

test('sessions that end at any time neither overlap nor block the others', async () => {
  const ledger = await open()
  await ledger.create('/ledger', '0')
  const done = new Map<number, number>()
  const contenders = Array.from({ length: 8 }, async (_, i) => {
    const client = await open()
    const lock = new Lock(client, '/stormy')
    for (let round = 0; round < 6;) {
      try {
        await using held = await lock.acquire({ requeue: true })
        const { stat } = await client.get('/ledger')
        const write = client.transaction().set('/ledger', `${held.token}`, {
          ifVersion: stat.version,
        })
        if (round % 3 === i % 3) void expire(client, fixture.connectString)
        await held.guard(write).commit()
        const now = await client.get('/ledger')
        expect(now.stat.version).toBeGreaterThan(stat.version)
      } catch (error) {
        // Under the guard a compare-and-set never meets somebody else's write.
        expect(error).not.toMatchObject({ reason: 'badVersion' })
      }
      done.set(i, ++round)
      await client.connected()
    }
  })
  await Promise.all(contenders)
  expect([...done.values()]).toEqual(Array.from({ length: 8 }, () => 6))
  await untilQueued(ledger, '/stormy', 0)
})

async function makeEphemeral(client: Client, path: string): Promise<void> {
  await client.create(path, '', { ephemeral: true })
}

test('a waiter that lost its place is told without waiting for a connection past the deadline', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const other = await open()
  await using _ = await new Lock(other, '/late').acquire()
  const acquiring = new Lock(client, '/late').acquire({ timeoutMs: 1000 })
  const outcome = acquiring.catch((error: unknown) => error)
  const [, path] = await untilQueued(other, '/late', 2)
  const exists = client.exists.bind(client)
  client.exists = (...args: Parameters<typeof exists>) => {
    proxy.cut()
    return exists(...args)
  }
  await other.delete(path!)
  expect(await outcome).toMatchObject({ code: 'lost' })
})
