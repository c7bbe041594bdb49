import { createServer } from 'node:net'

/** Ports of loopback that nobody listens on at the moment. */
export async function freePorts(count: number): Promise<number[]> {
  const holders = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve)
      })
      return server
    }),
  )
  return Promise.all(
    holders.map(async (server) => {
      const address = server.address()
      await new Promise((resolve) => {
        server.close(resolve)
      })
      return typeof address === 'object' && address !== null ? address.port : 0
    }),
  )
}
