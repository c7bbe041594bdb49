import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { Counter } from './counter.ts'
import { SharedCount } from './shared-count.ts'

const fixture = useServer()

test('a shared count is set, compared and followed, in the layout of Curator', async () => {
  const client = await fixture.open()
  await using count = new SharedCount(client, '/counts/shared', 10)
  await using live = await count.live()
  const seen = await count.get()
  expect(seen.value).toBe(10)
  expect(await count.compareAndSet(seen, -2)).toMatchObject({ value: -2 })
  expect(await count.compareAndSet(seen, 5)).toBeUndefined()
  await live.until(({ value }) => value === -2)
  const { data } = await client.get('/counts/shared')
  expect([...data]).toEqual([255, 255, 255, 254])
  await using counter = new Counter(client, '/counts/shared', { layout: 'int' })
  expect(await counter.get()).toBe(-2n)
  await expect(count.set(2 ** 31)).rejects.toThrow('2147483648 is not a 32-bit integer')
})
