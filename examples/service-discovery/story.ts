import { connect } from '@zabra/client'
import { ServiceDiscovery } from '@zabra/recipes'
import type { Say } from '../support/on-server.ts'
import { call } from './caller.ts'
import { QuoteService, services } from './quote-service.ts'

/** Instances come, go and fall silent; callers do not notice. */
export async function story(servers: string, say: Say): Promise<void> {
  await using client = await connect(servers)
  await client.ensure('/')
  // After one failed call the other instances are tried first for a while.
  await using quotes = await new ServiceDiscovery(client, services).discover('quotes', {
    errorsMax: 1,
  })
  const untilThere = async (count: number): Promise<void> => {
    await quotes.until(({ length }) => length === count)
    say(`found: ${quotes.current.map(({ id }) => id).join(', ')}`)
  }
  const callAround = async (times: number): Promise<void> => {
    for (let round = 0; round < times; round++) say(await call(quotes))
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
  await quotes.until(({ length }) => length === 0)
  say(await call(quotes).catch(String))
}
