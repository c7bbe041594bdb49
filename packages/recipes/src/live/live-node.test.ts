import { json, OperationError, text, type Client } from '@zabra/client'
import { aborted } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { roundTrips } from '../../test/support/trouble.ts'
import { AtomicValue } from '../atomic-value.ts'
import { Counter } from '../counter.ts'
import type { Live } from './live.ts'
import type { LiveOptions } from './live-node.ts'
import { NameService } from '../name-service.ts'
import type { Problem } from './problem.ts'
import { Rendezvous } from '../rendezvous.ts'

const fixture = useServer()
const codec = json<number>()

type Open = (client: Client, path: string, options: LiveOptions) => Promise<Live<unknown>>

const numberOf = (last: number): Uint8Array => new Uint8Array(8).fill(last, 7)
const openValue: Open = (client, path, options) =>
  new AtomicValue(client, path, { codec, initial: 0 }).live(options)
const openName: Open = (client, path, options) =>
  new NameService(client, '/', { codec }).live(path.slice(1), options)

test.each([
  {
    path: '/counter',
    good: [numberOf(1), numberOf(2)],
    open: (client: Client, path: string, options: LiveOptions) =>
      new Counter(client, path).live(options),
  },
  { path: '/value', good: ['1', '2'], open: openValue },
  { path: '/name', good: ['1', '2'], open: openName },
] satisfies { path: string; good: (string | Uint8Array)[]; open: Open }[])(
  'what is live stays as it was where the node cannot be understood: $path',
  async ({ path, good, open }) => {
    const client = await fixture.open()
    await client.create(path, good[0])
    const problems: Problem[] = []
    await using live = await open(client, path, { onProblem: (problem) => problems.push(problem) })
    const { current } = live
    await client.set(path, '{"')
    await expect.poll(() => problems).toMatchObject([{ path, stat: { version: 1 } }])
    expect([live.current, live.signal.aborted]).toEqual([current, false])
    expect(problems[0]?.problem).toBeInstanceOf(Error)
    await client.set(path, good[1]!)
    await live.until((value) => value !== current)
  },
)

test('waiting for a name rejects if its value cannot be decoded', async () => {
  const client = await fixture.open()
  const names = new NameService(client, '/unclear', { codec })
  const resolved = expect(names.resolve('name')).rejects.toMatchObject({ code: 'codec' })
  await roundTrips(client, 5)
  await client.ensure('/unclear')
  await client.create('/unclear/name', '{')
  await resolved
})

test('a meeting lasts until its node is deleted, whatever is written there', async () => {
  const client = await fixture.open()
  const place = await Rendezvous.open(client, '/place')
  await new Rendezvous(client, place.path, { codec }).announce(1)
  const { over } = await new Rendezvous(client, place.path, { codec }).join()
  await client.set(place.path, '{')
  await roundTrips(client, 5)
  expect(over.aborted).toBe(false)
  await place.release()
  await aborted(over)
})

test('a live value continues after a server has refused for a while', async () => {
  const client = await fixture.open()
  await client.create('/refused', 'a')
  const value = new AtomicValue(client, '/refused', { codec: text, initial: '' })
  await using live = await value.live()
  const get = client.get.bind(client) as (...args: unknown[]) => Promise<never>
  client.get = (...args: unknown[]): Promise<never> => {
    client.get = get
    return Promise.reject(new OperationError('throttledOp', { path: String(args[0]) }))
  }
  await client.set('/refused', 'b')
  expect(await live.until((now) => now.value === 'b')).toEqual({ value: 'b', version: 1 })
})
