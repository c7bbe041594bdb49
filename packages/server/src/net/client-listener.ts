import type { AddressInfo, Server, Socket } from 'node:net'
import type { LimitName, PeerBase } from '@zabra/core'
import type { Logger } from '../logger.ts'
import type { Turn } from '../turn.ts'
import { ClientSocket } from './client-socket.ts'
import { OutputBudget } from './output-budget.ts'
import { createReadingServer } from './read-buffer.ts'

export interface ListenOptions {
  readonly port: number
  readonly address: string | undefined
  /** -1: as many as the system allows. */
  readonly backlog: number
  /** Connections from one address; 0 is no limit. */
  readonly perAddressMax: number
  /** Connections in all; 0 is no limit. */
  readonly connectionsMax: number
  readonly keepAlive: boolean
  /** Bytes that one client, and all of them together, may leave unread. */
  readonly unreadBytesMax: { readonly perConnection: number; readonly total: number }
}

/** The commands that may stand in place of a handshake. */
export interface FourLetterWords {
  isKnown(word: string): boolean
  /** Takes what follows the word; answers once it knows enough. */
  start(word: string, answer: (reply: string) => void): (bytes: Uint8Array) => void
}

/** How long a closed connection may take to read what it was last sent. */
const lingerMs = 2_000

/** The client port. */
export class ClientListener {
  readonly peer: PeerBase
  readonly turn: Turn
  readonly words: FourLetterWords
  readonly sockets = new Set<ClientSocket>()
  readonly output: OutputBudget
  readonly unreadBytesMax: number
  /** Nothing more is read from anybody. */
  isStopping = false
  private readonly options: ListenOptions
  private readonly logger: Logger
  private server: Server
  /** Where it listens, or listened last. */
  private bound: AddressInfo | undefined
  private readonly perAddress = new Map<string, number>()

  constructor(
    parts: { peer: PeerBase; turn: Turn; words: FourLetterWords; logger: Logger },
    options: ListenOptions,
  ) {
    this.peer = parts.peer
    this.turn = parts.turn
    this.words = parts.words
    this.logger = parts.logger
    this.options = options
    const { perConnection, total } = options.unreadBytesMax
    this.unreadBytesMax = perConnection
    this.output = new OutputBudget(total, () => performance.now())
    this.server = this.makeServer()
  }

  private makeServer(): Server {
    return createReadingServer({ allowHalfOpen: true }, (socket) => this.accept(socket))
  }

  /** Takes connections elsewhere from now on; those there are stay. */
  async move(port: number, address: string | undefined): Promise<void> {
    const before = this.server
    const server = this.makeServer()
    await this.open(server, port, address)
    this.server = server
    this.bound = server.address() as AddressInfo
    before.close()
    if (this.isStopping) server.close()
  }

  /** Resolves with the port once connections are accepted. */
  async listen(): Promise<number> {
    const { port, address } = this.options
    await this.open(this.server, port, address)
    this.bound = this.server.address() as AddressInfo
    return this.bound.port
  }

  private async open(server: Server, port: number, address: string | undefined): Promise<void> {
    const { backlog } = this.options
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(
        {
          port,
          ...(address === undefined ? {} : { host: address }),
          backlog: backlog > 0 ? backlog : 4096,
        },
        () => {
          server.off('error', reject)
          resolve()
        },
      )
    })
    server.on('error', (error) => this.logger.error(`the client port: ${error.message}`))
  }

  get address(): AddressInfo {
    if (this.bound === undefined) throw new Error('not listening')
    return this.bound
  }

  /** No new connections; those there are stay. */
  stopAccepting(): void {
    this.isStopping = true
    if (this.server.listening) this.server.close()
  }

  /** Ends every connection, after what is to be sent has been sent. */
  async closeAll(): Promise<void> {
    for (const socket of this.sockets) socket.close()
    this.turn.flush()
    const deadline = Date.now() + lingerMs
    while (this.sockets.size > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    for (const socket of this.sockets) socket.destroy()
  }

  endLater(socket: ClientSocket): void {
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }

  dropped(socket: ClientSocket, limit: LimitName, reason: string): void {
    this.peer.stats.limitsReached[limit]++
    this.logger.warn(`dropped ${socket.address}:${socket.port}: ${reason}`)
  }

  forget(socket: ClientSocket): void {
    if (!this.sockets.delete(socket)) return
    const count = (this.perAddress.get(socket.address) ?? 1) - 1
    if (count === 0) this.perAddress.delete(socket.address)
    else this.perAddress.set(socket.address, count)
  }

  private accept(socket: Socket): ClientSocket | undefined {
    const address = plainAddress(socket.remoteAddress ?? '')
    const { perAddressMax, connectionsMax } = this.options
    const count = this.perAddress.get(address) ?? 0
    const isTooManyThere = perAddressMax > 0 && count >= perAddressMax
    const isTooMany = isTooManyThere || (connectionsMax > 0 && this.sockets.size >= connectionsMax)
    if (isTooMany || address === '') {
      if (isTooMany) {
        const limit = isTooManyThere ? 'connections_per_address' : 'connections'
        this.peer.stats.connectionsRejected++
        this.peer.stats.limitsReached[limit]++
        this.logger.warn(
          `refused a connection from ${address}: ${count} are open from there, ${this.sockets.size} in all`,
        )
      }
      socket.destroy()
      return undefined
    }
    this.perAddress.set(address, count + 1)
    this.turn.begin()
    if (this.options.keepAlive) socket.setKeepAlive(true)
    const client = new ClientSocket(socket, address, this)
    this.sockets.add(client)
    return client
  }
}

/** IPv4 clients of a socket that listens for both families come as ::ffff:a.b.c.d. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}
