import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/**
 * Below the range that systems use for the ports of outgoing connections: a server that restarts
 * must find its port free, and a client that keeps dialing an unused port must not connect to
 * itself.
 */
const first = 20_000
const last = 32_000

const given = new Set<number>()

/** Unused loopback ports that no process that runs has got from here. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === 1000) throw new Error(`no free port between ${first} and ${last}`)
    // Random, so that processes that search at the same time rarely find the same ports.
    const port = first + Math.floor(Math.random() * (last - first))
    if (given.has(port)) continue
    given.add(port)
    if ((await reserve(port)) && (await isFree(port))) ports.push(port)
  }
  return ports
}

/**
 * Reserves a port among all processes that use this function, until this process ends. A server
 * opens its port some time later, and closes it while it restarts; if another process took it
 * meanwhile, one test would talk to the servers of the other. The UDP port with the same number is
 * the sign, because nothing else here uses UDP, and the system releases it.
 */
function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  return new Promise((resolve) => {
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
