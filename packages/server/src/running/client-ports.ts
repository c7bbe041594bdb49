import { faultCode, type HostPort, type PeerBase } from '@zabra/core'
import type { EventLogger } from '../base/event-logger.ts'
import { StartError } from '../base/start-error.ts'
import { x509Identities } from '../auth/x509.ts'
import type { ServerConfig } from '../config/config.ts'
import { ClientListener, type FourLetterWords } from '../net/client-listener.ts'
import type { Speech } from '../net/client-port.ts'
import type { Turn } from '../net/turn.ts'
import { nameProblem } from '../tls/peer-names.ts'
import { TlsAcceptor, type HandshakeCounts } from '../tls/tls-acceptor.ts'
import type { TlsContext } from '../tls/tls-context.ts'
import { listenOptions } from './options.ts'

export interface ClientPortsParts {
  readonly peer: PeerBase
  readonly turn: Turn
  readonly words: FourLetterWords
  readonly logger: EventLogger
  /** Undefined: clients cannot use TLS. */
  readonly tlsContext: TlsContext | undefined
}

/** The ports that clients connect to, plain and with TLS. */
export class ClientPorts {
  readonly listener: ClientListener
  private readonly config: ServerConfig
  private readonly logger: EventLogger
  private readonly acceptor: TlsAcceptor | undefined

  constructor(config: ServerConfig, parts: ClientPortsParts) {
    const { tlsContext, ...rest } = parts
    this.config = config
    this.logger = parts.logger
    this.acceptor = tlsContext && this.makeAcceptor(tlsContext, parts.peer)
    this.listener = new ClientListener({ ...rest, tls: this.acceptor }, listenOptions(config))
  }

  /** TLS handshakes with clients. */
  get handshakes(): HandshakeCounts {
    return this.acceptor?.counts ?? { underWay: 0, failed: 0 }
  }

  async open(): Promise<void> {
    await this.listener.listen((speech, error) => startError(this.config, speech, error))
  }

  /** Follows a change of configuration that moves this server's client port. */
  move({ host, port }: HostPort): void {
    const { listener, logger } = this
    const now = listener.address
    if (listener.isStopping || now === undefined) return
    const { port: portNow, address: addressNow } = now
    const isEvery = (address: string | undefined): boolean =>
      address === undefined || address === '::' || address === '0.0.0.0'
    if (port === portNow && (host === addressNow || (isEvery(host) && isEvery(addressNow)))) return
    listener.move(port, isEvery(host) ? undefined : host).then(
      () => logger.info('client: moved port', { port }),
      (error: Error) =>
        logger.error('client: cannot move port, keeping the old one', {
          port,
          oldPort: portNow,
          error: error.message,
        }),
    )
  }

  private makeAcceptor(context: TlsContext, peer: PeerBase): TlsAcceptor {
    const { settings } = context
    const { clientAuth, clientHostnameVerification, allowReverseDnsLookup } = settings
    return new TlsAcceptor({
      context,
      clientAuth,
      allowHalfOpen: true,
      handshakesMax: this.config.tls.handshakesMax,
      onCrowded: (address) => {
        peer.stats.limitsReached.handshakes++
        this.logger.warn('client: connection waits, too many TLS handshakes are in progress', {
          address,
          limit: 'netty.server.outstandingHandshake.limit',
        })
      },
      checkPeer: clientHostnameVerification
        ? (certificate, socket) =>
            nameProblem(certificate, socket, { hosts: [], mayLookUp: allowReverseDnsLookup })
        : undefined,
      onSecure: (socket, certificate) => {
        const proven =
          certificate === undefined ? [] : x509Identities(certificate, this.config.x509SuperUser)
        this.listener.serveSecure(socket, proven)
      },
      onFailed: (address, reason) => {
        peer.stats.authFailures++
        this.logger.warn('tls: handshake with client failed', { address, error: reason })
      },
    })
  }
}

/** Names the setting that caused the operating system's error. */
function startError(config: ServerConfig, speech: Speech, error: Error): Error {
  const isSecure = speech === 'tls'
  const key = isSecure ? 'secureClientPort' : 'clientPort'
  const port = isSecure ? config.tls.port : config.clientPort
  const address = isSecure ? config.tls.address : config.clientPortAddress
  const isAboutAddress = /^(EADDRNOTAVAIL|ENOTFOUND|EAI_.*)$/.test(faultCode(error) ?? '')
  return new StartError(
    isAboutAddress
      ? `${key}Address: ${address} cannot be listened on: ${error.message}. Name an ` +
          'address of this machine, or leave it out to listen on every one.'
      : `${key}: ${port} cannot be listened on: ${error.message}`,
    error,
  )
}
