import { text, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { AtomicValue } from '../src/atomic-value.ts'
import { Counter } from '../src/counter.ts'
import { useServerWithLog } from './support/server-with-log.ts'

const highest = 0x7fffffff
const lowest = -0x80000000
const versions: Record<string, number> = {
  '/highest': highest - 1,
  '/zero': -2,
  '/raced': -2,
  '/compared': -1,
}

const server = useServerWithLog((log) => {
  Object.entries(versions).forEach(([path, version], i) => {
    log.create(path, i + 1)
    log.set(path, version)
  })
})

const versionAt = async (client: Client, path: string): Promise<number | undefined> =>
  (await client.exists(path))?.version

test('a value can be changed after the highest version', async () => {
  const client = await server.open()
  const value = new AtomicValue(client, '/highest', { codec: text, initial: '' })
  expect(await value.set('a')).toEqual({ value: 'a', version: highest })
  expect(await value.set('b')).toEqual({ value: 'b', version: lowest })
  expect(await value.update((now) => `${now}c`)).toEqual({ value: 'bc', version: lowest + 1 })
  expect(await value.get()).toEqual({ value: 'bc', version: await versionAt(client, '/highest') })
})

test('a counter counts past the version that means any', async () => {
  const client = await server.open()
  await using counter = new Counter(client, '/zero')
  for (const count of [1n, 2n, 3n, 4n]) expect(await counter.increment()).toBe(count)
  expect(await versionAt(client, '/zero')).toBe(2)
})

test('no concurrent count is lost at that version', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => server.open()))
  const counters = clients.map((client) => new Counter(client, '/raced'))
  await Promise.all(counters.flatMap((counter) => [counter.increment(), counter.increment()]))
  expect(await counters[0]!.get()).toBe(8n)
})

test('a concurrent change at the version that means any is not overwritten unseen', async () => {
  const client = await server.open()
  const value = new AtomicValue(client, '/compared', { codec: text, initial: '' })
  const seen = await value.get()
  expect(seen.version).toBe(-1)
  await client.set('/compared', 'of others')
  expect(await value.compareAndSet(seen, 'mine')).toBeUndefined()
  expect((await value.get()).value).toBe('of others')
})
