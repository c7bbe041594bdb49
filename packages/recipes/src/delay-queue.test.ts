import { bytes, text } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { DelayQueue } from './delay-queue.ts'
import { IdQueue } from './id-queue.ts'

const fixture = useServer()
const codec = text

test('items are delivered when they are due, in the order of their times', async () => {
  const client = await fixture.open()
  await using queue = new DelayQueue(client, '/delayed', { codec })
  const beginMs = Date.now()
  await queue.put('later', { delayMs: 500 })
  await queue.put('soon', { dueMs: beginMs + 200 })
  await queue.put('now')
  const taken: string[] = []
  for (let i = 0; i < 3; i++) {
    const item = await queue.take({ timeoutMs: 5000 })
    taken.push(item.value)
    if (item.value === 'later') expect(Date.now() - beginMs).toBeGreaterThanOrEqual(500)
    await item.complete()
  }
  expect(taken).toEqual(['now', 'soon', 'later'])
  expect(await queue.tryTake()).toBeUndefined()
})

test('items that are not due are not delivered, and a waiter gets one that is due earlier', async () => {
  const client = await fixture.open()
  await using queue = new DelayQueue(client, '/delayed-more', { codec })
  await queue.put('never', { delayMs: 3_600_000 })
  expect(await queue.tryTake()).toBeUndefined()
  expect(await queue.size()).toBe(1)
  const waiting = queue.take({ timeoutMs: 5000 })
  await queue.put('early', { delayMs: 50 })
  const item = await waiting
  expect(item.value).toBe('early')
  await item.complete()
  await expect(queue.put('x', { delayMs: NaN })).rejects.toThrow(RangeError)
})

test('items of an id queue are found and removed by id, unless somebody works on them', async () => {
  const client = await fixture.open()
  await using queue = new IdQueue(client, '/by-id', { codec })
  await queue.put('1', 'a/b~c')
  await queue.put('2', 'x')
  await queue.put('3', 'a/b~c')
  expect(await queue.has('a/b~c')).toBe(true)
  const first = await queue.take()
  expect(first.value).toBe('1')
  expect(await queue.remove('a/b~c')).toBe(1)
  expect(await queue.has('a/b~c')).toBe(true)
  await first.complete()
  expect(await queue.has('a/b~c')).toBe(false)
  expect(await queue.remove('a/b~c')).toBe(0)
  const second = await queue.take()
  expect(second.value).toBe('2')
  await second.complete()
})

test('items are named and written as those of Curator', async () => {
  const client = await fixture.open()
  await using reminders = new DelayQueue(client, '/as-curator', { codec })
  await reminders.put('hi', { dueMs: 0x18f_0000_0001 })
  const [name] = await client.children('/as-curator/entries')
  expect(name).toBe('queue-|18F00000001|0000000000')
  const { data } = await client.get(`/as-curator/entries/${name}`, { codec: bytes })
  expect(Buffer.from(data).toString('hex')).toBe('000100010100000002686902')

  await using mails = new IdQueue(client, '/as-curator-ids', { codec })
  await mails.put('x', 'order 17/€|100%\u{1f600}')
  const names = await client.children('/as-curator-ids/entries')
  expect(names).toEqual(['queue-|order 17%2F€%7C100%25%F0%9F%98%80|0000000000'])
  expect(await mails.has('order 17/€|100%\u{1f600}')).toBe(true)
})

test('what is no item of Curator, or several in one node, is reported, and can be completed', async () => {
  const client = await fixture.open()
  await using mails = new IdQueue(client, '/strange', { codec })
  const put = (hex: string) =>
    client.create('/strange/entries/queue-|a|', Buffer.from(hex, 'hex'), {
      sequential: true,
      parents: true,
    })
  await put('0001000101000000016101000000016202')
  await put('6869')
  await put('0001000101ffffffff6102')
  await put('00010001010000ffff6102')
  const problems: string[] = []
  for (let i = 0; i < 4; i++) {
    const item = await mails.take({ timeoutMs: 5000 })
    try {
      problems.push(item.value)
    } catch (error) {
      problems.push(String(error))
    }
    await item.complete()
  }
  const no = 'RangeError: the data is not an item of a queue of Curator'
  const several = 'RangeError: the node has several items, as putMulti of Curator makes them'
  expect(problems).toEqual([several, no, no, no])
  expect(await mails.size()).toBe(0)
})
