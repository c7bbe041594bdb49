import { untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { openProxied } from '../test/support/trouble.ts'
import { ReadWriteLock } from './read-write-lock.ts'

const fixture = useServer()

/** Whether a promise is still pending once the client has received everything from the server. */
async function isPending(promise: Promise<unknown>, settle: () => Promise<unknown>) {
  await settle()
  const pending = Symbol('pending')
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending
}

test('readers share the lock, a writer has it alone, and nobody overtakes', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/shared')
  const readers = [await lock.read.acquire(), await lock.read.acquire()]
  const writing = lock.write.acquire()
  await untilChildren(client, '/shared', 3)
  const late = lock.read.acquire()
  await untilChildren(client, '/shared', 4)
  await readers[0]!.release()
  expect(await isPending(writing, () => client.sync())).toBe(true)
  await readers[1]!.release()
  const writer = await writing
  expect(await isPending(late, () => client.sync())).toBe(true)
  await writer.release()
  const reader = await late
  expect(reader.token).toBeGreaterThan(writer.token)
  await reader.release()
})

test('nodes have the names of Curator', async () => {
  const lock = new ReadWriteLock(await fixture.open(), '/names')
  await using reader = await lock.read.acquire()
  expect(reader.path).toMatch(/^\/names\/_c_[0-9a-f-]{36}-__READ__\d{10}$/)
  await reader.release()
  await using writer = await lock.write.acquire()
  expect(writer.path).toMatch(/^\/names\/_c_[0-9a-f-]{36}-__WRIT__\d{10}$/)
})

test('a reader is woken only by the last writer before it', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/calm')
  const first = await lock.read.acquire()
  const writing = [lock.write.acquire(), lock.write.acquire()]
  await untilChildren(client, '/calm', 3)
  const waiter = await fixture.open()
  const reading = new ReadWriteLock(waiter, '/calm').read.acquire()
  await untilChildren(client, '/calm', 4)
  await waiter.sync()
  await first.release()
  await (await writing[0]!).release()
  const last = await writing[1]!
  await waiter.sync()
  expect(waiter.stats().notifications).toBe(0)
  await last.release()
  await reading
  expect(waiter.stats().notifications).toBe(1)
})

test('a writer that gives up lets the readers behind it in', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/impatient')
  const first = await lock.read.acquire()
  const controller = new AbortController()
  const writing = lock.write.acquire({ signal: controller.signal }).catch((error: unknown) => error)
  await untilChildren(client, '/impatient', 2)
  const reading = lock.read.acquire()
  await untilChildren(client, '/impatient', 3)
  controller.abort(new Error('enough'))
  expect(await writing).toMatchObject({ message: 'enough' })
  await (await reading).release()
  await first.release()
})

test('tryAcquire does not wait, and waiting writers count', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/tried')
  const reader = await lock.read.tryAcquire()
  expect(reader).toBeDefined()
  expect(await lock.write.tryAcquire()).toBeUndefined()
  const second = await lock.read.tryAcquire()
  expect(second).toBeDefined()
  const writing = lock.write.acquire()
  await untilChildren(client, '/tried', 3)
  expect(await lock.read.tryAcquire()).toBeUndefined()
  await Promise.all([reader!.release(), second!.release()])
  await (await writing).release()
})

test('the read and write locks of kazoo on the same path count', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/kazoo')
  await client.ensure('/kazoo')
  await client.create('/kazoo/0a__rlock__0000000000', '', { ephemeral: true })
  await (await lock.read.acquire()).release()
  expect(await lock.write.tryAcquire()).toBeUndefined()
  await client.create('/kazoo/0b__lock__0000000001', '', { ephemeral: true })
  expect(await lock.read.tryAcquire()).toBeUndefined()
})

test('a downgraded write lock keeps its place: readers come in, and no writer before them', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/rw/downgraded')
  const writing = await lock.write.acquire()
  const waitingWriter = lock.write.acquire()
  await untilChildren(client, '/rw/downgraded', 2)
  const reading = await lock.downgrade(writing)
  expect(writing.signal.reason).toMatchObject({ reason: 'released' })
  expect(reading.signal.aborted).toBe(false)
  expect(reading.token).toBe(writing.token)
  expect(await lock.write.tryAcquire()).toBeUndefined()
  expect(await lock.read.queue()).toMatchObject([reading.path, expect.stringContaining('__WRIT__')])
  await reading.guard(client.transaction().create('/rw/while-reading')).commit()
  await reading.release()
  const next = await waitingWriter
  expect(next.token).toBeGreaterThan(reading.token)
  await next.release()
})

test('a downgrade that is not answered in time leaves no node behind', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const lock = new ReadWriteLock(client, '/rw/late')
  const other = await fixture.open()
  const writing = await lock.write.acquire({ lostOn: 'expired' })
  proxy.hold({ direction: 'toClient' })
  const downgrading = lock.downgrade(writing, { timeoutMs: 300 })
  await expect(downgrading).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: true })
  proxy.reset()
  await proxy.heal()
  await writing.release()
  const { signal } = writing
  expect(signal.aborted).toBe(true)
  await untilChildren(other, '/rw/late', 0)
})

test('anything but a held write lock cannot be downgraded', async () => {
  const client = await fixture.open()
  const lock = new ReadWriteLock(client, '/rw/not-downgraded')
  const reading = await lock.read.acquire()
  await expect(lock.downgrade(reading)).rejects.toThrow(TypeError)
  await reading.release()
  const writing = await lock.write.acquire()
  await writing.release()
  await expect(lock.downgrade(writing)).rejects.toMatchObject({ code: 'lost' })
})

test('a downgrade with a lost reply is found', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const lock = new ReadWriteLock(client, '/rw/found')
  const other = await fixture.open()
  const writing = await lock.write.acquire({ lostOn: 'expired' })
  proxy.hold({ direction: 'toClient' })
  const downgrading = lock.downgrade(writing, { lostOn: 'expired' })
  const isReader = async (): Promise<boolean> =>
    (await other.children('/rw/found')).some((name) => name.includes('__READ__'))
  while (!(await isReader())) await other.sync()
  proxy.reset()
  await proxy.heal()
  const reading = await downgrading
  expect(await other.children('/rw/found')).toHaveLength(1)
  await reading.guard(client.transaction().create('/rw/found-again')).commit()
  await reading.release()
})
