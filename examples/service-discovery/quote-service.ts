import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@zabra/client'
import { ServiceDiscovery } from '@zabra/recipes'

export const services = '/services'

/** A web service that can be found while it is there, from Java with Curator too. */
export class QuoteService implements AsyncDisposable {
  private readonly server: Server
  private readonly registration: AsyncDisposable

  private constructor(server: Server, registration: AsyncDisposable) {
    this.server = server
    this.registration = registration
  }

  /** Resolves when it can be found: not before it answers. */
  static async start(client: Client, id: string): Promise<QuoteService> {
    const server = createServer((_, response) => response.end(`a quote from ${id}`))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { address, port } = server.address() as AddressInfo
    const registration = await new ServiceDiscovery(client, services).register({
      name: 'quotes',
      id,
      address,
      port,
    })
    return new QuoteService(server, registration)
  }

  /** Stops answering without a word to anybody, as a program does that hangs. */
  fallSilent(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  /** Leaves first, so that nobody is sent here any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.registration[Symbol.asyncDispose]()
    this.fallSilent()
  }
}
