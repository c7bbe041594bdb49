import { QuorumPacket, Reader } from '@zabra/protocol'
import type { PeerPort } from '../../../src/peer/ensemble-parts.ts'
import type { PacketLink, PeerWire } from '../../../src/peer/links/packet-link.ts'
import type { ServerId } from '../../../src/membership/quorum.ts'
import { TestNetwork } from '../test-network.ts'
import { describePacket } from './describe.ts'
import type { SteppedEnsemble } from './stepped-ensemble.ts'

/** Carries elections by itself; what leader and learners say waits, packet by packet. */
export class SteppedNetwork extends TestNetwork {
  private readonly ensemble: SteppedEnsemble
  private readonly id: ServerId
  private readonly listening = new Set<PeerPort>()
  private readonly wires: Wire[] = []

  constructor(ensemble: SteppedEnsemble, id: ServerId) {
    super(ensemble, id)
    this.ensemble = ensemble
    this.id = id
  }

  /** Whether there is a connection to a leader, or to a learner. */
  get isConnected(): boolean {
    return this.wires.some(({ isOpen }) => isOpen)
  }

  override listen(isOn: boolean, port: PeerPort = 'quorum'): void {
    if (isOn) this.listening.add(port)
    else this.listening.delete(port)
  }

  override async dial(
    server: ServerId,
    attach: (wire: PeerWire) => PacketLink,
    port: PeerPort = 'quorum',
  ): Promise<PacketLink> {
    await Promise.resolve()
    const { ensemble, id } = this
    const there = ensemble.networkOf(server)
    if (there?.listening.has(port) !== true || !ensemble.canTalk(id, server)) {
      throw new Error('the connection was refused')
    }
    const mine = this.wire()
    const theirs = there.wire()
    mine.other = theirs
    theirs.other = mine
    theirs.attach((wire) => there.peer.acceptLearner(wire, port))
    return mine.attach(attach)
  }

  override die(): void {
    super.die()
    for (const wire of this.wires) wire.close()
  }

  private wire(): Wire {
    const { ensemble, id } = this
    const wire = new Wire(ensemble, id)
    this.wires.push(wire)
    return wire
  }
}

/** One end of a connection between a leader and a learner. */
class Wire implements PeerWire {
  readonly unsentBytes = 0
  isOpen = true
  other!: Wire
  private readonly ensemble: SteppedEnsemble
  private readonly owner: ServerId
  private link!: PacketLink
  private isSendingSnapshot = false

  constructor(ensemble: SteppedEnsemble, owner: ServerId) {
    this.ensemble = ensemble
    this.owner = owner
  }

  attach(make: (wire: PeerWire) => PacketLink): PacketLink {
    const link = (this.link = make(this))
    const sendRaw = link.sendRaw.bind(link)
    link.sendRaw = (bytes) => {
      this.isSendingSnapshot = true
      sendRaw(bytes)
      this.isSendingSnapshot = false
    }
    return link
  }

  flushSoon(): void {
    const { link, other, isSendingSnapshot } = this
    const bytes = new Uint8Array(link.out.written())
    link.out.reset()
    const describe = (): string => (isSendingSnapshot ? '(the snapshot)' : this.describe(bytes))
    this.post(describe, () => other.link.received(bytes, this.ensemble.nowMs))
  }

  close(): void {
    const { other } = this
    this.post(
      () => '(the connection ends)',
      () => {
        other.isOpen = false
        other.link.lost()
      },
    )
    this.isOpen = false
  }

  private post(describe: () => string, arrive: () => void): void {
    if (!this.isOpen) return
    const { ensemble, owner, other } = this
    ensemble.waiting.push({
      from: owner,
      to: other.owner,
      describe,
      isWanted: () => other.isOpen,
      go: () => {
        ensemble.servers.get(other.owner)!.peer?.setTime(ensemble.nowMs, ensemble.nowMs)
        arrive()
      },
    })
  }

  private describe(bytes: Uint8Array): string {
    return describePacket(QuorumPacket.read(new Reader(bytes)), this.ensemble.sessionNames)
  }
}
