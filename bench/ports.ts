import { createServer } from 'node:net'

/**
 * Below the range from which Linux takes the ports of outgoing connections: a client that keeps
 * dialling a port of that range while nobody listens on it may in the end connect to itself.
 */
const first = 20_000
const last = 30_000

let next = first + (process.pid % 1000) * 10

/** A loopback port that nobody listens on, and that this process has not given out before. */
export async function takePort(): Promise<number> {
  for (let tried = first; tried < last; tried++) {
    const port = next
    next = next + 1 < last ? next + 1 : first
    if (await isFree(port)) return port
  }
  throw new Error(`no free port between ${first} and ${last}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
