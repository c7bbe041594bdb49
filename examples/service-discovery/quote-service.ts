import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@zabra/client'
import type { Membership } from '@zabra/recipes'
import { register, type Endpoint } from './registry.ts'

/** A web service that can be found while it is there. */
export class QuoteService implements AsyncDisposable {
  private readonly server: Server
  private readonly membership: Membership<Endpoint>

  private constructor(server: Server, membership: Membership<Endpoint>) {
    this.server = server
    this.membership = membership
  }

  /** Resolves when it can be found: not before it answers. */
  static async start(client: Client, id: string): Promise<QuoteService> {
    const server = createServer((_, response) => response.end(`a quote from ${id}`))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { address, port } = server.address() as AddressInfo
    const membership = await register(client, 'quotes', id, { host: address, port })
    return new QuoteService(server, membership)
  }

  /** Stops answering without a word to anybody, as a program does that hangs. */
  fallSilent(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  /** Leaves first, so that nobody is sent here any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.membership[Symbol.asyncDispose]()
    this.fallSilent()
  }
}
