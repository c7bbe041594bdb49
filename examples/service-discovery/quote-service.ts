import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@zabra/client'
import { ServiceDiscovery } from '@zabra/recipes'

export const services = '/services'

/** A web service that clients can discover while it runs, also from Java with Curator. */
export class QuoteService implements AsyncDisposable {
  private readonly server: Server
  private readonly registration: AsyncDisposable

  private constructor(server: Server, registration: AsyncDisposable) {
    this.server = server
    this.registration = registration
  }

  /** Resolves when it can be discovered, which is not before it answers. */
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

  /** Stops answering without notice, like a program that hangs. */
  fallSilent(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  /** Unregisters first, so that no more calls are sent here. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.registration[Symbol.asyncDispose]()
    this.fallSilent()
  }
}
