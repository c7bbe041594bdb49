import { text } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { PriorityQueue } from './priority-queue.ts'
import { Queue } from './queue.ts'

const fixture = useServer()
const open = async (path: string) => new PriorityQueue(await fixture.open(), path, { codec: text })

test('the lowest number is delivered first, equal ones in order', async () => {
  const queue = await open('/priorities')
  await queue.put('late', 900)
  await queue.put('first', 5)
  await queue.put('middle 1', 100)
  await queue.put('middle 2', 100)
  const taken: string[] = []
  for (let i = 0; i < 4; i++) {
    const item = await queue.take()
    taken.push(item.value)
    await item.complete()
    // An item put in between is delivered before the waiting ones.
    if (i === 1) await queue.put('urgent', 0)
  }
  expect(taken).toEqual(['first', 'middle 1', 'urgent', 'middle 2'])
  expect(await queue.size()).toBe(1)
})

test('a released item keeps its place', async () => {
  const queue = await open('/back')
  await queue.put('a', 1)
  await queue.put('b', 2)
  const a = await queue.take()
  const b = await queue.take()
  await a.release()
  expect((await queue.take()).value).toBe('a')
  await b.release()
  expect((await queue.take()).value).toBe('b')
})

test('a plain queue uses priority 100', async () => {
  const queue = await open('/mixed')
  await queue.put('after', 101)
  await new Queue(await fixture.open(), '/mixed', { codec: text }).put('plain')
  await queue.put('before', 99)
  const values = [await queue.take(), await queue.take(), await queue.take()]
  expect(values.map(({ value }) => value)).toEqual(['before', 'plain', 'after'])
})

test('a priority out of range is refused', async () => {
  const queue = await open('/range')
  for (const priority of [-1, 1000, 1.5])
    await expect(queue.put('x', priority)).rejects.toBeInstanceOf(RangeError)
})
