import { createServer } from 'node:net'

/**
 * Below the range from which systems take the ports of outgoing connections: what listens again
 * after a fault must find its port still free.
 */
const first = 20_000
const last = 32_000
const triesMax = 1000

const given = new Set<number>()

/** Loopback ports that nobody listens on, and that this process has not given out before. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === triesMax) throw new Error(`no free port between ${first} and ${last}`)
    // Anywhere: processes that look at the same time seldom find the same.
    const port = first + Math.floor(Math.random() * (last - first))
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
