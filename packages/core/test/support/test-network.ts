import { packetName } from '@zabra/protocol'
import type { LinkAction } from '../../src/consensus/election/links.ts'
import type { PeerPort, PeerNetwork } from '../../src/peer/ensemble-parts.ts'
import type { EnsemblePeer } from '../../src/peer/ensemble-peer.ts'
import type { PacketLink, PeerWire } from '../../src/peer/links/packet-link.ts'
import type { ServerId } from '../../src/membership/quorum.ts'
import type { TestEnsemble } from './ensemble.ts'

/** One end of a connection between two servers. */
class End {
  other!: End
  isOpen = true
  onBytes: (bytes: Uint8Array) => void = () => {}
  onClosed: () => void = () => {}
  private readonly world: TestEnsemble
  private readonly owner: ServerId

  constructor(world: TestEnsemble, owner: ServerId) {
    this.world = world
    this.owner = owner
  }

  send(bytes: Uint8Array): void {
    const copy = new Uint8Array(bytes)
    const { other, world } = this
    if (!this.isOpen) return
    const arrive = (): void => {
      if (other.isOpen) other.onBytes(copy)
    }
    world.carry(this.owner, other.owner, { arrive, lose: () => this.break() })
  }

  /** Both sides see it end. */
  private break(): void {
    for (const end of [this, this.other]) end.ended()
  }

  private ended(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.onClosed()
  }

  close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    const { other, world } = this
    const arrive = (): void => other.ended()
    world.carry(this.owner, other.owner, { arrive, lose: arrive })
  }
}

/** The connections of one server to the others. */
export class TestNetwork implements PeerNetwork {
  peer!: EnsemblePeer
  private readonly ports = new Set<PeerPort>()
  private readonly world: TestEnsemble
  private readonly self: ServerId
  private readonly elections = new Map<number, End>()
  private readonly ends = new Set<End>()
  private nextId = 1
  private isDead = false

  constructor(world: TestEnsemble, self: ServerId) {
    this.world = world
    this.self = self
  }

  die(): void {
    this.isDead = true
    for (const end of this.ends) end.close()
  }

  listen(isOn: boolean, port: PeerPort = 'quorum'): void {
    if (isOn) this.ports.add(port)
    else this.ports.delete(port)
  }

  /** Here a server is where its number says. */
  reconfigure(): void {}

  async dial(
    server: ServerId,
    attach: (wire: PeerWire) => PacketLink,
    port: PeerPort = 'quorum',
  ): Promise<PacketLink> {
    await Promise.resolve()
    const there = this.reach(server)
    if (there === undefined || !there.ports.has(port)) throw new Error('the connection was refused')
    const [mine, theirs] = this.connect(there)
    there.attachWire(theirs, this.self, (wire) => there.peer.acceptLearner(wire, port))
    return this.attachWire(mine, server, attach)
  }

  private attachWire(end: End, to: ServerId, attach: (wire: PeerWire) => PacketLink): PacketLink {
    let isDirty = false
    let isClosing = false
    const flush = (): void => {
      isDirty = false
      end.send(link.out.written())
      link.out.reset()
      if (isClosing) end.close()
    }
    const flushSoon = (): void => {
      if (isDirty) return
      isDirty = true
      this.world.post(flush)
    }
    const close = (): void => {
      isClosing = true
      flushSoon()
    }
    const link = attach({ flushSoon, close, unsentBytes: 0 })
    const sendPacket = link.sendPacket.bind(link)
    link.sendPacket = (packet) => {
      if (link.isClosed || this.isDead) return
      const { type, zxid, data } = packet
      this.world.onSaid?.({ from: this.self, to, name: packetName(type)!, zxid, data })
      sendPacket(packet)
    }
    end.onBytes = (bytes) => this.turn(() => link.received(bytes, this.world.nowMs))
    end.onClosed = () => this.turn(() => link.lost())
    return link
  }

  perform(action: Exclude<LinkAction, { type: 'message' }>): void {
    if (action.type === 'send') {
      const { connection, bytes } = action
      this.elections.get(connection)?.send(bytes)
      this.input((peer) => peer.electionInput((links) => links.sent(connection)))
    } else if (action.type === 'close') {
      const end = this.elections.get(action.connection)
      this.elections.delete(action.connection)
      this.world.post(() => end?.close())
    } else {
      this.dialElection(action.server)
    }
  }

  private dialElection(server: ServerId): void {
    this.input((peer) => {
      const there = this.reach(server)
      if (there === undefined) {
        peer.electionInput((links) => links.dialFailed(server))
        return
      }
      const [mine, theirs] = this.connect(there)
      const theirId = there.adopt(theirs)
      there.peer.electionInput((links) => links.accepted(theirId))
      const id = this.adopt(mine)
      peer.electionInput((links) => links.dialled(server, id))
    })
  }

  private adopt(end: End): number {
    const id = this.nextId++
    this.elections.set(id, end)
    end.onBytes = (bytes) =>
      this.turn((peer) => {
        if (this.elections.has(id)) peer.electionInput((links) => links.received(id, bytes))
      })
    end.onClosed = () =>
      this.turn((peer) => {
        if (this.elections.delete(id)) peer.electionInput((links) => links.closed(id))
      })
    return id
  }

  private reach(server: ServerId): TestNetwork | undefined {
    const there = this.world.servers.get(server)
    if (there?.isUp !== true || !this.world.canTalk(this.self, server)) return undefined
    return there.network
  }

  private connect(there: TestNetwork): [End, End] {
    const mine = new End(this.world, this.self)
    const theirs = new End(this.world, there.self)
    mine.other = theirs
    theirs.other = mine
    this.ends.add(mine)
    there.ends.add(theirs)
    return [mine, theirs]
  }

  private input(work: (peer: EnsemblePeer) => void): void {
    this.world.post(() => this.turn(work))
  }

  private turn(work: (peer: EnsemblePeer) => void): void {
    if (this.isDead) return
    this.peer.setTime(this.world.nowMs, this.world.nowMs)
    work(this.peer)
  }
}
