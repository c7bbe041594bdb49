import type {
  PeerPort,
  EnsemblePeer,
  LinkAction,
  PacketLink,
  PeerNetwork,
  PeerWire,
  ServerId,
} from '@zabra/core'
import { readNotification } from '@zabra/protocol'
import type { Network, StreamEnd } from '../world/network.ts'
import { LeaderTap, LearnerTap, type Tap, type Tapped } from './tap.ts'

/** The parts of a process that its connections to other servers use. */
export interface PeerHost {
  readonly name: string
  /** Runs work as a turn of the process, unless it is paused or has ended. */
  turn(work: () => void): void
  /** By the process's own clock. */
  nowMs(): number
  flushLater(wire: { flush(): void }): void
  readonly tapped: Tapped
}

const connectTimeoutMs = 5000
/** How long the last bytes may take to leave. */
const lingerMs = 1000

export function serverName(server: ServerId): string {
  return `server-${server}`
}

function portOf(server: string, port: PeerPort): string {
  return `${server}:${port}`
}

function electionPort(server: string): string {
  return `${server}:election`
}

/** The connections between servers, as streams of the virtual network. */
export class SimPeerNetwork implements PeerNetwork {
  /** Set right after construction, because the two refer to each other. */
  peer!: EnsemblePeer
  private readonly network: Network
  private readonly host: PeerHost
  private readonly elections = new Map<number, StreamEnd>()
  private readonly dialling = new Set<StreamEnd>()
  /** Connections that the kernel has accepted and a paused process has not processed yet. */
  private readonly accepted = new Set<StreamEnd>()
  private readonly wires = new Set<Wire>()
  private nextId = 1

  constructor(network: Network, host: PeerHost) {
    this.network = network
    this.host = host
  }

  /** Opens the election port. */
  start(): void {
    this.network.listen(electionPort(this.host.name), {
      accept: (end) =>
        this.take(end, () => {
          const id = this.adopt(end)
          this.peer.electionInput((links) => links.accepted(id))
        }),
    })
  }

  /** The process has ended: the kernel closes all connections, or, without power, says nothing. */
  die(how: 'close' | 'vanish'): void {
    this.network.unlisten(electionPort(this.host.name))
    for (const port of ['quorum', 'observers'] as const) {
      this.network.unlisten(portOf(this.host.name, port))
    }
    for (const stream of this.streams()) stream[how]()
  }

  /** Every open stream to another server. */
  streams(): StreamEnd[] {
    const ofWires = [...this.wires].map(({ stream }) => stream)
    return [...this.elections.values(), ...ofWires, ...this.dialling, ...this.accepted]
  }

  private take(end: StreamEnd, work: () => void): void {
    this.accepted.add(end)
    this.host.turn(() => {
      this.accepted.delete(end)
      work()
    })
  }

  /** Calls `done` when the other side has accepted the connection, or `failed`. */
  private connect(to: string, done: (end: StreamEnd) => void, failed: () => void): void {
    const end = this.network.connect(this.host.name, to)
    // Incoming bytes wait in the kernel for a process that may be paused.
    end.pause()
    this.dialling.add(end)
    const settle = (then: () => void): void => {
      timer.cancel()
      this.host.turn(() => {
        if (this.dialling.delete(end)) then()
      })
    }
    const timer = this.network.world.after(connectTimeoutMs, () => {
      end.close()
      settle(failed)
    })
    end.onClosed = () => settle(failed)
    end.onAccepted = () => settle(() => done(end))
  }

  // --- the election port -------------------------------------------------------------------------

  perform(action: Exclude<LinkAction, { type: 'message' }>): void {
    if (action.type === 'dial') {
      const { server } = action
      this.connect(
        electionPort(serverName(server)),
        (end) => {
          const id = this.adopt(end)
          this.peer.electionInput((links) => links.dialled(server, id))
        },
        () => this.peer.electionInput((links) => links.dialFailed(server)),
      )
    } else if (action.type === 'send') {
      const { connection, bytes } = action
      this.listenToVote(bytes)
      this.elections.get(connection)?.send(bytes)
      this.network.world.after(0, () =>
        this.host.turn(() => this.peer.electionInput((links) => links.sent(connection))),
      )
    } else {
      this.elections.get(action.connection)?.end()
      this.elections.delete(action.connection)
    }
  }

  /** Records the votes that this server sends while it looks for a leader. */
  private listenToVote(bytes: Uint8Array): void {
    // The state follows the length: 0 is looking. Most notifications are answers of other servers.
    if (bytes.length < 8 || new DataView(bytes.buffer, bytes.byteOffset).getInt32(4) !== 0) return
    const vote = readNotification(bytes.subarray(4))
    if (vote?.state !== 'looking' || serverName(vote.leader) !== this.host.name) return
    this.host.tapped.voted(vote.zxid, vote.peerEpoch)
  }

  private adopt(end: StreamEnd): number {
    const id = this.nextId++
    this.elections.set(id, end)
    end.onBytes = (bytes) =>
      this.host.turn(() => {
        if (this.elections.has(id)) this.peer.electionInput((links) => links.received(id, bytes))
      })
    end.onClosed = () =>
      this.host.turn(() => {
        if (this.elections.delete(id)) this.peer.electionInput((links) => links.closed(id))
      })
    end.resume()
    return id
  }

  // --- the quorum port ---------------------------------------------------------------------------

  listen(isOn: boolean, port: PeerPort = 'quorum'): void {
    const address = portOf(this.host.name, port)
    if (!isOn) {
      this.network.unlisten(address)
      for (const wire of this.wires) if (wire.isAccepted) wire.close()
      return
    }
    this.network.listen(address, {
      accept: (end) =>
        this.take(end, () => {
          const wire = this.wire(end, true)
          wire.attach(this.peer.acceptLearner(wire, port))
        }),
    })
  }

  /** In the simulation a server is found by its number. */
  reconfigure(): void {}

  dial(
    server: ServerId,
    attach: (wire: PeerWire) => PacketLink,
    port: PeerPort = 'quorum',
  ): Promise<PacketLink> {
    return new Promise((resolve, reject) => {
      this.connect(
        portOf(serverName(server), port),
        (end) => {
          const wire = this.wire(end, false)
          const link = attach(wire)
          wire.attach(link)
          resolve(link)
        },
        () => reject(new Error(`${serverName(server)} cannot be reached`)),
      )
    })
  }

  private wire(end: StreamEnd, isAccepted: boolean): Wire {
    const { world } = this.network
    const wire: Wire = new Wire(end, this.host, isAccepted, {
      // The other side answers an end with its own; a real socket does not wait for it forever.
      ended: () => world.after(lingerMs, () => wire.lost()),
      gone: () => this.wires.delete(wire),
    })
    this.wires.add(wire)
    return wire
  }
}

/** One connection of the quorum port: packets in, one write per turn out. */
class Wire implements PeerWire {
  /** The simulated kernel accepts everything at once. */
  readonly unsentBytes = 0
  readonly stream: StreamEnd
  readonly isAccepted: boolean
  private readonly host: PeerHost
  private readonly tell: { ended(): void; gone(): void }
  private link: PacketLink | undefined
  private isDirty = false
  private isClosing = false
  private isLost = false
  private readonly tap: Tap

  constructor(
    stream: StreamEnd,
    host: PeerHost,
    isAccepted: boolean,
    tell: { ended(): void; gone(): void },
  ) {
    this.stream = stream
    this.host = host
    this.isAccepted = isAccepted
    this.tell = tell
    const { tapped } = host
    this.tap = isAccepted ? new LeaderTap(stream, tapped) : new LearnerTap(stream, tapped)
  }

  attach(link: PacketLink): void {
    this.link = link
    this.stream.onBytes = (bytes) =>
      this.host.turn(() => {
        this.tap.received(bytes, link)
        link.received(bytes, Math.floor(this.host.nowMs()))
      })
    this.stream.onClosed = () => this.lost()
    this.stream.resume()
  }

  lost(): void {
    this.host.turn(() => {
      if (this.isLost) return
      this.isLost = true
      this.stream.close()
      this.tell.gone()
      this.link?.lost()
    })
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
      this.tap.sent(out.written())
      this.stream.send(out.written())
      out.reset()
    }
    if (!this.isClosing || this.stream.state !== 'open') return
    this.stream.end()
    this.tell.ended()
  }
}
