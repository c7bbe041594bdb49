import { createServer, Socket, type AddressInfo, type Server } from 'node:net'
import type { PeerBase } from '@zabra/core'
import type { Logger } from '../logger.ts'
import type { Turn } from '../turn.ts'
import { ClientSocket } from './client-socket.ts'

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
}

/** The commands that may stand in place of a handshake. */
export interface FourLetterWords {
  isKnown(word: string): boolean
  /** Takes what follows the word; answers once it knows enough. */
  start(word: string, answer: (reply: string) => void): (bytes: Uint8Array) => void
}

const readBytes = 64 * 1024
const trimIntervalMs = 10_000
/** How long a closed connection may take to read what it was last sent. */
const lingerMs = 2_000

/** The client port. */
export class ClientListener {
  readonly peer: PeerBase
  readonly turn: Turn
  readonly words: FourLetterWords
  readonly sockets = new Set<ClientSocket>()
  /** Nothing more is read from anybody. */
  isStopping = false
  private readonly options: ListenOptions
  private readonly logger: Logger
  private readonly server: Server
  private readonly perAddress = new Map<string, number>()
  /** One for all connections: what is read is dealt with before the next read. */
  private readonly readBuffer = Buffer.allocUnsafeSlow(readBytes)
  private readonly trimmer: NodeJS.Timeout

  constructor(
    parts: { peer: PeerBase; turn: Turn; words: FourLetterWords; logger: Logger },
    options: ListenOptions,
  ) {
    this.peer = parts.peer
    this.turn = parts.turn
    this.words = parts.words
    this.logger = parts.logger
    this.options = options
    this.server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) =>
      this.accept(socket),
    )
    this.trimmer = setInterval(() => {
      for (const socket of this.sockets) socket.trim()
    }, trimIntervalMs)
    this.trimmer.unref()
  }

  /** Resolves with the port once connections are accepted. */
  async listen(): Promise<number> {
    const { port, address, backlog } = this.options
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(
        {
          port,
          ...(address === undefined ? {} : { host: address }),
          backlog: backlog > 0 ? backlog : 4096,
        },
        () => {
          this.server.off('error', reject)
          resolve()
        },
      )
    })
    this.server.on('error', (error) => this.logger.error(`the client port: ${error.message}`))
    return this.address.port
  }

  get address(): AddressInfo {
    const address = this.server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening')
    return address
  }

  /** No new connections; those there are stay. */
  stopAccepting(): void {
    this.isStopping = true
    clearInterval(this.trimmer)
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

  setTime(): void {
    this.turn.setTime()
  }

  endLater(socket: ClientSocket): void {
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }

  dropped(socket: ClientSocket, reason: string): void {
    this.logger.warn(`dropped ${socket.address}:${socket.port}: ${reason}`)
  }

  forget(socket: ClientSocket): void {
    if (!this.sockets.delete(socket)) return
    const count = (this.perAddress.get(socket.address) ?? 1) - 1
    if (count === 0) this.perAddress.delete(socket.address)
    else this.perAddress.set(socket.address, count)
  }

  private accept(accepted: Socket): void {
    const address = plainAddress(accepted.remoteAddress ?? '')
    const { perAddressMax, connectionsMax } = this.options
    const count = this.perAddress.get(address) ?? 0
    const isTooMany =
      (perAddressMax > 0 && count >= perAddressMax) ||
      (connectionsMax > 0 && this.sockets.size >= connectionsMax)
    if (isTooMany || address === '') {
      if (isTooMany) {
        this.peer.stats.connectionsRejected++
        this.logger.warn(`refused a connection from ${address}: ${count} are open from there`)
      }
      accepted.destroy()
      return
    }
    this.perAddress.set(address, count + 1)
    this.setTime()
    let client: ClientSocket
    const socket = readInto(accepted, this.readBuffer, (bytes, length) =>
      client.receive(bytes, length),
    )
    socket.setNoDelay(true)
    if (this.options.keepAlive) socket.setKeepAlive(true)
    client = new ClientSocket(socket, address, this)
    this.sockets.add(client)
    socket.resume()
  }
}

/**
 * Reads from an accepted socket into a fixed buffer. Node offers `onread` only to sockets made by
 * `new Socket`, so the accepted handle moves into one; it saves an allocation for each read,
 * 10 to 25 % of the cost of a small request. Where the handle cannot be moved, events do.
 */
function readInto(
  accepted: Socket,
  buffer: Buffer,
  onBytes: (bytes: Uint8Array, length: number) => void,
): Socket {
  const internals = accepted as unknown as { _handle: unknown }
  const handle = internals._handle
  if (handle === null || handle === undefined) {
    accepted.on('data', (chunk: Buffer) => onBytes(chunk, chunk.length))
    return accepted
  }
  internals._handle = null
  const callback = (length: number): boolean => {
    onBytes(buffer, length)
    return true
  }
  return new Socket({
    handle,
    allowHalfOpen: true,
    readable: true,
    writable: true,
    onread: { buffer, callback },
  } as ConstructorParameters<typeof Socket>[0])
}

/** IPv4 clients of a socket that listens for both families come as ::ffff:a.b.c.d. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}
