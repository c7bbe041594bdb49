import { connect } from '@zabra/client'
import type { Say } from '../support/on-server.ts'
import { RateLimiter } from './rate-limiter.ts'

const limit = { permitsPerSecond: 20, burst: 5 }
const processes = ['north', 'east', 'south']
const callsEach = 8

/** Three processes call a service that allows twenty calls per second in total. */
export async function story(servers: string, say: Say): Promise<void> {
  say(`${limit.permitsPerSecond} calls a second for ${processes.length} processes together`)
  const beganAt = performance.now()
  await Promise.all(
    processes.map(async (name) => {
      await using client = await connect(servers)
      const limiter = await RateLimiter.open(client, '/limits/service', limit)
      for (let call = 1; call <= callsEach; call++) {
        await limiter.take()
        say(`${Math.round(performance.now() - beganAt)} ms: ${name} makes its call ${call}`)
      }
    }),
  )
  const seconds = (performance.now() - beganAt) / 1000
  say(`${processes.length * callsEach} calls in ${seconds.toFixed(1)} s`)
}
