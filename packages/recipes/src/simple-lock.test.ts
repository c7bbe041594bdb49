import { ConnectionLossError, OperationError } from '@zabra/client'
import { aborted, nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied, roundTrips } from '../test/support/trouble.ts'
import { SimpleLock } from './simple-lock.ts'

const fixture = useServer()

test('one holds it at a time, and tokens grow', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => fixture.open()))
  const tokens: bigint[] = []
  let holders = 0
  const rounds = clients.flatMap((client) =>
    Array.from({ length: 3 }, async () => {
      await using held = await new SimpleLock(client, '/simple').acquire()
      expect(++holders).toBe(1)
      tokens.push(held.token)
      await client.sync()
      holders--
    }),
  )
  await Promise.all(rounds)
  expect(tokens).toHaveLength(12)
  expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true)
  await untilChildren(clients[0]!, '/simple', 0)
})

test('tryAcquire does not wait', async () => {
  const client = await fixture.open()
  const lock = new SimpleLock(client, '/tried')
  const held = await lock.tryAcquire()
  expect(held?.path).toBe('/tried/held')
  expect(await lock.tryAcquire()).toBeUndefined()
  await held!.release()
  expect(await lock.tryAcquire()).toBeDefined()
})

test('the guard distinguishes one holder from the next, even if the node was deleted by hand', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const old = await new SimpleLock(first, '/by-hand').acquire()
  await old.guard(first.transaction().create('/by-hand-1')).commit()
  const lost = aborted(old.signal)
  await second.delete(old.path)
  expect(await lost).toMatchObject({ reason: 'deleted' })
  const next = await new SimpleLock(second, '/by-hand').acquire()
  expect(next.token).toBeGreaterThan(old.token)
  const late = old.guard(first.transaction().create('/by-hand-2')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', reason: 'deleted' })
  await old.release()
  expect(await second.exists(next.path)).toBeDefined()
  await next.guard(second.transaction().create('/by-hand-3')).commit()
  await next.release()
  await untilChildren(second, '/by-hand', 0)
})

test('a holder releases it even if somebody has set the data of its parent', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const held = await new SimpleLock(first, '/set').acquire()
  const waiting = new SimpleLock(second, '/set').acquire()
  await second.set('/set', 'a note')
  await held.release()
  await (await waiting).release()
  await untilChildren(first, '/set', 0)
})

test('the end of the session loses it', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const held = await new SimpleLock(first, '/expiry').acquire({ lostOn: 'expired' })
  const waiting = new SimpleLock(second, '/expiry').acquire()
  await expire(first, fixture.connectString)
  expect(held.signal.aborted).toBe(true)
  const next = await waiting
  const late = held.guard(first.transaction().create('/expiry-late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost' })
  await held.release()
  expect(next.signal.aborted).toBe(false)
})

test('a lock whose creation was not confirmed is found again, and released if nobody wants it', async () => {
  const other = await fixture.open()
  const { client, proxy } = await openProxied(fixture.connectString)
  const lock = new SimpleLock(client, '/unconfirmed')
  await client.ensure('/unconfirmed')
  proxy.hold({ direction: 'toClient' })
  const acquiring = lock.acquire({ lostOn: 'expired' })
  await untilChildren(other, '/unconfirmed', 2)
  proxy.reset()
  await proxy.heal()
  const held = await acquiring
  expect((await other.exists('/unconfirmed/held'))?.czxid).toBe(held.token)
  await held.release()
  await untilChildren(other, '/unconfirmed', 0)

  const controller = new AbortController()
  proxy.hold({ direction: 'toClient' })
  const unwanted = lock.acquire({ signal: controller.signal }).catch((error: unknown) => error)
  await untilChildren(other, '/unconfirmed', 2)
  controller.abort(new Error('enough'))
  expect(await unwanted).toMatchObject({ message: 'enough' })
  proxy.reset()
  await proxy.heal()
  await untilChildren(other, '/unconfirmed', 0)
})

test('its outcome is looked for until there is an answer', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  await client.ensure('/refused-look')
  const lock = new SimpleLock(client, '/refused-look')
  // The create waits for space on the server's disk when its connection is lost.
  let room!: () => void
  const hasRoom = new Promise<void>((resolve) => (room = resolve))
  const transaction = client.transaction.bind(client)
  const exists = client.exists.bind(client)
  let made: Promise<unknown> | undefined
  client.transaction = () => {
    client.transaction = transaction
    const begun = transaction()
    const commit = begun.commit.bind(begun)
    begun.commit = () => {
      made = hasRoom.then(() => commit())
      return Promise.reject(new ConnectionLossError(true))
    }
    return begun
  }
  client.exists = async (_, options) => {
    client.exists = exists
    room()
    await made
    expect(options?.consistency).toBe('session')
    throw new OperationError('systemError')
  }
  const held = await lock.acquire()
  expect(made).toBeDefined()
  expect((await other.exists('/refused-look/held'))?.czxid).toBe(held.token)
  await held.release()
  await untilChildren(other, '/refused-look', 0)
})

test('a lock that is lost before it is confirmed is waited for again', async () => {
  const other = await fixture.open()
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  await client.ensure('/passed-on')
  proxy.hold({ direction: 'toClient' })
  const acquiring = new SimpleLock(client, '/passed-on').acquire({ lostOn: 'expired' })
  await untilChildren(other, '/passed-on', 2)
  await other.delete('/passed-on/held')
  const next = await new SimpleLock(other, '/passed-on').acquire()
  proxy.reset()
  await proxy.heal()
  await client.connected()
  await roundTrips(client, 5)
  await next.release()
  const held = await acquiring
  expect(held.token).toBeGreaterThan(next.token)
  await held.guard(client.transaction().create('/passed-on-1')).commit()
  await held.release()
  await untilChildren(other, '/passed-on', 0)
})

test('a waiter whose session ends while it reads the lock reads again in the next', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const held = await new SimpleLock(other, '/waits').acquire()
  const exists = client.exists.bind(client)
  client.exists = (path, options) => {
    client.exists = exists
    proxy.cut()
    return exists(path, options)
  }
  const expired = nextState(client, 'expired')
  const acquiring = new SimpleLock(client, '/waits').acquire()
  await Promise.race([expired, acquiring])
  await proxy.heal()
  await held.release()
  expect((await acquiring).token).toBeGreaterThan(held.token)
})

test('an option that is left out keeps the default of the lock', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const lock = new SimpleLock(client, '/option', { lostOn: 'expired' })
  const held = await lock.acquire({ lostOn: undefined })
  proxy.reset()
  await nextState(client, 'suspended')
  expect(held.signal.aborted).toBe(false)
})
