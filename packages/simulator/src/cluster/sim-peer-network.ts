import type {
  EnsemblePeer,
  LinkAction,
  PacketLink,
  PeerNetwork,
  PeerWire,
  ServerId,
} from '@zabra/core'
import type { Network, StreamEnd } from '../world/network.ts'

/** What a process lends to its connections with other servers. */
export interface PeerHost {
  readonly name: string
  /** Runs work as a turn of the process, unless that is paused or gone. */
  turn(work: () => void): void
  /** By the process's own clock. */
  nowMs(): number
  flushLater(wire: { flush(): void }): void
}

const quorumPort = (server: string): string => `${server}:quorum`
const electionPort = (server: string): string => `${server}:election`

/** The connections among servers, as streams of the virtual network. */
export class SimPeerNetwork implements PeerNetwork {
  /** Set right after construction: the two need each other. */
  peer!: EnsemblePeer
  private readonly network: Network
  private readonly host: PeerHost
  private readonly nameOf: (server: ServerId) => string
  private readonly streams = new Map<number, StreamEnd>()
  private readonly wires = new Set<Wire>()
  private nextId = 1

  constructor(network: Network, host: PeerHost, nameOf: (server: ServerId) => string) {
    this.network = network
    this.host = host
    this.nameOf = nameOf
  }

  /** Others can reach our election port from now on. */
  start(): void {
    this.network.acceptors.set(electionPort(this.host.name), {
      accept: (end) =>
        this.host.turn(() => {
          const id = this.adopt(end)
          this.peer.electionInput((links) => links.accepted(id))
        }),
    })
  }

  /** The process is gone; its kernel closes everything, or, without power, nothing is said. */
  die(how: 'close' | 'vanish'): void {
    this.network.acceptors.delete(electionPort(this.host.name))
    this.network.acceptors.delete(quorumPort(this.host.name))
    for (const end of [...this.streams.values(), ...[...this.wires].map(({ stream }) => stream)]) {
      if (how === 'close') end.close()
      else end.vanish()
    }
  }

  // --- the election port -----------------------------------------------------------------------

  perform(action: Exclude<LinkAction, { type: 'message' }>): void {
    if (action.type === 'dial') {
      this.dialElection(action.server)
    } else if (action.type === 'send') {
      const { connection, bytes } = action
      this.streams.get(connection)?.send(bytes)
      this.network.world.after(0, () =>
        this.host.turn(() => this.peer.electionInput((links) => links.sent(connection))),
      )
    } else {
      this.streams.get(action.connection)?.end()
      this.streams.delete(action.connection)
    }
  }

  private dialElection(server: ServerId): void {
    const end = this.network.connect(this.host.name, electionPort(this.nameOf(server)))
    let isOpen = false
    const timer = this.network.world.after(5000, () => {
      if (!isOpen) end.close()
      if (!isOpen) failed()
    })
    const failed = (): void => {
      timer.cancel()
      this.host.turn(() => this.peer.electionInput((links) => links.dialFailed(server)))
    }
    end.onClosed = failed
    end.onAccepted = () => {
      isOpen = true
      timer.cancel()
      this.host.turn(() => {
        const id = this.adopt(end)
        this.peer.electionInput((links) => links.dialled(server, id))
      })
    }
  }

  private adopt(end: StreamEnd): number {
    const id = this.nextId++
    this.streams.set(id, end)
    end.onBytes = (bytes) =>
      this.host.turn(() => {
        if (this.streams.has(id)) this.peer.electionInput((links) => links.received(id, bytes))
      })
    end.onClosed = () =>
      this.host.turn(() => {
        if (this.streams.delete(id)) this.peer.electionInput((links) => links.closed(id))
      })
    end.resume()
    return id
  }

  // --- the quorum port -------------------------------------------------------------------------

  listen(isOn: boolean): void {
    const address = quorumPort(this.host.name)
    if (!isOn) {
      this.network.acceptors.delete(address)
      return
    }
    this.network.acceptors.set(address, {
      accept: (end) =>
        this.host.turn(() => {
          const wire = new Wire(end, this.host, this.wires)
          wire.attach(this.peer.acceptLearner(wire))
        }),
    })
  }

  dial(server: ServerId, attach: (wire: PeerWire) => PacketLink): Promise<PacketLink> {
    return new Promise((resolve, reject) => {
      const end = this.network.connect(this.host.name, quorumPort(this.nameOf(server)))
      end.onClosed = () => this.host.turn(() => reject(new Error('the connection was refused')))
      end.onAccepted = () =>
        this.host.turn(() => {
          const wire = new Wire(end, this.host, this.wires)
          const link = attach(wire)
          wire.attach(link)
          resolve(link)
        })
    })
  }
}

/** One quorum-port connection. */
class Wire implements PeerWire {
  readonly unsentBytes = 0
  readonly stream: StreamEnd
  private readonly host: PeerHost
  private readonly all: Set<Wire>
  private link: PacketLink | undefined
  private isDirty = false
  private isClosing = false

  constructor(stream: StreamEnd, host: PeerHost, all: Set<Wire>) {
    this.stream = stream
    this.host = host
    this.all = all
    all.add(this)
  }

  attach(link: PacketLink): void {
    this.link = link
    this.stream.onBytes = (bytes) =>
      this.host.turn(() => link.received(bytes, Math.floor(this.host.nowMs())))
    this.stream.onClosed = () =>
      this.host.turn(() => {
        this.all.delete(this)
        link.lost()
      })
    this.stream.resume()
  }

  flushSoon(): void {
    if (this.isDirty) return
    this.isDirty = true
    this.host.flushLater(this)
  }

  close(): void {
    this.isClosing = true
    this.flushSoon()
  }

  flush(): void {
    this.isDirty = false
    const out = this.link?.out
    if (out !== undefined && out.position > 0) {
      this.stream.send(out.written())
      out.reset()
    }
    if (this.isClosing) this.stream.end()
  }
}
