import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { TlsAcceptor } from '../tls/tls-acceptor.ts'
import { FirstByte } from './first-byte.ts'
import { createReadingServer, type Receiver } from '../base/read-buffer.ts'

/** The protocols that a port accepts. */
export type Speech = 'plain' | 'tls' | 'both'

export interface ClientPortOptions {
  readonly speech: Speech
  readonly port: number
  readonly address: string | undefined
  /** -1: the default of the system. */
  readonly clientPortListenBacklog: number
}

export interface ClientPortParts {
  /** Whether to accept another connection; counts it until its socket is closed. */
  readonly admit: (socket: Socket) => boolean
  readonly plain: (socket: Socket) => Receiver
  /** Needed by ports with TLS. */
  readonly tls: TlsAcceptor | undefined
  readonly detectionTimeoutMs: number
  readonly failed: (error: Error) => void
}

/** A port that clients connect to. */
export class ClientPort {
  readonly speech: Speech
  private readonly options: ClientPortOptions
  private readonly parts: ClientPortParts
  private server: Server
  private bound: AddressInfo | undefined
  private isStopping = false

  constructor(options: ClientPortOptions, parts: ClientPortParts) {
    this.options = options
    this.speech = options.speech
    this.parts = parts
    this.server = this.makeServer()
  }

  /** The current address, or the last one. */
  get address(): AddressInfo {
    if (this.bound === undefined) throw new Error('not listening')
    return this.bound
  }

  listen(): Promise<void> {
    const { port, address } = this.options
    return this.open(this.server, port, address)
  }

  /** Moves the port to another address; open connections stay. */
  async move(port: number, address: string | undefined): Promise<void> {
    const before = this.server
    const server = this.makeServer()
    await this.open(server, port, address)
    this.server = server
    before.close()
    if (this.isStopping) server.close()
  }

  /** Stops accepting connections; open ones stay. */
  stop(): void {
    this.isStopping = true
    if (this.server.listening) this.server.close()
  }

  private makeServer(): Server {
    const { admit, plain, tls, detectionTimeoutMs: timeoutMs } = this.parts
    if (this.speech === 'tls') {
      return createServer({ noDelay: true }, (socket) => {
        if (admit(socket)) tls!.accept(socket)
      })
    }
    const { speech } = this
    return createReadingServer({ allowHalfOpen: true }, (socket) => {
      if (!admit(socket)) return undefined
      if (speech === 'plain') return plain(socket)
      return new FirstByte(socket, { plain, tls: (each) => tls!.accept(each), timeoutMs })
    })
  }

  private async open(server: Server, port: number, address: string | undefined): Promise<void> {
    const { clientPortListenBacklog: backlog } = this.options
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
    this.bound = server.address() as AddressInfo
    server.on('error', (error) => this.parts.failed(error))
  }
}
