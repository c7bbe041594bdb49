import { text, type Client } from '@zabra/client'
import { nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { expire, openProxied } from '../../test/support/trouble.ts'
import { PriorityQueue } from '../priority-queue.ts'
import { Queue } from '../queue.ts'

const fixture = useServer()
const open = (client: Client, path: string) => new Queue(client, path, { codec: text })

async function filled(path: string, ...values: readonly string[]) {
  const client = await fixture.open()
  const queue = open(client, path)
  for (const value of values) await queue.put(value)
  return { client, queue }
}

test('an iteration delivers one item after another, and waits for more', async () => {
  const { client, queue } = await filled('/one-by-one', 'a', 'b')
  const producer = open(await fixture.open(), '/one-by-one')
  const values: string[] = []
  let late: Promise<void> | undefined
  for await (const item of queue.items()) {
    values.push(item.value)
    await item.complete()
    if (values.length === 2)
      late = untilChildren(client, '/one-by-one/line', 1).then(() => producer.put('c'))
    if (values.length === 3) break
  }
  await late
  expect(values).toEqual(['a', 'b', 'c'])
  expect(await queue.size()).toBe(0)
})

test('that of a priority queue starts with the most urgent each time', async () => {
  const queue = new PriorityQueue(await fixture.open(), '/urgent', { codec: text })
  await queue.put('late', 900)
  await queue.put('first', 5)
  const values: string[] = []
  for await (const item of queue.items()) {
    values.push(item.value)
    await item.complete()
    if (values.length === 1) await queue.put('urgent', 0)
    if (values.length === 3) break
  }
  expect(values).toEqual(['first', 'urgent', 'late'])
})

test('an item that was not completed is released before the next one', async () => {
  const { client, queue } = await filled('/forgotten', 'a', 'b')
  const seen: string[] = []
  let forgotten: AbortSignal | undefined
  for await (const item of queue.items()) {
    seen.push(item.value)
    if (seen.length === 1) {
      forgotten = item.signal
      continue
    }
    expect(await client.children('/forgotten/taken')).toHaveLength(1)
    await item.complete()
    if ((await queue.size()) === 0) break
  }
  expect(forgotten!.reason).toMatchObject({ code: 'lost', reason: 'released' })
  expect(seen).toEqual(['a', 'b', 'a'])
})

test('an item completed without awaiting is completed, not released', async () => {
  const { queue } = await filled('/unawaited', 'a', 'b')
  const completed: Promise<void>[] = []
  for await (const item of queue.items()) {
    completed.push(item.complete())
    if (completed.length === 2) break
  }
  await Promise.all(completed)
  expect(await queue.size()).toBe(0)
})

test('an item that was released in its turn stays released', async () => {
  const { queue } = await filled('/returned', 'a')
  const other = open(await fixture.open(), '/returned')
  for await (const item of queue.items()) {
    await item.release()
    await (await other.take()).complete()
    break
  }
  expect(await queue.size()).toBe(0)
})

test('leaving the loop releases the item, normally or by an error', async () => {
  const { client, queue } = await filled('/left', 'a')
  for await (const item of queue.items()) {
    expect(item.value).toBe('a')
    break
  }
  expect(await client.children('/left/taken')).toEqual([])
  const failing = async (): Promise<void> => {
    for await (const item of queue.items()) throw new Error(`no good: ${item.value}`)
  }
  await expect(failing()).rejects.toThrow('no good: a')
  expect(await client.children('/left/taken')).toEqual([])
  expect(await queue.size()).toBe(1)
})

test('a signal ends the wait with its reason, and leaves the line', async () => {
  const client = await fixture.open()
  const controller = new AbortController()
  const waiting = open(client, '/given-up').items({ signal: controller.signal }).next()
  await untilChildren(client, '/given-up/line', 1)
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await untilChildren(client, '/given-up/line', 0)
})

test('a signal that aborts during a turn lets it finish, and starts no other', async () => {
  const { queue } = await filled('/last-turn', 'a', 'b')
  const controller = new AbortController()
  const seen: string[] = []
  const consume = async (): Promise<void> => {
    for await (const item of queue.items({ signal: controller.signal })) {
      seen.push(item.value)
      controller.abort(new Error('enough'))
      expect(item.signal.aborted).toBe(false)
      await item.complete()
    }
  }
  await expect(consume()).rejects.toThrow('enough')
  expect([seen, await queue.size()]).toEqual([['a'], 1])
  await expect(queue.items({ signal: controller.signal }).next()).rejects.toThrow('enough')
})

test('an iteration that is ended by hand leaves no waiter', async () => {
  const client = await fixture.open()
  const items = open(client, '/by-hand').items()
  const waiting = items.next()
  await untilChildren(client, '/by-hand/line', 1)
  expect(await items.return!()).toEqual({ done: true, value: undefined })
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(await items.next()).toEqual({ done: true, value: undefined })
  await untilChildren(client, '/by-hand/line', 0)
})

test('a waiting iteration survives its session', async () => {
  const client = await fixture.open()
  const items = open(client, '/outlasts').items()
  const waiting = items.next()
  await untilChildren(client, '/outlasts/line', 1)
  await expire(client, fixture.connectString)
  await open(await fixture.open(), '/outlasts').put('a')
  const { value: item } = await waiting
  expect(item!.value).toBe('a')
  await item!.complete()
  await items.return!()
})

test('if the session expires in a turn, the item goes to another consumer, and the iteration continues', async () => {
  const { client, queue } = await filled('/crash', 'a')
  const other = open(await fixture.open(), '/crash')
  const seen: string[] = []
  for await (const item of queue.items()) {
    seen.push(item.value)
    if (seen.length === 2) {
      await item.complete()
      break
    }
    await expire(client, fixture.connectString)
    expect(item.signal.aborted).toBe(true)
    const again = await other.take()
    expect(again.value).toBe('a')
    await expect(item.complete()).rejects.toMatchObject({ code: 'lost' })
    await again.complete()
    await other.put('b')
  }
  expect(seen).toEqual(['a', 'b'])
  expect(await queue.size()).toBe(0)
})

test('leaving the loop without a connection releases the item over the next one', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = open(await fixture.open(), '/unconnected')
  await other.put('a')
  const leave = async (): Promise<void> => {
    for await (const item of open(client, '/unconnected').items()) {
      const suspended = nextState(client, 'suspended')
      proxy.cut()
      await suspended
      expect(item.signal.reason).toMatchObject({ reason: 'suspended' })
      break
    }
  }
  const left = leave()
  await nextState(client, 'suspended')
  await proxy.heal()
  await left
  expect((await other.tryTake())?.value).toBe('a')
})

test('closing the client ends the iteration', async () => {
  const client = await fixture.open()
  const waiting = open(client, '/closed').items().next()
  await untilChildren(client, '/closed/line', 1)
  const failed = expect(waiting).rejects.toMatchObject({ code: 'closed' })
  await client.close()
  await failed
})
