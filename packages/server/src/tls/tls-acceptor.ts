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
  /** Maximum number of handshakes in progress; others wait. */
  readonly handshakesMax: number
  /** Called with the address of a connection that has to wait, or is closed. */
  readonly onCrowded: (address: string) => void
  /** Called with the reason when a handshake fails. */
  readonly onFailed: (address: string, reason: string) => void
}

/**
 * While others wait, a handshake is ended if its client sends nothing during this many looks. Looks
 * are at least `lookEveryMs` apart. A busy server looks less often, so that clients are not blamed
 * for its own delays.
 */
const silentLooksMax = 20
const lookEveryMs = 100
/** The number of connections that may wait, as a multiple of the handshakes in progress. */
const waitingFactor = 2

/** A handshake in progress. */
interface Handshake {
  readonly socket: Socket
  bytesRead: number
  silentLooks: number
}

/** The server's side of TLS handshakes on accepted connections. */
export class TlsAcceptor {
  readonly counts: HandshakeCounts = { underWay: 0, failed: 0 }
  private readonly options: AcceptorOptions
  /** Connections whose handshake is in progress, the oldest first, by `endpointOf`. */
  private readonly shaking = new Map<string, Handshake>()
  /** Connections whose handshake has not begun, with the timers that end their patience. */
  private readonly waiting = new Map<Socket, NodeJS.Timeout>()
  private looking: NodeJS.Timeout | undefined
  private server: Server

  constructor(options: AcceptorOptions) {
    this.options = options
    this.server = this.makeServer(options.context.current)
    options.context.onChange((credentials) => (this.server = this.makeServer(credentials)))
  }

  private get handshakeTimeoutMs(): number {
    return 2 * this.options.context.settings.detectionTimeoutMs
  }

  /** Handshakes in progress keep the certificates they began with. */
  private makeServer({ options: secure }: Credentials): Server {
    const { clientAuth } = this.options
    const server = createServer({
      ...secure,
      requestCert: clientAuth !== 'none',
      // An invalid optional certificate is refused in `secured`.
      rejectUnauthorized: clientAuth === 'need',
      handshakeTimeout: this.handshakeTimeoutMs,
      // A resumed session would keep an identity that may have been revoked since.
      ...(clientAuth === 'none' ? {} : { secureOptions: constants.SSL_OP_NO_TICKET }),
    })
    server.on('secureConnection', (socket) => void this.secured(socket))
    server.on('tlsClientError', (error, socket) => this.refuse(socket, describe(error)))
    return server
  }

  /** Bytes already read from the connection must have been put back with `unshift`. */
  accept(socket: Socket): void {
    if (this.shaking.size < this.options.handshakesMax) this.begin(socket)
    else this.wait(socket)
  }

  private begin(socket: Socket): void {
    const endpoint = endpointOf(socket)
    this.shaking.set(endpoint, { socket, bytesRead: socket.bytesRead, silentLooks: 0 })
    this.counts.underWay = this.shaking.size
    socket.once('close', () => {
      if (this.shaking.get(endpoint)?.socket === socket) this.finished(endpoint)
    })
    // With a half-open connection, a client that leaves during the handshake would be noticed only
    // by the timeout.
    socket.allowHalfOpen = false
    this.server.emit('connection', socket)
  }

  /** The handshake with this client is over, so the next one can begin. */
  private finished(endpoint: string): void {
    const { shaking, waiting, options } = this
    shaking.delete(endpoint)
    this.counts.underWay = shaking.size
    for (const [socket, impatience] of waiting) {
      if (shaking.size >= options.handshakesMax) return
      waiting.delete(socket)
      clearTimeout(impatience)
      this.begin(socket)
    }
  }

  private wait(socket: Socket): void {
    const { waiting, options } = this
    options.onCrowded(plainAddress(socket.remoteAddress))
    if (waiting.size >= waitingFactor * options.handshakesMax) {
      socket.on('error', ignore)
      socket.destroy()
      return
    }
    socket.pause()
    socket.on('error', ignore)
    const impatience = setTimeout(() => socket.destroy(), this.handshakeTimeoutMs)
    impatience.unref()
    waiting.set(socket, impatience)
    socket.once('close', () => {
      waiting.delete(socket)
      clearTimeout(impatience)
    })
    this.looking ??= setInterval(() => this.closeSilent(), lookEveryMs)
    this.looking.unref()
  }

  /** Clients that stop in the middle of a handshake must not lock out others. */
  private closeSilent(): void {
    const { shaking, waiting } = this
    if (waiting.size === 0) {
      clearInterval(this.looking)
      this.looking = undefined
      return
    }
    const silent: Socket[] = []
    for (const handshake of shaking.values()) {
      const { socket, bytesRead } = handshake
      handshake.bytesRead = socket.bytesRead
      handshake.silentLooks = socket.bytesRead === bytesRead ? handshake.silentLooks + 1 : 0
      if (handshake.silentLooks >= silentLooksMax) silent.push(socket)
    }
    for (const socket of silent.slice(0, waiting.size)) socket.destroy()
  }

  private async secured(socket: TLSSocket): Promise<void> {
    this.finished(endpointOf(socket))
    try {
      await this.checkAndPass(socket)
    } catch (error) {
      // OpenSSL accepts certificates that other code cannot read. They must not stop the server.
      this.refuse(socket, `its certificate cannot be used: ${(error as Error).message}`)
    }
  }

  private async checkAndPass(socket: TLSSocket): Promise<void> {
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
    const address = plainAddress(socket.remoteAddress) || 'unknown'
    socket.destroy()
    this.options.onFailed(address, reason)
  }
}

function ignore(): void {}

/** The other end of a connection; the same for a socket and for the TLS socket on top of it. */
function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** OpenSSL's messages are long and contain paths of its source files. */
function describe(error: Error & { code?: string; reason?: string }): string {
  if (error.reason !== undefined) return error.reason
  if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'it did not finish the handshake in time'
  return error.code === 'ECONNRESET' ? 'it closed the connection' : error.message
}
