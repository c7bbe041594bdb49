import { connect, createServer, type Server, type Socket } from 'node:net'
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
import { timerMsMax } from '../every.ts'
import type { Logger } from '../logger.ts'
import type { Turn } from '../turn.ts'
import { PeerSocket } from './peer-socket.ts'
import { createReadingServer, onRead, type Receiver } from './read-buffer.ts'

export interface PeerNetworkOptions {
  readonly self: ServerId
  readonly membership: Membership
  readonly connectTimeoutMs: number
  readonly listenOnAllAddresses: boolean
  /** Where followers take observers; the same on every server. */
  readonly observerMasterPort: number | undefined
  /** Who connects to the election port must say who it is within this time. */
  readonly handshakeTimeoutMs: number
  /** How often the election port is tried at the start; 0 is without end. */
  readonly electionPortBindRetry: number
}

/** A name may not be known yet, or whoever had the port not be gone. */
const bindPauseMs = 1000
const rebindPauseMs = 200

/** The election and quorum ports of this server, and its connections to those of the others. */
export class NodePeerNetwork implements PeerNetwork {
  /** Set right after construction: the two need each other. */
  peer!: EnsemblePeer
  turn!: Turn
  private readonly options: PeerNetworkOptions
  private readonly logger: Logger
  private electionServer: Server | undefined
  private readonly doors = new Map<PeerPort, Server>()
  /** Told when the members are to find our client port elsewhere. */
  onClientMoved: ((address: HostPort) => void) | undefined
  private committed: Membership
  private seen: Membership | undefined
  /** Also when we are no member, or no longer. */
  private own: PeerAddress
  private readonly connections = new Map<number, Socket>()
  private readonly learners = { quorum: new Set<Socket>(), observers: new Set<Socket>() }
  private nextId = 1
  private isStopped = false

  constructor(options: PeerNetworkOptions, logger: Logger) {
    this.options = options
    this.logger = logger
    this.committed = options.membership
    this.own = this.addressOf(options.self)
  }

  /** Resolves once the others can reach our election port. */
  async start(): Promise<void> {
    const { electionPortBindRetry: attemptsMax } = this.options
    for (let attempt = 1; ; attempt++) {
      try {
        await this.openElectionPort()
        return
      } catch (error) {
        if (attempt === attemptsMax || this.isStopped) throw error
        const { electionPort } = this.own
        const { message } = error as Error
        this.logger.warn(`the election port ${electionPort}: ${message}; trying again`)
        await setTimeoutPromise(bindPauseMs)
      }
    }
  }

  private async openElectionPort(): Promise<void> {
    const { host, electionPort } = this.own
    this.electionServer = createServer((socket) => {
      const id = this.adopt(socket)
      this.input((links) => links.accepted(id))
      const leave = (): void => {
        if (!this.introduced.has(id)) socket.destroy()
      }
      setTimeout(leave, Math.min(this.options.handshakeTimeoutMs, timerMsMax)).unref()
    })
    await listen(this.electionServer, electionPort, this.bindHost(host))
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
    if (client !== undefined && !isSame) this.onClientMoved?.(client)
  }

  /** Connections that are open stay; new ones are taken where the others look for us now. */
  private moveElectionPort(): void {
    const { host, electionPort } = this.own
    const isWanted = (): boolean => this.own.electionPort === electionPort && this.own.host === host
    this.electionServer?.close()
    const bind = (): void => {
      if (this.isStopped || !isWanted()) return
      this.openElectionPort().then(
        () => {
          if (this.isStopped) this.electionServer?.close()
          else this.logger.info(`the election port is ${electionPort} from now on`)
        },
        (error: Error) => {
          this.logger.warn(`the election port ${electionPort}: ${error.message}; trying again`)
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
    for (const socket of this.connections.values()) socket.destroy()
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
        const socket = this.connections.get(connection)
        this.introduced.add(connection)
        socket?.write(bytes, () => this.input((links) => links.sent(connection)))
        return
      }
      case 'close': {
        const socket = this.connections.get(action.connection)
        this.connections.delete(action.connection)
        socket?.end()
        setTimeout(() => socket?.destroy(), 1000).unref()
      }
    }
  }

  private dialElection(server: ServerId, announced: readonly string[]): void {
    const known = this.find(server)
    const target =
      known === undefined
        ? parseHostPort(announced[0])
        : { host: known.host, port: known.electionPort }
    // Not from within the machine that asks for it.
    setImmediate(() => {
      if (target === undefined || this.isStopped) {
        this.input((links) => links.dialFailed(server))
        return
      }
      const socket = connect({ ...target, noDelay: true })
      const timer = setTimeout(() => socket.destroy(), this.options.connectTimeoutMs)
      let isConnected = false
      socket.once('connect', () => {
        clearTimeout(timer)
        isConnected = true
        const id = this.adopt(socket)
        this.introduced.add(id)
        this.input((links) => links.dialled(server, id))
      })
      socket.on('error', () => socket.destroy())
      socket.once('close', () => {
        clearTimeout(timer)
        if (!isConnected) this.input((links) => links.dialFailed(server))
      })
    })
  }

  private adopt(socket: Socket): number {
    const id = this.nextId++
    this.connections.set(id, socket)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('data', (bytes: Buffer) => {
      if (!this.connections.has(id)) return
      this.introduced.add(id)
      this.input((links) => links.received(id, bytes))
    })
    socket.on('close', () => {
      this.introduced.delete(id)
      if (this.connections.delete(id)) this.input((links) => links.closed(id))
    })
    return id
  }

  private input(tell: Parameters<EnsemblePeer['electionInput']>[0]): void {
    if (this.isStopped) return
    this.turn.run(() => this.peer.electionInput(tell))
  }

  // --- the quorum port -------------------------------------------------------------------------

  /**
   * The port is open only while this server leads, or takes observers; it may take a moment to be
   * free again.
   */
  listen(isOn: boolean, door: PeerPort = 'quorum'): void {
    this.doors.get(door)?.close()
    this.doors.delete(door)
    for (const socket of this.learners[door]) if (!isOn) socket.end()
    if (!isOn || this.isStopped) return
    const { host, port } = this.endpointFor(this.own, door)
    const accept = (socket: Socket): Receiver => this.acceptLearner(socket, door)
    const server = createReadingServer({ allowHalfOpen: false }, accept)
    this.doors.set(door, server)
    // The role may be over before the port is ours: then it must not be kept from the next time.
    const isWanted = (): boolean => this.doors.get(door) === server
    const bind = (): void => {
      if (!isWanted()) return
      listen(server, port, this.bindHost(host)).then(
        () => isWanted() || server.close(),
        (error: Error) => {
          if (!isWanted()) return
          this.logger.warn(`the ${door} port ${port}: ${error.message}; trying again`)
          setTimeout(bind, rebindPauseMs).unref()
        },
      )
    }
    bind()
  }

  private acceptLearner(socket: Socket, door: PeerPort): Receiver {
    const sockets = this.learners[door]
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    const wire = new PeerSocket(socket, this.turn)
    this.turn.run(() => wire.attach(this.peer.acceptLearner(wire, door)))
    return wire
  }

  dial(
    server: ServerId,
    attach: (wire: PeerWire) => PacketLink,
    door: PeerPort = 'quorum',
  ): Promise<PacketLink> {
    const { host, port } = this.endpointFor(this.addressOf(server), door)
    return new Promise((resolve, reject) => {
      let wire: PeerSocket | undefined
      const onread = onRead(() => wire)
      const socket = connect({ host, port, noDelay: true, onread })
      const timer = setTimeout(
        () => socket.destroy(new Error(`${host}:${port} does not answer`)),
        this.options.connectTimeoutMs,
      )
      socket.once('error', reject)
      socket.once('close', () => {
        clearTimeout(timer)
        reject(new Error(`${host}:${port} closed the connection`))
      })
      socket.once('connect', () => {
        clearTimeout(timer)
        wire = new PeerSocket(socket, this.turn)
        const link = attach(wire)
        wire.attach(link)
        resolve(link)
      })
    })
  }

  private find(server: ServerId): PeerAddress | undefined {
    const spec = this.committed.servers.get(server) ?? this.seen?.servers.get(server)
    return spec?.addresses[0]
  }

  private endpointFor(
    { host, quorumPort }: PeerAddress,
    door: PeerPort,
  ): { host: string; port: number } {
    return { host, port: door === 'quorum' ? quorumPort : (this.options.observerMasterPort ?? 0) }
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

/** Of what another server says of itself: anybody may have said it. */
export function parseHostPort(
  text: string | undefined,
): { host: string; port: number } | undefined {
  const [, host, digits] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(text ?? '') ?? []
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}
