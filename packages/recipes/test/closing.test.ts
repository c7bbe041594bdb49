import { json, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import {
  Counter,
  discoverService,
  fillRendezvous,
  joinCommit,
  joinRendezvous,
  NameService,
  openConfiguration,
  openRendezvous,
  proposeCommit,
  watchGroup,
} from '../src/index.ts'
import { useServer } from './support/server.ts'

const fixture = useServer()
const codec = json<number>()

interface Closable {
  readonly signal: AbortSignal
  close(): Promise<void>
}

const openers: readonly [string, (client: Client) => Promise<Closable>][] = [
  ['a counter', (client) => new Counter(client, '/counter').live()],
  ['a name', (client) => new NameService(client, '/names', { codec }).live('a')],
  ['a configuration', (client) => openConfiguration(client, '/config', { codec, fallback: 1 })],
  ['a group', (client) => watchGroup(client, '/group', { codec })],
  ['a service', (client) => discoverService(client, '/services', 'web')],
]

test.each(openers)('following %s can be closed by name', async (_, open) => {
  const live = await open(await fixture.open())
  await live.close()
  expect(live.signal.aborted).toBe(true)
  await live.close()
})

test('a meeting can be closed by name', async () => {
  const client = await fixture.open()
  const place = await openRendezvous(client, '/place')
  await fillRendezvous(client, place.path, 1, { codec })
  const meeting = await joinRendezvous(client, place.path, { codec })
  await meeting.close()
  expect([meeting.over.aborted, place.signal.aborted]).toEqual([true, false])
})

test('a site that closes before its vote has failed', async () => {
  const client = await fixture.open()
  const commit = await proposeCommit(client, '/site', 1, { codec, sites: ['a'] })
  const site = await joinCommit(client, '/site', 'a', { codec })
  await site.close()
  expect(await commit.decision()).toBe('abort')
})

test('an iteration throws the reason of its signal', async () => {
  const client = await fixture.open()
  const live = await new Counter(client, '/iterated').live()
  const signal = AbortSignal.timeout(20)
  const iterate = async (): Promise<void> => {
    for await (const value of live.values({ signal })) expect(value).toBe(0n)
  }
  const error = await iterate().catch((reason: unknown) => reason)
  expect(error).toBe(signal.reason)
  expect(error).toMatchObject({ name: 'TimeoutError' })
})
