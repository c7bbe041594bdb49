import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { LimitName, PeerBase } from '@zabra/core'
import type { Id } from '@zabra/protocol'
import { plainAddress } from '../base/plain-address.ts'
import type { EventLogger } from '../base/event-logger.ts'
import type { TlsAcceptor } from '../tls/tls-acceptor.ts'
import type { Turn } from './turn.ts'
import { ClientPort, type ClientPortParts, type Speech } from './client-port.ts'
import { ClientSocket } from './client-socket.ts'
import { Descriptors } from './descriptors.ts'
import { OutputBudget } from './output-budget.ts'

export interface ListenOptions {
  /** The client ports; the first one is announced to clients. */
  readonly ports: readonly {
    readonly speech: Speech
    readonly port: number
    readonly address: string | undefined
  }[]
  /** -1: the default of the system. */
  readonly clientPortListenBacklog: number
  /** Connections from one address; 0 is no limit. */
  readonly maxClientCnxns: number
  /** Total connections; 0 is no limit. */
  readonly maxCnxns: number
  readonly clientTcpKeepAlive: boolean
  /** Limits of unread bytes, for one client and for all of them together. */
  readonly unreadBytesMax: { readonly perConnection: number; readonly total: number }
  /** How long a shared port waits for the first byte. */
  readonly detectionTimeoutMs: number
}

/** The four-letter words, which replace a handshake. */
export interface FourLetterWords {
  isKnown(word: string): boolean
  /** Takes the bytes after the word; answers once it has enough. */
  start(word: string, answer: (reply: string) => void): (bytes: Uint8Array) => void
}

/** How long a closed connection may take to read the last bytes. */
const lingerMs = 2_000
/** Connections refused for lack of descriptors come in floods, so they are logged together. */
const scarcityEveryMs = 10_000

/** The ports of clients, and their connections. */
export class ClientListener {
  readonly peer: PeerBase
  readonly turn: Turn
  readonly words: FourLetterWords
  readonly sockets = new Set<ClientSocket>()
  readonly output: OutputBudget
  readonly unreadBytesMax: number
  /** Nothing more is read from any client. */
  isStopping = false
  private readonly options: ListenOptions
  private readonly logger: EventLogger
  private readonly ports: readonly ClientPort[]
  private readonly perAddress = new Map<string, number>()
  /** Includes those whose TLS handshake is in progress. */
  private connections = 0
  private readonly descriptors = new Descriptors()
  private refusedSinceLogged = 0
  private scarcityLoggedAtMs = -Infinity

  constructor(
    parts: {
      peer: PeerBase
      turn: Turn
      words: FourLetterWords
      logger: EventLogger
      tls: TlsAcceptor | undefined
    },
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
    const { clientPortListenBacklog, detectionTimeoutMs } = options
    const portParts: ClientPortParts = {
      admit: (socket) => this.admit(socket),
      plain: (socket) => this.serve(socket, undefined),
      tls: parts.tls,
      detectionTimeoutMs,
      failed: (error) => this.logger.error('client: port failed', { error: error.message }),
    }
    this.ports = options.ports.map(
      (port) => new ClientPort({ ...port, clientPortListenBacklog }, portParts),
    )
  }

  /** Opens the ports one after the other; `failed` converts the error of a port. */
  async listen(failed: (speech: Speech, error: Error) => Error): Promise<void> {
    for (const port of this.ports) {
      await port.listen().catch((error: Error) => {
        throw failed(port.speech, error)
      })
    }
  }

  /** Moves the port to another address; open connections stay. */
  async move(port: number, address: string | undefined): Promise<void> {
    await this.ports.find(({ speech }) => speech !== 'tls')?.move(port, address)
  }

  /** The address for clients without TLS; undefined if there is none. */
  get address(): AddressInfo | undefined {
    return this.ports.find(({ speech }) => speech !== 'tls')?.address
  }

  /** The address for clients with TLS; undefined if there is none. */
  get secureAddress(): AddressInfo | undefined {
    const port = this.ports.find(({ speech }) => speech === 'tls')
    return (port ?? this.ports.find(({ speech }) => speech === 'both'))?.address
  }

  /** Stops accepting connections; open ones stay. */
  stopAccepting(): void {
    this.isStopping = true
    for (const port of this.ports) port.stop()
  }

  /** Ends every connection once its pending bytes are sent. */
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
    this.logger.warn('client: dropped connection', {
      address: `${socket.address}:${socket.port}`,
      reason,
    })
  }

  forget(socket: ClientSocket): void {
    this.sockets.delete(socket)
  }

  /** Serves a connection after its TLS handshake, with the identities of its certificate. */
  serveSecure(socket: TLSSocket, identities: readonly Id[]): void {
    const client = this.serve(socket, identities)
    if (this.isStopping) client.close()
    socket.on('data', (bytes: Buffer) => client.receive(bytes, bytes.length))
  }

  private serve(socket: Socket, identities: readonly Id[] | undefined): ClientSocket {
    this.turn.begin()
    if (this.options.clientTcpKeepAlive) socket.setKeepAlive(true)
    const address = plainAddress(socket.remoteAddress)
    const client = new ClientSocket(socket, address, this, identities)
    this.sockets.add(client)
    return client
  }

  /** Whether to accept another connection. */
  private admit(socket: Socket): boolean {
    const address = plainAddress(socket.remoteAddress)
    const { maxClientCnxns, maxCnxns } = this.options
    const count = this.perAddress.get(address) ?? 0
    const isTooManyThere = maxClientCnxns > 0 && count >= maxClientCnxns
    const isTooMany = isTooManyThere || (maxCnxns > 0 && this.connections >= maxCnxns)
    if (isTooMany || address === '') {
      if (isTooMany) {
        const limit = isTooManyThere ? 'connections_per_address' : 'connections'
        this.peer.stats.connectionsRejected++
        this.peer.stats.limitsReached[limit]++
        this.logger.warn('client: refused connection, too many are open', {
          address,
          limit: isTooManyThere ? 'maxClientCnxns' : 'maxCnxns',
          fromAddress: count,
          total: this.connections,
        })
      }
      socket.destroy()
      return false
    }
    if (!this.descriptors.hasRoomFor(socket)) {
      this.refuseForDescriptors()
      socket.destroy()
      return false
    }
    this.perAddress.set(address, count + 1)
    this.connections++
    socket.once('close', () => this.left(address))
    return true
  }

  private left(address: string): void {
    this.connections--
    const count = (this.perAddress.get(address) ?? 1) - 1
    if (count === 0) this.perAddress.delete(address)
    else this.perAddress.set(address, count)
  }

  private refuseForDescriptors(): void {
    this.peer.stats.connectionsRejected++
    this.peer.stats.connectionsWithoutDescriptor++
    this.refusedSinceLogged++
    const nowMs = performance.now()
    if (nowMs - this.scarcityLoggedAtMs < scarcityEveryMs) return
    this.logger.warn('client: refused connections, too few file descriptors (ulimit -n)', {
      refused: this.refusedSinceLogged,
      open: this.sockets.size,
    })
    this.scarcityLoggedAtMs = nowMs
    this.refusedSinceLogged = 0
  }
}
