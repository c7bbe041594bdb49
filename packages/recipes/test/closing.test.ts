import { json, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import {
  Counter,
  ServiceDiscovery,
  Rendezvous,
  TwoPhaseCommit,
  NameService,
  Configuration,
  Group,
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
  ['a configuration', (client) => Configuration.open(client, '/config', { codec, fallback: 1 })],
  ['a group', (client) => new Group(client, '/group', { codec }).watch()],
  ['a service', (client) => new ServiceDiscovery(client, '/services').discover('web')],
]

test.each(openers)('following %s can be closed by name', async (_, open) => {
  const live = await open(await fixture.open())
  await live.close()
  expect(live.signal.aborted).toBe(true)
  await live.close()
})

test('a meeting can be closed by name', async () => {
  const client = await fixture.open()
  const place = await Rendezvous.open(client, '/place')
  await new Rendezvous(client, place.path, { codec }).announce(1)
  const meeting = await new Rendezvous(client, place.path, { codec }).join()
  await meeting.close()
  expect([meeting.over.aborted, place.signal.aborted]).toEqual([true, false])
})

test('a site that closes before its vote has failed', async () => {
  const client = await fixture.open()
  const commit = await new TwoPhaseCommit(client, '/site', { codec }).propose(1, { sites: ['a'] })
  const site = await new TwoPhaseCommit(client, '/site', { codec }).join('a')
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
