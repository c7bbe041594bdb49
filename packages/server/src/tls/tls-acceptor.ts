import { constants, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { plainAddress } from '../base/plain-address.ts'
import type { Credentials } from './credentials.ts'
import type { TlsContext } from './tls-context.ts'

/** Counters of TLS handshakes. */
export interface HandshakeCounts {
  underWay: number
  failed: number
}

export interface AcceptorOptions {
  readonly context: TlsContext
  readonly clientAuth: 'none' | 'want' | 'need'
  /** Whether a connection stays open for sending after the other side has sent its end. */
  readonly allowHalfOpen: boolean
  /** The reason to refuse a valid certificate; undefined accepts it. */
  readonly checkPeer?:
    | ((
        certificate: X509Certificate,
        socket: TLSSocket,
      ) => Promise<string | undefined> | string | undefined)
    | undefined
  /** Takes a connection after its handshake, with the certificate that the client presented. */
  readonly onSecure: (socket: TLSSocket, certificate: X509Certificate | undefined) => void
  /** Called with the reason when a handshake fails. */
  readonly onFailed: (address: string, reason: string) => void
}

/** The server's side of TLS handshakes on accepted connections. */
export class TlsAcceptor {
  readonly counts: HandshakeCounts = { underWay: 0, failed: 0 }
  private readonly options: AcceptorOptions
  private server: Server

  constructor(options: AcceptorOptions) {
    this.options = options
    this.server = this.makeServer(options.context.current)
    options.context.onChange((credentials) => (this.server = this.makeServer(credentials)))
  }

  /** Handshakes in progress keep the certificates they began with. */
  private makeServer({ options: secure }: Credentials): Server {
    const { clientAuth, context } = this.options
    const server = createServer({
      ...secure,
      requestCert: clientAuth !== 'none',
      // An invalid optional certificate is refused in `secured`.
      rejectUnauthorized: clientAuth === 'need',
      handshakeTimeout: 2 * context.settings.detectionTimeoutMs,
      // A resumed session would keep an identity that may have been revoked since.
      ...(clientAuth === 'none' ? {} : { secureOptions: constants.SSL_OP_NO_TICKET }),
    })
    server.on('secureConnection', (socket) => void this.secured(socket))
    server.on('tlsClientError', (error, socket) => {
      this.counts.underWay--
      this.refuse(socket, describe(error))
    })
    return server
  }

  /** Bytes already read from the connection must have been put back with `unshift`. */
  accept(socket: Socket): void {
    this.counts.underWay++
    // With a half-open connection, a client that leaves during the handshake would be noticed only
    // by the timeout.
    socket.allowHalfOpen = false
    this.server.emit('connection', socket)
  }

  private async secured(socket: TLSSocket): Promise<void> {
    this.counts.underWay--
    const { clientAuth, checkPeer, onSecure, allowHalfOpen } = this.options
    socket.allowHalfOpen = allowHalfOpen
    const certificate = clientAuth === 'none' ? undefined : socket.getPeerX509Certificate()
    if (certificate === undefined && clientAuth === 'need') {
      this.refuse(socket, 'no certificate was presented')
      return
    }
    if (certificate !== undefined && !socket.authorized) {
      this.refuse(socket, String(socket.authorizationError))
      return
    }
    if (certificate !== undefined && checkPeer !== undefined) {
      // Nothing is read until the peer is checked.
      socket.pause()
      socket.on('error', ignore)
      const problem = await checkPeer(certificate, socket)
      socket.off('error', ignore)
      if (socket.destroyed) return
      if (problem !== undefined) {
        this.refuse(socket, problem)
        return
      }
      // `resume` takes effect in a later turn, after `onSecure` has added its listener.
      socket.resume()
    }
    onSecure(socket, certificate)
  }

  private refuse(socket: TLSSocket, reason: string): void {
    this.counts.failed++
    socket.on('error', ignore)
    const address = plainAddress(socket.remoteAddress) || 'that is gone'
    socket.destroy()
    this.options.onFailed(address, reason)
  }
}

function ignore(): void {}

/** OpenSSL's messages are long and contain paths of its source files. */
function describe(error: Error & { code?: string; reason?: string }): string {
  if (error.reason !== undefined) return error.reason
  if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'it did not finish the handshake in time'
  return error.code === 'ECONNRESET' ? 'it closed the connection' : error.message
}
