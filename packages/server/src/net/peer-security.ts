import { connect, createServer, type Server, type Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls, TLSSocket } from 'node:tls'
import type { HostPort, ServerId } from '@zabra/core'
import type { QuorumSasl, QuorumTls } from '../config/server-config.ts'
import type { EventLogger } from '../base/event-logger.ts'
import { claimProblem, nameProblem } from '../tls/peer-names.ts'
import { TlsAcceptor } from '../tls/tls-acceptor.ts'
import type { TlsContext } from '../tls/tls-context.ts'
import { Descriptors } from './descriptors.ts'
import { FirstByte } from './first-byte.ts'
import { Newcomers } from './newcomers.ts'
import { plainAddress } from '../base/plain-address.ts'
import { createReadingServer, onRead, type Receiver } from '../base/read-buffer.ts'

/** The ports for other servers. */
export type PeerPortName = 'election' | 'quorum' | 'observers'

export interface PeerSecurityParts {
  /** Undefined: no TLS between servers. */
  readonly context: TlsContext | undefined
  readonly tls: QuorumTls
  /** Undefined: servers do not authenticate to each other. */
  readonly sasl: QuorumSasl | undefined
  /** The hosts of all members, or of one; none for a server that is not a member. */
  readonly hosts: (server?: ServerId) => readonly string[]
  /** Called with the address of a connection that is closed because there are too many. */
  readonly onTooMany: (port: PeerPortName, address: string) => void
  readonly logger: EventLogger
}

/**
 * Maximum number of connections of one port in each step before their server is known: the first
 * byte, the TLS handshake, and the proof of the server's id.
 */
export const newcomersMax = 100
/** File descriptors that other servers do not get: for logs and snapshots. */
const keptDescriptors = 16

type Accept = (socket: Socket) => Receiver | undefined

/** Opens and accepts connections between servers, plain or TLS as configured. */
export class PeerSecurity {
  readonly sasl: QuorumSasl | undefined
  private readonly parts: PeerSecurityParts
  private readonly acceptors = new Map<PeerPortName, TlsAcceptor>()
  private readonly accepts = new Map<PeerPortName, Accept>()
  private readonly descriptors = new Descriptors(keptDescriptors)

  constructor(parts: PeerSecurityParts) {
    this.parts = parts
    this.sasl = parts.sasl
    const { context, tls } = parts
    if (context === undefined || !tls.accepts) return
    for (const port of ['election', 'quorum', 'observers'] as const) {
      this.acceptors.set(port, this.makeAcceptor(port, context))
    }
  }

  /** Makes the server of a port; `accept` takes its connections after TLS detection and handshake. */
  makeServer(port: PeerPortName, accept: Accept): Server {
    this.accepts.set(port, accept)
    const acceptor = this.acceptors.get(port)
    if (acceptor === undefined) return this.readingServer(accept)
    const tls = (socket: Socket): void => acceptor.accept(socket)
    if (!this.parts.tls.acceptsPlain) {
      return createServer({ noDelay: true }, (socket) => {
        if (this.hasRoomFor(socket)) tls(socket)
      })
    }
    const timeoutMs = this.parts.tls.settings.detectionTimeoutMs
    const silent = new Newcomers(newcomersMax, (address) => this.parts.onTooMany(port, address))
    const known =
      <T>(take: (socket: Socket) => T) =>
      (socket: Socket): T => {
        silent.delete(socket)
        return take(socket)
      }
    return this.readingServer((socket) => {
      silent.add(socket)
      return new FirstByte(socket, { plain: known(accept), tls: known(tls), timeoutMs })
    })
  }

  private readingServer(accept: Accept): Server {
    return createReadingServer({ allowHalfOpen: false }, (socket) =>
      this.hasRoomFor(socket) ? accept(socket) : undefined,
    )
  }

  private hasRoomFor(socket: Socket): boolean {
    const hasRoom = this.descriptors.hasRoomFor(socket)
    if (!hasRoom) socket.destroy()
    return hasRoom
  }

  /**
   * How to check which server an accepted connection comes from: a certificate is valid only for
   * the member whose host it names. Undefined if certificates are not required, or their names not
   * checked.
   */
  claimCheck(socket: Socket): ((server: ServerId) => Promise<string | undefined>) | undefined {
    const { clientHostnameVerification, allowReverseDnsLookup } = this.parts.tls.settings
    if (!clientHostnameVerification) return undefined
    const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
    if (certificate === undefined) return undefined
    return async (server) => {
      const hosts = this.parts.hosts(server)
      // A joining server is in no member list yet; the handshake has checked its certificate.
      if (hosts.length === 0) return undefined
      return claimProblem(certificate, socket as TLSSocket, {
        server,
        hosts,
        mayLookUp: allowReverseDnsLookup,
      })
    }
  }

  /** Connects to another server; `opened` is called once bytes may be sent. */
  open({ host, port }: HostPort, receiver: () => Receiver | undefined, opened: () => void): Socket {
    const { context, tls } = this.parts
    if (context === undefined || !tls.dials) {
      const socket = connect({ host: host!, port, noDelay: true, onread: onRead(receiver) })
      socket.once('connect', opened)
      return socket
    }
    const { hostnameVerification } = tls.settings
    const socket = connectTls({
      ...context.current.options,
      // Regardless of NODE_TLS_REJECT_UNAUTHORIZED.
      rejectUnauthorized: true,
      host: host!,
      port,
      // The host in the member list or, as in Apache, the address it resolves to.
      checkServerIdentity: (name, certificate) => {
        if (!hostnameVerification) return undefined
        const problem = checkServerIdentity(name, certificate)
        if (problem === undefined) return undefined
        const address = plainAddress(socket.remoteAddress)
        return checkServerIdentity(address, certificate) === undefined ? undefined : problem
      },
    })
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => receiver()?.receive(bytes, bytes.length))
    socket.once('secureConnect', opened)
    socket.once('error', (error: Error & { code?: string }) => {
      const isAboutTls = error.code === undefined || !/^E[A-Z]+$/.test(error.code)
      if (!isAboutTls) return
      const fields = { address: `${host}:${port}`, error: error.message }
      this.parts.logger.warn('tls: connection to server failed', fields)
    })
    return socket
  }

  private makeAcceptor(port: PeerPortName, context: TlsContext): TlsAcceptor {
    const { tls, hosts, logger } = this.parts
    const { clientAuth, clientHostnameVerification, allowReverseDnsLookup } = tls.settings
    return new TlsAcceptor({
      context,
      clientAuth,
      allowHalfOpen: false,
      handshakesMax: newcomersMax,
      onCrowded: (address) => this.parts.onTooMany(port, address),
      checkPeer: clientHostnameVerification
        ? (certificate, socket) =>
            nameProblem(certificate, socket, { hosts: hosts(), mayLookUp: allowReverseDnsLookup })
        : undefined,
      onSecure: (socket) => {
        socket.setNoDelay(true)
        const receiver = this.accepts.get(port)?.(socket)
        socket.on('data', (bytes: Buffer) => receiver?.receive(bytes, bytes.length))
      },
      onFailed: (address, reason) =>
        logger.warn('tls: handshake with server failed', { address, port, error: reason }),
    })
  }
}
