import {
  ConnectionLossError,
  isRefusal,
  json,
  text,
  type Client,
  type Transaction,
} from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { Queue } from './queue.ts'

const fixture = useServer()
const open = (client: Client, path: string) => new Queue(client, path, { codec: text })

async function drain(queue: Queue<string>): Promise<string[]> {
  const values: string[] = []
  for (let item = await queue.tryTake(); item !== undefined; item = await queue.tryTake()) {
    values.push(item.value)
    await item.complete()
  }
  return values
}

/** A queue whose only item a consumer works on. */
async function takeOne(path: string) {
  const client = await fixture.open()
  const queue = open(client, path)
  await queue.put('a')
  return { client, queue, item: await queue.take() }
}

test('the first item in is the first one out', async () => {
  const queue = open(await fixture.open(), '/order')
  const values = Array.from({ length: 30 }, (_, i) => `${i}`)
  await Promise.all(values.map((value) => queue.put(value)))
  expect(await queue.size()).toBe(30)
  expect(await drain(open(await fixture.open(), '/order'))).toEqual(values)
  expect(await queue.size()).toBe(0)
})

test('the layout is that of kazoo, whose items count as well', async () => {
  const client = await fixture.open()
  const queue = open(client, '/layout')
  await queue.put('a')
  expect(await client.children('/layout/entries')).toEqual(['entry-100-0000000000'])
  await client.create('/layout/entries/entry-100-', 'b', { sequential: true })
  const item = await queue.take()
  expect([item.value, item.entryPath]).toEqual(['a', '/layout/entries/entry-100-0000000000'])
  expect(item.path).toBe('/layout/taken/entry-100-0000000000')
  expect((await client.exists(item.path))?.ephemeralOwner).toBe(client.session!.id)
  await client.create('/layout/taken/entry-100-0000000001', 'kazoo', { ephemeral: true })
  expect(await queue.tryTake()).toBeUndefined()
})

test('order survives the overflow of sequence numbers', async () => {
  const client = await fixture.open()
  await client.ensure('/overflow/entries')
  for (const number of ['2147483646', '2147483647', '-2147483648', '-2147483647'])
    await client.create(`/overflow/entries/entry-100-${number}`, number)
  expect(await drain(open(client, '/overflow'))).toEqual([
    '2147483646',
    '2147483647',
    '-2147483648',
    '-2147483647',
  ])
})

test('an item that somebody works on is given to nobody else, until it is released', async () => {
  const queue = open(await fixture.open(), '/worked-on')
  const other = open(await fixture.open(), '/worked-on')
  await queue.put('a')
  const item = (await queue.tryTake())!
  expect(await other.tryTake()).toBeUndefined()
  await item.release()
  expect(item.signal.reason).toMatchObject({ reason: 'released' })
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
  const again = (await other.tryTake())!
  expect(again.value).toBe('a')
  expect(again.token).toBeGreaterThan(item.token)
  {
    await using last = again
    await last.complete()
  }
  expect(await queue.size()).toBe(0)
})

test('waiting consumers are woken one by one, in order', async () => {
  const producer = open(await fixture.open(), '/waiting')
  const served: number[] = []
  const lined = await fixture.open()
  const takes = []
  for (let i = 0; i < 3; i++) {
    const queue = open(await fixture.open(), '/waiting')
    takes.push(
      queue.take().then(async (item) => {
        served.push(i)
        await item.complete()
      }),
    )
    await expect.poll(() => lined.children('/waiting/line').catch(() => [])).toHaveLength(i + 1)
  }
  for (let i = 0; i < 3; i++) {
    await producer.put(`${i}`)
    await Promise.race(takes.slice(i))
    await expect.poll(() => served.length).toBe(i + 1)
  }
  await Promise.all(takes)
  expect(served).toEqual([0, 1, 2])
  await expect.poll(() => lined.children('/waiting/line')).toEqual([])
})

test('a new item wakes only the first in line', async () => {
  const producer = open(await fixture.open(), '/herd')
  const first = await fixture.open()
  const second = await fixture.open()
  const observer = await fixture.open()
  const served = open(first, '/herd').take()
  const lineLength = (): Promise<number> =>
    observer.children('/herd/line').then(
      ({ length }) => length,
      () => 0,
    )
  await expect.poll(lineLength).toBe(1)
  const waiting = open(second, '/herd').take()
  await expect.poll(lineLength).toBe(2)
  await second.sync()
  const before = second.stats().notifications
  await producer.put('a')
  const item = await served
  await item.complete()
  await expect.poll(lineLength).toBe(1)
  // It notices that its predecessor has left the line, and nothing else.
  await second.sync()
  expect(second.stats().notifications - before).toBe(1)
  await producer.put('b')
  expect((await waiting).value).toBe('b')
})

test('the item of a crashed consumer is delivered again, also to a waiter', async () => {
  const crashing = await fixture.open()
  const other = open(await fixture.open(), '/crash')
  await other.put('a')
  const item = await open(crashing, '/crash').take()
  const waiting = other.take()
  await expire(crashing, fixture.connectString)
  const again = await waiting
  expect(again.value).toBe('a')
  expect(again.token).toBeGreaterThan(item.token)
  expect(item.signal.aborted).toBe(true)
  // In its next session the first one must not be able to take the item from the second.
  await crashing.connected()
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
  await item.release()
  await expect(
    item.guard(crashing.transaction().create('/crash-done')).commit(),
  ).rejects.toMatchObject({ code: 'lost' })
  await again.guard((await fixture.open()).transaction().create('/crash-done')).commit()
  await again.complete()
  expect(await other.size()).toBe(0)
})

test('an item put with a lost reply exists once', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const queue = open(client, '/put-lost')
  const other = open(await fixture.open(), '/put-lost')
  await queue.put('0')
  proxy.hold({ direction: 'toClient' })
  const puts = Promise.all([queue.put('1'), queue.put('2')])
  await expect.poll(() => other.size()).toBe(3)
  proxy.reset()
  await proxy.heal()
  await puts
  await queue.put('3')
  expect(await drain(other)).toEqual(['0', '1', '2', '3'])
})

test('an item taken with a lost reply is known to be taken', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const observer = await fixture.open()
  const queue = open(client, '/take-lost')
  await queue.put('a')
  await queue.put('b')
  const first = (await queue.tryTake())!
  proxy.hold({ direction: 'toClient' })
  const second = queue.tryTake()
  await expect.poll(() => observer.children('/take-lost/taken')).toHaveLength(2)
  proxy.reset()
  await proxy.heal()
  const item = (await second)!
  expect(item.value).toBe('b')
  proxy.hold({ direction: 'toClient' })
  const completed = item.complete()
  await expect.poll(() => observer.children('/take-lost/entries')).toHaveLength(1)
  proxy.reset()
  await proxy.heal()
  await completed
  await first.complete()
  expect(await observer.children('/take-lost/taken')).toEqual([])
})

test('a lost reply to releasing an item takes it from nobody who got it since', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const queue = open(client, '/release-lost')
  await queue.put('a')
  const first = await queue.take()
  const taker = await fixture.open()
  proxy.hold({ direction: 'toClient' })
  const released = first.release()
  const second = await open(taker, '/release-lost').take()
  proxy.reset()
  await proxy.heal()
  await released
  expect(await open(await fixture.open(), '/release-lost').tryTake()).toBeUndefined()
  expect(second.signal.aborted).toBe(false)
  const late = first.guard(client.transaction().create('/release-lost-late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost' })
  await second.guard(taker.transaction().create('/release-lost-guarded')).commit()
  await second.complete()
  expect(await queue.size()).toBe(0)
})

test('a completion that resolves has completed the item, even if its mark was deleted in the meantime', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const queue = open(client, '/complete-lost')
  await queue.put('a')
  const first = await queue.take()
  // The request is lost, not only the reply.
  const suspended = nextState(client, 'suspended')
  const transaction = client.transaction.bind(client)
  client.transaction = () => {
    client.transaction = transaction
    const lost = transaction()
    lost.commit = () => Promise.reject(new ConnectionLossError(true))
    return lost
  }
  proxy.cut()
  await suspended
  const completed = first.complete()
  const other = await fixture.open()
  await other.delete(first.path)
  const second = await open(other, '/complete-lost').take()
  await proxy.heal()
  await expect(completed).rejects.toMatchObject({ code: 'lost' })
  expect(await queue.size()).toBe(1)
  await second.complete()
})

test('a mark deleted by hand frees the item, and the guard distinguishes the next consumer', async () => {
  const { client, queue, item } = await takeOne('/by-hand')
  const other = await fixture.open()
  await other.delete(item.path)
  const next = await open(other, '/by-hand').take()
  const late = item.guard(client.transaction().create('/by-hand-late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost' })
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
  await item.release()
  await next.guard(other.transaction().create('/by-hand-guarded')).commit()
  await next.release()
  // Nothing is left of either.
  const again = await queue.take()
  await again.guard(client.transaction().create('/by-hand-again')).commit()
  await again.complete()
  expect(await client.children('/by-hand/taken')).toEqual([])
})

test('the same if the next consumer uses kazoo', async () => {
  const { client, queue, item } = await takeOne('/by-kazoo')
  const kazoo = await fixture.open()
  await kazoo
    .transaction()
    .delete(item.path)
    .create(item.path, 'kazoo', { ephemeral: true })
    .commit()
  const late = item.guard(client.transaction().create('/by-kazoo-late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost' })
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
  await item.release()
  expect(await kazoo.exists(item.path)).toBeDefined()
  await kazoo.delete(item.path)
  await (await queue.take()).complete()
})

test('a lost connection makes an item uncertain, or not, by policy; completing it continues', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const careful = open(client, '/suspended')
  const bold = new Queue(client, '/suspended', { codec: text, lostOn: 'expired' })
  await careful.put('a')
  await careful.put('b')
  const a = await careful.take()
  const b = await bold.take()
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  expect(a.signal.reason).toMatchObject({ reason: 'suspended' })
  expect(b.signal.aborted).toBe(false)
  await proxy.heal()
  await Promise.all([a.complete(), b.complete()])
  expect(await careful.size()).toBe(0)
})

test('a waiting consumer survives its session', async () => {
  const client = await fixture.open()
  const producer = open(await fixture.open(), '/outlasts')
  const waiting = open(client, '/outlasts').take()
  await expect.poll(() => client.children('/outlasts/line').catch(() => [])).toHaveLength(1)
  await expire(client, fixture.connectString)
  await producer.put('a')
  const item = await waiting
  expect(item.value).toBe('a')
  await item.complete()
})

test('giving up waiting leaves the line, and takes nothing', async () => {
  const client = await fixture.open()
  const queue = open(client, '/given-up')
  await expect(queue.take({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'timeout' })
  await expect.poll(() => client.children('/given-up/line').catch(() => [])).toEqual([])
  await queue.put('a')
  const { client: slow, proxy } = await openProxied(fixture.connectString)
  const other = open(slow, '/given-up')
  await other.put('b')
  proxy.hold({ direction: 'toClient' })
  const controller = new AbortController()
  const take = other.tryTake({ signal: controller.signal })
  controller.abort('enough')
  await expect(take).rejects.toBe('enough')
  proxy.reset()
  await proxy.heal()
  await slow.sync()
  expect(await drain(queue)).toEqual(['a', 'b'])
})

test('an ephemeral item goes with its producer, a persistent one stays', async () => {
  const producer = await fixture.open()
  const queue = open(await fixture.open(), '/ephemeral')
  const own = open(producer, '/ephemeral')
  await own.put('gone', { ephemeral: true })
  await own.put('stays')
  const item = (await queue.tryTake())!
  expect(item.value).toBe('gone')
  await producer.close()
  // Somebody worked on it: completing it does no harm.
  await item.complete()
  expect(await drain(queue)).toEqual(['stays'])
})

test('after closing only items are left, once the taken ones are released', async () => {
  const { client, queue, item } = await takeOne('/left')
  await queue.close()
  const left = await client.children('/left/clients')
  expect(left.toSorted()).toEqual([expect.stringMatching(/^consumer-/), 'entry-100-0000000000'])
  await item.guard(client.transaction().create('/left-guarded')).commit()
  await item.release()
  expect(await client.children('/left/clients').catch(() => [])).toEqual([])
  expect(await queue.size()).toBe(1)
})

test('an item that cannot be decoded can be discarded', async () => {
  const client = await fixture.open()
  const queue = new Queue(client, '/poison', { codec: json<number>() })
  await open(client, '/poison').put('{')
  await queue.put(7)
  const item = await queue.take()
  expect(() => item.value).toThrow('not JSON')
  await item.complete()
  expect((await queue.take()).value).toBe(7)
})

test('a completion that was not awaited can be awaited again', async () => {
  const { queue, item } = await takeOne('/impatient')
  const controller = new AbortController()
  const completed = item.complete({ signal: controller.signal })
  // It is on its way by now.
  controller.abort(new Error('too long'))
  await expect(completed).rejects.toThrow('too long')
  await item.complete()
  expect(await queue.size()).toBe(0)
})

test('a completion given up before it was sent does not count', async () => {
  const { client, queue, item } = await takeOne('/never-asked')
  await expect(item.complete({ signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
  await client.delete(item.path)
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
  expect(await queue.size()).toBe(1)
})

test('a completion does not fail because another call gave up', async () => {
  const { queue, item } = await takeOne('/impatient-other')
  const controller = new AbortController()
  const given = item.complete({ signal: controller.signal })
  const completed = item.complete()
  controller.abort(new Error('too long'))
  const again = item.complete()
  await expect(given).rejects.toThrow('too long')
  await Promise.all([completed, again])
  expect(await queue.size()).toBe(0)
})

test("giving up waiting for somebody else's completion changes nothing", async () => {
  const { item } = await takeOne('/impatient-second')
  const controller = new AbortController()
  const completed = item.complete()
  const given = item.complete({ signal: controller.signal })
  controller.abort(new Error('too long'))
  const again = item.complete()
  await expect(given).rejects.toThrow('too long')
  await Promise.all([completed, again])
  await expect(item.complete({ signal: controller.signal })).rejects.toThrow('too long')
  await item.complete()
})

/** An item whose completion was requested without a connection, in vain. */
async function completeInVain(path: string) {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const other = await fixture.open()
  await open(client, path).put('a')
  const item = await open(client, path).take()
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await expect(item.complete({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'timeout' })
  return { proxy, item, other, others: open(other, path) }
}

test("after a release, somebody else's completion does not count as ours", async () => {
  const { proxy, item, others } = await completeInVain('/given-back')
  const released = item.release()
  await proxy.heal()
  await released
  await (await others.take()).complete()
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost', reason: 'released' })
})

test('the same while the item is being released', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const queue = open(client, '/giving-back')
  await queue.put('a')
  const item = await queue.take()
  proxy.reset()
  await nextState(client, 'suspended')
  await client.connected()
  // Both the request to complete it and the reply to the release are lost.
  const transaction = client.transaction.bind(client)
  const suspended = nextState(client, 'suspended')
  client.transaction = () => {
    client.transaction = transaction
    const lost = transaction()
    lost.commit = async () => {
      proxy.hold({ direction: 'toClient' })
      await suspended
      throw new ConnectionLossError(true)
    }
    return lost
  }
  const completed = item.complete()
  const released = item.release()
  const others = open(await fixture.open(), '/giving-back')
  await (await others.take()).complete()
  proxy.reset()
  await proxy.heal()
  await expect(completed).rejects.toMatchObject({ code: 'lost', reason: 'released' })
  await released
})

test('a completion that could not be sent does not count', async () => {
  const { proxy, item, other, others } = await completeInVain('/never-sent')
  await other.delete(item.path)
  await (await others.take()).complete()
  await proxy.heal()
  await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
})

test('an item whose taking was given up is the next to be taken', async () => {
  const client = await fixture.open()
  const queue = open(client, '/untaken')
  for (const value of ['a', 'b', 'c']) await queue.put(value)
  await (await queue.take()).complete()
  const controller = new AbortController()
  const taken = queue.take({ signal: controller.signal })
  controller.abort(new Error('too long'))
  await expect(taken).rejects.toThrow('too long')
  await expect.poll(() => client.children('/untaken/taken')).toEqual([])
  expect((await queue.take()).value).toBe('b')
})

test('an item is completed together with other operations', async () => {
  const { client, queue, item } = await takeOne('/also')
  await client.create('/also-there')
  await expect(
    item.complete({ also: (transaction) => transaction.create('/also-there') }),
  ).rejects.toMatchObject({ reason: 'nodeExists', path: '/also-there' })
  expect([await queue.size(), item.signal.aborted]).toEqual([1, false])
  const also = (transaction: Transaction<readonly unknown[]>): void => {
    transaction.create('/also-result', 'x')
  }
  await item.complete({ also })
  expect(await queue.size()).toBe(0)
  expect(await client.exists('/also-result')).toBeDefined()
})

test('nothing is lost and nothing done twice, while consumers crash and connections break', async () => {
  const consumers = await Promise.all(
    Array.from({ length: 3 }, () => openProxied(fixture.connectString)),
  )
  const producer = open(await fixture.open(), '/chaos')
  const observer = await fixture.open()
  await observer.ensure('/chaos-done')
  const values = Array.from({ length: 60 }, (_, i) => `${i}`)
  await Promise.all(values.map((value) => producer.put(value)))
  const over = new AbortController()
  const refusals: unknown[] = []
  const consume = async ({ client, proxy }: (typeof consumers)[number], n: number) => {
    const queue = open(client, '/chaos')
    for (let i = 0; !over.signal.aborted; i++) {
      try {
        await using item = await queue.take({ signal: over.signal })
        if (i % 7 === n) proxy.reset()
        if (i % 11 === n) await expire(client, fixture.connectString)
        await item.complete({ also: (tx) => tx.create(`/chaos-done/${item.value}`) })
      } catch (error) {
        // Doing it twice would be refused: the record exists.
        if (isRefusal(error)) refusals.push(error)
      }
      if ((await producer.size()) === 0) over.abort()
    }
  }
  await Promise.all(consumers.map(consume))
  const records = await observer.children('/chaos-done')
  expect(records.map(Number).toSorted((a, b) => a - b)).toEqual(values.map(Number))
  expect(refusals).toEqual([])
})
