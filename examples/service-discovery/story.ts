import { connect } from '@zabra/client'
import type { Say } from '../support/on-server.ts'
import { Caller } from './caller.ts'
import { QuoteService } from './quote-service.ts'
import { discover } from './registry.ts'

/** Services come, go and fall silent; whoever calls them need not know. */
export async function story(servers: string, say: Say): Promise<void> {
  await using client = await connect(servers)
  await client.ensure('/')
  await using instances = await discover(client, 'quotes')
  const caller = new Caller(instances)
  const untilThere = async (count: number): Promise<void> => {
    await instances.until(({ size }) => size === count)
    say(`found: ${[...instances.current.keys()].toSorted().join(', ')}`)
  }
  const callAround = async (times: number): Promise<void> => {
    for (let call = 0; call < times; call++) say(await caller.call())
  }

  const first = await connect(servers)
  await using ada = await QuoteService.start(first, 'ada')
  await using host = await connect(servers)
  await using bob = await QuoteService.start(host, 'bob')
  await untilThere(2)
  await callAround(4)

  say('ada falls silent')
  ada.fallSilent()
  await callAround(2)
  say('its session ends')
  await first.close()
  await untilThere(1)
  await callAround(2)

  await using eve = await QuoteService.start(host, 'eve')
  await untilThere(2)
  await callAround(2)
  say('bob and eve leave')
  await bob[Symbol.asyncDispose]()
  await eve[Symbol.asyncDispose]()
  await instances.until(({ size }) => size === 0)
  say(await caller.call().catch(String))
}
