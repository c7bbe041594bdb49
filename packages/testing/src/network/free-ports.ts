import { createServer, type Server } from 'node:net'

/**
 * Below the range that systems use for the ports of outgoing connections: a server that listens
 * again after a fault must find its port free.
 */
const first = 20_000
const last = 32_000
const triesMax = 1000

const given = new Set<number>()

/** Unused loopback ports that this process has not returned before. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === triesMax) throw new Error(`no free port between ${first} and ${last}`)
    // Random, so that processes that search at the same time rarely find the same ports.
    const port = first + Math.floor(Math.random() * (last - first))
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

/**
 * Keeps a port from other processes until the result is closed. If one of them was faster, whoever
 * wants to listen there learns of it then.
 */
export function occupyPort(port: number): Promise<Server> {
  return new Promise((resolve) => {
    const occupant = createServer((socket) => socket.destroy())
    occupant.once('error', () => resolve(occupant))
    occupant.unref().listen(port, '127.0.0.1', () => resolve(occupant))
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
