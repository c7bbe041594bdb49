import type { Server, Socket } from 'node:net'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import type {
  PeerPort,
  EnsemblePeer,
  HostPort,
  LinkAction,
  Membership,
  PacketLink,
  PeerAddress,
  PeerNetwork,
  PeerWire,
  ServerId,
} from '@zabra/core'
import { QuorumSaslAcceptor, QuorumSaslDialer } from '../auth/quorum-sasl.ts'
import type { QuorumSasl, QuorumTls } from '../config/server-config.ts'
import { timerMsMax } from '../base/every.ts'
import type { EventLogger } from '../base/event-logger.ts'
import type { Turn } from './turn.ts'
import type { TlsContext } from '../tls/tls-context.ts'
import {
  authenticateElection,
  AuthenticatedIntroduction,
  ElectionConnection,
} from './election-connection.ts'
import { ClaimGate, readElectionClaim, readLearnerClaim } from './claim-gate.ts'
import { Newcomers } from './newcomers.ts'
import { newcomersMax, PeerSecurity, type PeerPortName } from './peer-security.ts'
import { PeerSocket } from './peer-socket.ts'
import { plainAddress } from '../base/plain-address.ts'
import type { Receiver } from '../base/read-buffer.ts'

export interface PeerNetworkOptions {
  readonly self: ServerId
  readonly membership: Membership
  readonly connectTimeoutMs: number
  /** For election connections, which are idle most of the time. */
  readonly tcpKeepAlive: boolean
  readonly listenOnAllAddresses: boolean
  /** The port on which followers accept observers; the same on every server. */
  readonly observerMasterPort: number | undefined
  /** A connection to the election port must identify itself within this time. */
  readonly handshakeTimeoutMs: number
  /** Attempts to open the election port at the start; 0 is no limit. */
  readonly electionPortBindRetry: number
  readonly tls: QuorumTls
  /** Undefined: no TLS between servers. */
  readonly tlsContext: TlsContext | undefined
  /** Undefined: servers do not authenticate to each other. */
  readonly sasl: QuorumSasl | undefined
}

/**
 * The part of a server that uses the network. It is created after the network, hence the functions.
 */
export interface NetworkUser {
  peer(): EnsemblePeer
  turn(): Turn
  /** A change of configuration moves this server's client port. */
  clientMoved(address: HostPort): void
}

/** A name may not resolve yet, or another process may not have released the port. */
const bindPauseMs = 1000
const rebindPauseMs = 200
/** How long a refused server may take to read the refusal. */
const refusedLingerMs = 1000

/** The election and quorum ports of this server, and its connections to other servers. */
export class NodePeerNetwork implements PeerNetwork {
  private readonly options: PeerNetworkOptions
  private readonly user: NetworkUser
  private readonly logger: EventLogger
  private electionServer: Server | undefined
  private readonly listeners = new Map<PeerPort, Server>()
  private committed: Membership
  private seen: Membership | undefined
  /** Our address, also while we are not a member. */
  private own: PeerAddress
  private readonly security: PeerSecurity
  private readonly connections = new Map<number, ElectionConnection>()
  private readonly learners = { quorum: new Set<Socket>(), observers: new Set<Socket>() }
  /** Connections whose server has to prove its id, by port. */
  private readonly unproven = {
    election: this.newcomersOf('election'),
    quorum: this.newcomersOf('quorum'),
    observers: this.newcomersOf('observers'),
  }
  private nextId = 1
  private isStopped = false

  constructor(options: PeerNetworkOptions, user: NetworkUser, logger: EventLogger) {
    this.options = options
    this.user = user
    this.logger = logger
    this.committed = options.membership
    this.own = this.addressOf(options.self)
    const { tls, sasl, tlsContext: context } = options
    this.security = new PeerSecurity({
      tls,
      sasl,
      context,
      logger,
      hosts: (server) => this.hosts(server),
      onTooMany: this.onTooMany,
    })
  }

  private newcomersOf(port: PeerPortName): Newcomers {
    return new Newcomers(newcomersMax, (address) => this.onTooMany(port, address))
  }

  private readonly onTooMany = (port: PeerPortName, address: string): void => {
    this.user.peer().stats.limitsReached.peer_connections++
    this.logger.warn('peer: closed connection, too many have not identified themselves', {
      address,
      port,
    })
  }

  /** Hosts of all members, or of one, in the committed and the proposed configuration. */
  private hosts(server?: ServerId): string[] {
    const all = [this.committed, ...(this.seen === undefined ? [] : [this.seen])]
    return all
      .flatMap(({ servers }) => [...servers])
      .filter(([id]) => server === undefined || id === server)
      .flatMap(([, { addresses }]) => addresses.map(({ host }) => host))
  }

  /** Resolves once other servers can reach our election port. */
  async start(): Promise<void> {
    const { electionPortBindRetry: attemptsMax } = this.options
    for (let attempt = 1; ; attempt++) {
      try {
        await this.openElectionPort()
        return
      } catch (error) {
        if (attempt === attemptsMax || this.isStopped) throw error
        this.warnOfPort('election', this.own.electionPort, error as Error)
        await setTimeoutPromise(bindPauseMs)
      }
    }
  }

  private async openElectionPort(): Promise<void> {
    const { host, electionPort } = this.own
    this.electionServer = this.security.makeServer('election', (socket) =>
      this.acceptElection(socket),
    )
    await listen(this.electionServer, electionPort, this.bindHost(host))
  }

  private acceptElection(socket: Socket): Receiver {
    let adopted: number | undefined
    const adopt = (): Receiver => {
      const { id, receiver } = this.adopt(new ElectionConnection(socket))
      adopted = id
      this.input((links) => links.accepted(id))
      return receiver
    }
    const leave = (): void => {
      if (adopted === undefined || !this.introduced.has(adopted)) socket.destroy()
    }
    this.afterHandshakeTimeout(socket, leave)
    const refused = (reason: string): void => this.refuse(socket, 'election', reason)
    const proven = (): Receiver => {
      this.unproven.election.delete(socket)
      return adopt()
    }
    const passed = (): Receiver => {
      const { sasl } = this.security
      if (sasl === undefined) return proven()
      return new AuthenticatedIntroduction(sasl, socket, { passed: proven, refused })
    }
    socket.on('error', () => socket.destroy())
    this.unproven.election.add(socket)
    const check = this.security.claimCheck(socket)
    if (check === undefined) return passed()
    return new ClaimGate({ read: readElectionClaim, check, passed, refused })
  }

  /** Calls `leave` when a new connection should have identified itself, if it is still open. */
  private afterHandshakeTimeout(socket: Socket, leave: () => void): NodeJS.Timeout {
    const timeoutMs = Math.min(this.options.handshakeTimeoutMs, timerMsMax)
    const impatience = setTimeout(leave, timeoutMs).unref()
    // Otherwise connections that come and go would leave a timer behind each.
    socket.once('close', () => clearTimeout(impatience))
    return impatience
  }

  /** Closes the connection of a server that fails to authenticate. */
  private refuse(socket: Socket, port: string, reason: string): void {
    const from = plainAddress(socket.remoteAddress)
    this.logger.warn('peer: refused server', { address: from, port, reason })
    socket.end()
    setTimeout(() => socket.destroy(), refusedLingerMs).unref()
  }

  reconfigure(committed: Membership, seen: Membership | undefined): void {
    const before = this.own
    const clientBefore = this.committed.servers.get(this.options.self)?.client
    this.committed = committed
    this.seen = seen
    const spec = committed.servers.get(this.options.self)
    this.own = spec?.addresses[0] ?? before
    const { host, electionPort } = this.own
    const hasMoved = before.host !== host || before.electionPort !== electionPort
    if (hasMoved && this.electionServer !== undefined) this.moveElectionPort()
    const client = spec?.client
    const isSame = client?.host === clientBefore?.host && client?.port === clientBefore?.port
    if (client !== undefined && !isSame) this.user.clientMoved(client)
  }

  /** Open connections stay; new ones are accepted at the new address. */
  private moveElectionPort(): void {
    const { host, electionPort } = this.own
    const isWanted = (): boolean => this.own.electionPort === electionPort && this.own.host === host
    this.electionServer?.close()
    const bind = (): void => {
      if (this.isStopped || !isWanted()) return
      this.openElectionPort().then(
        () => {
          if (this.isStopped) this.electionServer?.close()
          else this.logger.info('peer: moved election port', { port: electionPort })
        },
        (error: Error) => {
          this.warnOfPort('election', electionPort, error)
          setTimeout(bind, rebindPauseMs).unref()
        },
      )
    }
    bind()
  }

  private readonly introduced = new Set<number>()

  stop(): void {
    this.isStopped = true
    this.listen(false)
    this.listen(false, 'observers')
    this.electionServer?.close()
    for (const { socket } of this.connections.values()) socket.destroy()
  }

  // --- the election port -----------------------------------------------------------------------

  perform(action: Exclude<LinkAction, { type: 'message' }>): void {
    if (this.isStopped) return
    switch (action.type) {
      case 'dial':
        this.dialElection(action.server, action.announced)
        return
      case 'send': {
        const { connection, bytes } = action
        this.introduced.add(connection)
        const sent = (): void => this.input((links) => links.sent(connection))
        this.connections.get(connection)?.send(bytes, sent)
        return
      }
      case 'close': {
        const connection = this.connections.get(action.connection)
        this.connections.delete(action.connection)
        connection?.end()
      }
    }
  }

  private dialElection(server: ServerId, announced: readonly string[]): void {
    const known = this.find(server)
    const target =
      known === undefined
        ? parseHostPort(announced[0])
        : { host: known.host, port: known.electionPort }
    // Deferred, because the state machine that requests this must not be re-entered.
    setImmediate(() => {
      if (target === undefined || this.isStopped) {
        this.input((links) => links.dialFailed(server))
        return
      }
      let receiver: Receiver | undefined
      let isConnected = false
      const opened = (): void => {
        clearTimeout(timer)
        isConnected = true
        const connection = new ElectionConnection(socket)
        const { id, receiver: plain } = this.adopt(connection)
        receiver = this.authenticated(connection, target, plain)
        this.introduced.add(id)
        this.input((links) => links.dialled(server, id))
      }
      const socket = this.security.open(target, () => receiver, opened)
      const timer = setTimeout(() => socket.destroy(), this.options.connectTimeoutMs)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => {
        clearTimeout(timer)
        if (!isConnected) this.input((links) => links.dialFailed(server))
      })
    })
  }

  /** Puts the authentication of this server before the receiver, if it is configured. */
  private authenticated(
    connection: ElectionConnection,
    { host, port }: { host: string; port: number },
    receiver: Receiver,
  ): Receiver {
    const own = this.security.sasl?.own
    if (own === undefined) return receiver
    return authenticateElection(own, connection, {
      passed: () => receiver,
      refused: (reason) => {
        this.warnOfRefusal('election', `${host}:${port}`, reason)
        connection.socket.destroy()
      },
    })
  }

  private adopt(connection: ElectionConnection): { id: number; receiver: Receiver } {
    const id = this.nextId++
    const { socket } = connection
    this.connections.set(id, connection)
    socket.setNoDelay(true)
    if (this.options.tcpKeepAlive) socket.setKeepAlive(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.introduced.delete(id)
      if (this.connections.delete(id)) this.input((links) => links.closed(id))
    })
    const receive = (bytes: Uint8Array, length: number): void => {
      if (!this.connections.has(id)) return
      this.introduced.add(id)
      this.input((links) => links.received(id, bytes.subarray(0, length)))
    }
    return { id, receiver: { receive } }
  }

  private input(tell: Parameters<EnsemblePeer['electionInput']>[0]): void {
    if (this.isStopped) return
    const { user } = this
    user.turn().run(() => user.peer().electionInput(tell))
  }

  // --- the quorum port -------------------------------------------------------------------------

  /**
   * The port is open only while this server leads, or accepts observers; it may take a moment to
   * become free again.
   */
  listen(isOn: boolean, peerPort: PeerPort = 'quorum'): void {
    this.listeners.get(peerPort)?.close()
    this.listeners.delete(peerPort)
    for (const socket of this.learners[peerPort]) if (!isOn) socket.end()
    if (!isOn || this.isStopped) return
    const { host, port } = this.endpointFor(this.own, peerPort)
    const server = this.security.makeServer(peerPort, (socket) =>
      this.acceptLearner(socket, peerPort),
    )
    this.listeners.set(peerPort, server)
    // The role may end before the port opens: then it must be closed, or it would block the next
    // time.
    const isWanted = (): boolean => this.listeners.get(peerPort) === server
    const bind = (): void => {
      if (!isWanted()) return
      listen(server, port, this.bindHost(host)).then(
        () => isWanted() || server.close(),
        (error: Error) => {
          if (!isWanted()) return
          this.warnOfPort(peerPort, port, error)
          setTimeout(bind, rebindPauseMs).unref()
        },
      )
    }
    bind()
  }

  private acceptLearner(socket: Socket, peerPort: PeerPort): Receiver | undefined {
    // The handshake may have finished after the role ended.
    if (!this.listeners.has(peerPort)) {
      socket.destroy()
      return undefined
    }
    const sockets = this.learners[peerPort]
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    const { sasl } = this.security
    const check = this.security.claimCheck(socket)
    if (sasl === undefined && check === undefined) return this.serveLearner(socket, peerPort)
    socket.on('error', () => socket.destroy())
    this.unproven[peerPort].add(socket)
    const impatience = this.afterHandshakeTimeout(socket, () => socket.destroy())
    const refused = (reason: string): void => this.refuse(socket, peerPort, reason)
    const serve = (): Receiver | undefined => {
      clearTimeout(impatience)
      this.unproven[peerPort].delete(socket)
      return this.listeners.has(peerPort) ? this.serveLearner(socket, peerPort) : undefined
    }
    const checkClaim = (): Receiver | undefined =>
      check === undefined
        ? serve()
        : new ClaimGate({ read: readLearnerClaim, check, passed: serve, refused })
    if (sasl === undefined) return checkClaim()
    const send = (bytes: Uint8Array): void => void socket.write(bytes)
    return new QuorumSaslAcceptor(sasl, { send, passed: checkClaim, refused })
  }

  private serveLearner(socket: Socket, peerPort: PeerPort): Receiver {
    const turn = this.user.turn()
    const wire = new PeerSocket(socket, turn)
    turn.run(() => wire.attach(this.user.peer().acceptLearner(wire, peerPort)))
    return wire
  }

  dial(
    server: ServerId,
    attach: (wire: PeerWire) => PacketLink,
    peerPort: PeerPort = 'quorum',
  ): Promise<PacketLink> {
    const target = this.endpointFor(this.addressOf(server), peerPort)
    const at = `${target.host}:${target.port}`
    return new Promise((resolve, reject) => {
      let receiver: Receiver | undefined
      const serve = (): Receiver => {
        clearTimeout(timer)
        const wire = new PeerSocket(socket, this.user.turn())
        const link = attach(wire)
        wire.attach(link)
        resolve(link)
        return wire
      }
      const opened = (): void => {
        const own = this.security.sasl?.own
        if (own === undefined) {
          receiver = serve()
          return
        }
        const refused = (reason: string): void => {
          this.warnOfRefusal(peerPort, at, reason)
          socket.destroy(new Error(`${at}: ${reason}`))
        }
        const send = (bytes: Uint8Array): void => void socket.write(bytes)
        const dialer = new QuorumSaslDialer(own, { send, passed: serve, refused })
        receiver = dialer
        dialer.start()
      }
      const socket = this.security.open(target, () => receiver, opened)
      const timer = setTimeout(
        () => socket.destroy(new Error(`${at} does not answer`)),
        this.options.connectTimeoutMs,
      )
      socket.once('error', reject)
      socket.once('close', () => {
        clearTimeout(timer)
        reject(new Error(`${at} closed the connection`))
      })
    })
  }

  private warnOfPort(name: string, port: number, { message }: Error): void {
    this.logger.warn('peer: cannot open port, retrying', { name, port, error: message })
  }

  private warnOfRefusal(port: string, address: string, reason: string): void {
    this.logger.warn('peer: server refused this one', { address, port, reason })
  }

  private find(server: ServerId): PeerAddress | undefined {
    const spec = this.committed.servers.get(server) ?? this.seen?.servers.get(server)
    return spec?.addresses[0]
  }

  private endpointFor(
    { host, quorumPort }: PeerAddress,
    peerPort: PeerPort,
  ): { host: string; port: number } {
    return {
      host,
      port: peerPort === 'quorum' ? quorumPort : (this.options.observerMasterPort ?? 0),
    }
  }

  private addressOf(server: ServerId): PeerAddress {
    const address = this.find(server)
    if (address === undefined) throw new Error(`server ${server} is not in the configuration`)
    return address
  }

  private bindHost(host: string): string | undefined {
    return this.options.listenOnAllAddresses ? undefined : host
  }
}

function listen(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
}

/** Parses an address that another server announces, and that anybody may have sent. */
export function parseHostPort(
  text: string | undefined,
): { host: string; port: number } | undefined {
  const [, host, digits] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(text ?? '') ?? []
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}
