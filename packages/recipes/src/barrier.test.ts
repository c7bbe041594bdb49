import { TimeoutError } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied, outlived } from '../test/support/trouble.ts'
import { Barrier } from './barrier.ts'

const fixture = useServer()

test('nobody passes before the barrier is removed', async () => {
  const [keeper, ...waiters] = await Promise.all(Array.from({ length: 4 }, () => fixture.open()))
  const barrier = new Barrier(keeper!, '/parent/barrier')
  await barrier.raise()
  await barrier.raise()
  expect(await barrier.isUp()).toBe(true)
  let isDown = false
  const passing = waiters.map(async (client) => {
    await new Barrier(client, '/parent/barrier').wait()
    expect(isDown).toBe(true)
  })
  await Promise.all(waiters.map((client) => client.sync()))
  isDown = true
  await barrier.lower()
  await barrier.lower()
  await Promise.all(passing)
  expect(await barrier.isUp()).toBe(false)
})

test('without a barrier, waiting resolves at once', async () => {
  await new Barrier(await fixture.open(), '/none').wait()
})

test('a waiter checks again over the next connection and in the next session', async () => {
  const barrier = new Barrier(await fixture.open(), '/lasting')
  await barrier.raise()
  const { client, proxy } = await openProxied(fixture.connectString)
  const passing = new Barrier(client, '/lasting').wait()
  await client.sync()
  await expire(client, fixture.connectString)
  await client.connected()
  proxy.cut()
  await barrier.lower()
  await proxy.heal()
  await passing
})

test('a waiter that times out gets a TimeoutError', async () => {
  const client = await fixture.open()
  const barrier = new Barrier(client, '/given-up')
  await barrier.raise()
  await expect(barrier.wait({ timeoutMs: 30 })).rejects.toBeInstanceOf(TimeoutError)
  const signal = AbortSignal.timeout(30)
  await expect(barrier.wait({ signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(signal.aborted).toBe(true)
})

test('a barrier whose creation was not confirmed is set', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  let tell = (): void => {}
  const appeared = new Promise<void>((resolve) => (tell = resolve))
  await other.exists('/unconfirmed', { watch: () => tell() })
  proxy.hold({ direction: 'toClient' })
  const raising = new Barrier(client, '/unconfirmed').raise()
  await appeared
  proxy.reset()
  await proxy.heal()
  await raising
  expect(await new Barrier(other, '/unconfirmed').isUp()).toBe(true)
})

test('the deadline applies even if the connection is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const barrier = new Barrier(client, '/deadline')
  const late = { code: 'timeout', mayHaveHappened: true }
  expect(await outlived(proxy, (limits) => barrier.raise(limits))).toMatchObject(late)
  await client.sync()
  expect(await outlived(proxy, (limits) => barrier.lower(limits))).toMatchObject(late)
})

test('waiting leaves no watch behind on a node that may never come again', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const barrier = new Barrier(client, '/watched-for')
  await barrier.raise()
  const before = other.stats().watches
  const waiting = new Barrier(other, '/watched-for').wait()
  await expect.poll(() => other.stats().watches).toBe(before + 1)
  await barrier.lower()
  await waiting
  expect(other.stats().watches).toBe(before)
})
