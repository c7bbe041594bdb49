import { ServiceDiscovery } from '@zabra/recipes'
import { expect, test } from 'vitest'
import { useServer } from '../support/testing.ts'
import { call, NoInstanceError } from './caller.ts'
import { QuoteService, services } from './quote-service.ts'
import { story } from './story.ts'

const { tree } = useServer()

test('services are found while they run, and called in turn', async () => {
  const { connectString } = await tree()
  const lines: string[] = []
  await story(connectString, (line) => lines.push(line))
  expect(lines.filter((line) => line.startsWith('found'))).toEqual([
    'found: ada, bob',
    'found: bob',
    'found: bob, eve',
  ])
  const shareOf = (id: string): number =>
    lines.filter((line) => line === `a quote from ${id}`).length
  expect([shareOf('ada'), shareOf('bob'), shareOf('eve')]).toEqual([2, 7, 1])
  expect(lines.at(-1)).toBe('NoInstanceError: 0 instances were tried, and none answers')
})

test('an instance that was cut off for longer than its session is found again', async () => {
  const { open, openProxied } = await tree()
  const { proxy, client } = await openProxied()
  await using quotes = await new ServiceDiscovery(await open(), services).discover('quotes')
  await using service = await QuoteService.start(client, 'ada')
  expect(service).toBeDefined()
  await quotes.until(({ length }) => length === 1)
  proxy.cut()
  await quotes.until(({ length }) => length === 0)
  await proxy.heal()
  await quotes.until(({ length }) => length === 1)
  expect(await call(quotes)).toBe('a quote from ada')
})

test('a call without an available instance is an error', async () => {
  const { open } = await tree()
  const client = await open()
  await using quotes = await new ServiceDiscovery(client, services).discover('quotes')
  await using service = await QuoteService.start(client, 'ada')
  await quotes.until(({ length }) => length === 1)
  service.fallSilent()
  await expect(call(quotes)).rejects.toThrow(NoInstanceError)
})
