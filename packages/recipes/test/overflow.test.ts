import { text, type Client } from '@zabra/client'
import { untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { Election } from '../src/election.ts'
import type { Held } from '../src/holding/held.ts'
import { Lock } from '../src/lock.ts'
import { PriorityQueue } from '../src/priority-queue.ts'
import { Queue } from '../src/queue.ts'
import { ReadWriteLock } from '../src/read-write-lock.ts'
import { useServerWithLog } from './support/server-with-log.ts'

/** The counters of these parents are about to end: two numbers are left. */
const parents = ['/lock', '/read-write', '/election', '/queue', '/refused', '/priorities']
const queues = ['/queue', '/refused', '/priorities']
const usedUp = 0x7fffffff - 2

const server = useServerWithLog((log) => {
  parents.forEach((path, i) => {
    log.create(path, i + 1)
    const parent = queues.includes(path) ? `${path}/entries` : path
    if (parent !== path) log.create(parent, 1)
    log.create(`${parent}/last`, usedUp)
  })
})

async function open(): Promise<Client> {
  const client = await server.open()
  // Servers list children in any order; this one has its own.
  const children = client.children.bind(client)
  client.children = async (...args) => (await children(...args)).toReversed()
  return client
}

test('a lock continues after the end of its numbers, one at a time and in order', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, open))
  const lock = new Lock(clients[0]!, '/lock')
  const turns: Promise<Held>[] = []
  for (let i = 0; i < 12; i++) {
    turns.push(new Lock(clients[i % 4]!, '/lock').acquire())
    await untilChildren(clients[0]!, '/lock', i + 2)
  }
  const queue = await lock.queue()
  const numbers = queue.map((path) => path.slice(-10))
  expect(numbers.slice(0, 2)).toEqual(['2147483645', '2147483646'])
  expect(new Set(numbers.slice(2))).toEqual(new Set(['2147483647']))
  let before = 0n
  for (const [i, turn] of turns.entries()) {
    const held = await turn
    expect(held.path).toBe(queue[i])
    expect(held.token).toBeGreaterThan(before)
    before = held.token
    expect(await lock.queue()).toEqual(queue.slice(i))
    await held.release()
  }
})

test('so do a read/write lock, and an election', async () => {
  const client = await open()
  const lock = new ReadWriteLock(client, '/read-write')
  const kinds = ['read', 'read', 'write', 'read', 'write', 'write', 'read'] as const
  const order: string[] = []
  const turns: Promise<void>[] = []
  // One wait for both readers: the first to leave must not hide from the other that all were there.
  const areAllThere = untilChildren(client, '/read-write', kinds.length + 1)
  for (const [i, kind] of kinds.entries()) {
    const turn = async (): Promise<void> => {
      await using held = await lock[kind].acquire()
      order.push(`${kind} ${i}`)
      if (i < 2) await areAllThere
      expect(held.signal.aborted).toBe(false)
    }
    turns.push(turn())
    if (i < kinds.length - 1) await client.sync()
  }
  await Promise.all(turns)
  expect(order).toEqual(kinds.map((kind, i) => `${kind} ${i}`))

  const elections = ['a', 'b', 'c', 'd', 'e'].map((id) => new Election(client, '/election', { id }))
  const terms = []
  for (const [i, election] of elections.entries()) {
    terms.push(election.campaign())
    await untilChildren(client, '/election', i + 2)
  }
  for (const [i, term] of terms.entries()) {
    const { id, epoch } = await term
    expect(await elections[0]!.leader()).toMatchObject({ id, epoch })
    expect(id).toBe('abcde'[i])
    await (await term).release()
  }
})

const counted = (count: number, name = ''): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}`)

async function drain(queue: Queue<string> | PriorityQueue<string>): Promise<string[]> {
  const values: string[] = []
  for (let item = await queue.tryTake(); item !== undefined; item = await queue.tryTake()) {
    values.push(item.value)
    await item.complete()
  }
  return values
}

test('a queue continues after the end of its numbers, in order and without a loss', async () => {
  const [one, two] = await Promise.all([open(), open()])
  const producers = [one, two].map((client) => new Queue(client, '/queue', { codec: text }))
  const [first, second] = producers as [Queue<string>, Queue<string>]
  const values: string[] = []
  const put = async (queue: Queue<string>, value: string): Promise<void> => {
    values.push(value)
    await queue.put(value)
  }
  // One by one, in turn; then many in one transaction.
  for (let i = 0; i < 8; i++) await put(i % 2 === 0 ? first : second, `${i}`)
  await Promise.all(counted(300, 'together ').map((value) => put(first, value)))
  await put(second, 'after')
  const names = await one.children('/queue/entries')
  expect(names).toContain('entry-100-2147483645')
  expect(names).toContain('entry-100-2147483646')
  expect(names).toContain('entry-100-2147483647')
  const item = (await second.tryTake())!
  expect(item.value).toBe('0')
  await item.release()
  expect(await drain(new Queue(await open(), '/queue', { codec: text }))).toEqual(values)

  // The waiter is woken, and the last number is free again.
  const consumer = new Queue(await open(), '/queue', { codec: text })
  for (const value of counted(5, 'waited for ')) {
    const waiting = consumer.take()
    await untilChildren(one, '/queue/line', 1)
    await put(second, value)
    const taken = await waiting
    expect(taken.value).toBe(value)
    await taken.complete()
  }
  const late = counted(4, 'late ')
  for (const value of late) await put(new Queue(one, '/queue', { codec: text }), value)
  expect(await drain(consumer)).toEqual(late)
})

test('items put as the numbers end exist once', async () => {
  const client = await open()
  const queue = new Queue(client, '/refused', { codec: text })
  const values = counted(10)
  await Promise.all(values.map((value) => queue.put(value)))
  expect(await queue.size()).toBe(values.length + 1)
  expect(await drain(queue)).toEqual(values)
})

test('a priority queue continues, too', async () => {
  const client = await open()
  const queue = new PriorityQueue(client, '/priorities', { codec: text })
  const puts: { value: string; priority: number }[] = []
  for (let i = 0; i < 30; i++) puts.push({ value: `${i}`, priority: [500, 5, 100][i % 3]! })
  for (const { value, priority } of puts.slice(0, 9)) await queue.put(value, priority)
  await Promise.all(puts.slice(9).map(({ value, priority }) => queue.put(value, priority)))
  const wanted = puts.toSorted((a, b) => a.priority - b.priority).map(({ value }) => value)
  expect(await drain(queue)).toEqual(wanted)
})
