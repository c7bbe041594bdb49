import { createServer, type Server } from 'node:net'
import { loopback } from './member.ts'

/** Opens a port of the loopback interface, any free one for 0; undefined where it is taken. */
function openPort(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined)
      else reject(error)
    })
    server.listen(port, loopback, () => resolve(server))
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Different free ports, held until all are found; another program may take one meanwhile. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => openPort(0)))
  const ports = servers.map((server) => portOf(server!))
  await Promise.all(servers.map((server) => close(server!)))
  return ports
}

/** Ports in a row from `first` on; undefined where one of them is taken. */
export async function portsFrom(first: number, count: number): Promise<number[] | undefined> {
  const wanted = Array.from({ length: count }, (_, index) => first + index)
  const servers = await Promise.all(wanted.map(openPort))
  for (const server of servers) if (server !== undefined) await close(server)
  return servers.includes(undefined) ? undefined : wanted
}
