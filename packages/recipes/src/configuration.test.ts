import { json, type StandardSchema } from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { catchUncaught } from '../test/support/uncaught.ts'
import { Configuration } from './configuration.ts'
import type { Problem } from './live/problem.ts'

const fixture = useServer()

interface Limits {
  readonly rate: number
  readonly burst: number
}

/** A schema like those of zod and similar libraries, written by hand. */
const schema: StandardSchema<Limits> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate(value) {
      const { rate, burst } = value as Limits
      return typeof rate === 'number' && typeof burst === 'number'
        ? { value: { rate, burst } }
        : { issues: [{ message: 'rate and burst must be numbers' }] }
    },
  },
}
const codec = json(schema)
const fallback: Limits = { rate: 1, burst: 1 }

test('a configuration starts with its fallback and follows the node', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  await using config = await Configuration.open(client, '/follow/limits', { codec, fallback })
  expect([config.current, config.stat]).toEqual([fallback, undefined])
  await using writer = await Configuration.open(other, '/follow/limits', { codec, fallback })
  await writer.set({ rate: 5, burst: 10 })
  await config.until(({ rate }) => rate === 5)
  expect(config.stat?.version).toBe(0)
  await other.delete('/follow/limits')
  await config.until(({ rate }) => rate === 1)
})

test('without a fallback, opening waits for the value', async () => {
  const client = await fixture.open()
  const opening = Configuration.open(client, '/waits', { codec })
  await client.sync()
  await client.create('/waits', '{"rate":2,"burst":3}')
  await using config = await opening
  expect(config.current).toEqual({ rate: 2, burst: 3 })
  await expect(
    Configuration.open(client, '/never', { codec, timeoutMs: 20 }),
  ).rejects.toMatchObject({ code: 'timeout' })
})

test('a value that violates the schema is reported, and the last valid one stays', async () => {
  const client = await fixture.open()
  await client.create('/misfit', '{"rate":2,"burst":3}')
  const problems: Problem[] = []
  const onProblem = (problem: Problem): unknown => problems.push(problem)
  await using config = await Configuration.open(client, '/misfit', { codec, onProblem })
  const seen: Limits[] = []
  config.onChange((value) => seen.push(value))
  await client.set('/misfit', '{"rate":"fast"}')
  await expect.poll(() => config.problem).toMatchObject({ name: 'CodecError' })
  expect(config.current).toEqual({ rate: 2, burst: 3 })
  await client.set('/misfit', '{"rate":4,"burst":4}')
  await config.until(({ rate }) => rate === 4)
  expect(config.problem).toBeUndefined()
  expect(problems).toMatchObject([
    { path: '/misfit', problem: { name: 'CodecError' }, stat: { version: 1 } },
  ])
  expect(seen).toEqual([{ rate: 4, burst: 4 }])
  await expect(config.set({ rate: 'x' } as unknown as Limits)).rejects.toThrow('must be numbers')
})

test('an error thrown by onProblem surfaces, and the configuration continues', async () => {
  const client = await fixture.open()
  const uncaught = catchUncaught()
  await client.create('/rude', '{"rate":1,"burst":1}')
  await using config = await Configuration.open(client, '/rude', {
    codec,
    onProblem: () => {
      throw new Error('a bug of the caller')
    },
  })
  await client.set('/rude', '{"rate":"fast"}')
  await expect.poll(() => uncaught).toMatchObject([{ message: 'a bug of the caller' }])
  await client.set('/rude', '{"rate":2,"burst":1}')
  await config.until(({ rate }) => rate === 2)
})

test('an invalid first value rejects, unless there is a fallback', async () => {
  const client = await fixture.open()
  await client.create('/bad', 'no JSON')
  await expect(Configuration.open(client, '/bad', { codec })).rejects.toThrow('not JSON')
  await using config = await Configuration.open(client, '/bad', { codec, fallback })
  expect(config.current).toEqual(fallback)
  expect(config.problem).toBeDefined()
})

test('a value set on a missing node is seen at once, and not the fallback before it', async () => {
  const clients = await Promise.all([fixture.open(), fixture.open()])
  const [writer, reader] = await Promise.all(
    clients.map((client, i) => {
      const own = { fallback: { rate: i, burst: i } }
      return Configuration.open(client, '/unset', { codec, ...own })
    }),
  )
  const rates: number[] = []
  reader!.onChange(({ rate }) => rates.push(rate))
  await writer!.set({ rate: 7, burst: 7 })
  await reader!.until(({ rate }) => rate === 7)
  expect(rates).toEqual([7])
})

test('the last value does not come back after the node is deleted', async () => {
  const [client, other] = [await fixture.open(), await fixture.open()]
  await client.create('/comes-back', '{"rate":1,"burst":1}')
  await using config = await Configuration.open(client, '/comes-back', { codec })
  await client.delete('/comes-back')
  const opening = Configuration.open(other, '/comes-back', { codec })
  await other.sync()
  await config.set({ rate: 2, burst: 2 })
  await using opened = await opening
  expect(opened.current.rate).toBe(2)
})

test('updating a part keeps concurrent changes of other parts', async () => {
  const clients = await Promise.all([fixture.open(), fixture.open()])
  const [a, b] = await Promise.all(
    clients.map((client) => Configuration.open(client, '/parts', { codec, fallback })),
  )
  const changes = Array.from({ length: 10 }, () => [
    a!.update((value) => ({ ...value, rate: value.rate + 1 })),
    b!.update((value) => ({ ...value, burst: value.burst + 1 })),
  ])
  await Promise.all(changes.flat())
  await a!.until(({ rate, burst }) => rate === 11 && burst === 11)
  expect(await clients[0]!.children('/parts')).toEqual([])
})

test('a value that cannot be decoded can be replaced', async () => {
  const client = await fixture.open()
  await client.create('/wrong', '{"rate":1,"burst":1}')
  await using config = await Configuration.open(client, '/wrong', { codec })
  await client.set('/wrong', '{"rate":"fast"}')
  await config.set({ rate: 2, burst: 2 })
  await config.until(({ rate }) => rate === 2)
  expect(config.problem).toBeUndefined()
})

test('a value set while the connection or the session was lost is seen afterwards', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  await other.create('/away', '{"rate":1,"burst":1}')
  await using config = await Configuration.open(client, '/away', { codec })
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.set('/away', '{"rate":2,"burst":1}')
  expect(config.current.rate).toBe(1)
  await proxy.heal()
  await config.until(({ rate }) => rate === 2)
  await expire(client, fixture.connectString)
  await other.set('/away', '{"rate":3,"burst":1}')
  await config.until(({ rate }) => rate === 3)
})

test('the configuration is an iteration, which ends with it', async () => {
  const client = await fixture.open()
  const config = await Configuration.open(client, '/iterated', { codec, fallback })
  const rates: number[] = []
  for await (const { rate } of config) {
    rates.push(rate)
    if (rate === 1) await config.set({ rate: 2, burst: 0 })
    else await config[Symbol.asyncDispose]()
  }
  expect(rates).toEqual([1, 2])
  expect(config.signal.aborted).toBe(true)
})

test('setting does not wait for a connection past the deadline', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  await using configuration = await Configuration.open(client, '/late', { codec, fallback })
  const remove = client.delete.bind(client)
  client.delete = (...args: Parameters<typeof remove>) => {
    proxy.cut()
    return remove(...args)
  }
  const set = await configuration.set({ rate: 7, burst: 7 }, { timeoutMs: 500 })
  expect(set).toMatchObject({ version: 0 })
})
