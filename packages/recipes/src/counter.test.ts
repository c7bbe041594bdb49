import { nextState } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { openProxied } from '../test/support/trouble.ts'
import { Counter } from './counter.ts'

const fixture = useServer()

test('a counter counts up and down', async () => {
  const counter = new Counter(await fixture.open(), '/counted')
  expect(await counter.get()).toBe(0n)
  expect(await counter.increment()).toBe(1n)
  expect(await counter.add(41)).toBe(42n)
  expect(await counter.decrement()).toBe(41n)
  await counter.set(-7)
  expect(await counter.get()).toBe(-7n)
  expect(await counter.compareAndSet(-7, 100)).toBe(true)
  expect(await counter.compareAndSet(-7, 200)).toBe(false)
  expect(await counter.get()).toBe(100n)
})

test('the layouts are those of Curator', async () => {
  const client = await fixture.open()
  await new Counter(client, '/long').set(0x0102030405060708n)
  expect([...(await client.get('/long')).data]).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  await new Counter(client, '/int', { layout: 'int' }).set(-2)
  expect([...(await client.get('/int')).data]).toEqual([255, 255, 255, 254])
  expect(await new Counter(client, '/int', { layout: 'int' }).get()).toBe(-2n)
  await client.create('/empty')
  expect(await new Counter(client, '/empty').increment()).toBe(1n)
  await expect(new Counter(client, '/int').get()).rejects.toThrow('4 bytes')
})

test('a number out of range is refused', async () => {
  const client = await fixture.open()
  const counter = new Counter(client, '/full', { layout: 'int', initial: 2147483647n })
  await expect(counter.increment()).rejects.toBeInstanceOf(RangeError)
  expect(await counter.decrement()).toBe(2147483646n)
})

test('a counter may start with a number or a bigint', async () => {
  const client = await fixture.open()
  const counters = [5, 5n].map((initial) => new Counter(client, '/begun', { initial }))
  expect(await Promise.all(counters.map((counter) => counter.get()))).toEqual([5n, 5n])
  expect(await counters[0]!.increment()).toBe(6n)
})

test('an invalid number is reported with its path', async () => {
  const client = await fixture.open()
  const counter = new Counter(client, '/wrong', { layout: 'int' })
  await expect(counter.set(2 ** 40)).rejects.toThrow(/4 bytes: \/wrong$/)
  await client.create('/wrong', 'xyz')
  await expect(counter.increment()).rejects.toThrow(/instead of a number of \d bytes: \/wrong$/)
  await expect(counter.live()).rejects.toThrow(/instead of a number of \d bytes: \/wrong$/)
})

test('concurrent counts are exact, even with lost connections', async () => {
  const contenders = await Promise.all(
    Array.from({ length: 3 }, () => openProxied(fixture.connectString)),
  )
  const counters = contenders.map(({ client }) => new Counter(client, '/exact'))
  const proxies = contenders.map(({ proxy }) => proxy)
  let left = 60
  const count = async (counter: Counter): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      await counter.increment()
      if (--left % 7 === 0) proxies[left % 3]!.reset()
    }
  }
  await Promise.all(counters.map(count))
  expect(await counters[0]!.get()).toBe(60n)
})

test('a live counter reports counts of others', async () => {
  const client = await fixture.open()
  const counter = new Counter(client, '/live')
  await using live = await new Counter(await fixture.open(), '/live').live()
  expect(live.current).toBe(0n)
  await counter.add(5)
  expect(await live.until((now) => now > 0n)).toBe(5n)
})

test('compareAndSet waits for the next session if it has not started', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 400 })
  const counter = new Counter(client, '/next-session')
  await counter.set(1)
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const expired = nextState(client, 'expired')
  const changed = counter.compareAndSet(1, 2)
  await expired
  await proxy.heal()
  expect(await changed).toBe(true)
  expect(await counter.get()).toBe(2n)
})
