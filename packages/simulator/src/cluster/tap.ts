/** Observes the packets between learners and leader at both ends: what they say must be true. */
import type { PacketLink } from '@zabra/core'
import { PacketReader, packetTypes, type QuorumPacket } from '@zabra/protocol'
import type { StreamEnd } from '../world/network.ts'

/** The facts about a process that a tap needs, and its observations. */
export interface Tapped {
  /** A learner is about to send a packet to a leader of this epoch. */
  said(packet: QuorumPacket, epoch: bigint): void
  /** It is about to ask for votes with this history. */
  voted(zxid: bigint, epoch: bigint): void
  /** The sessions that were active since the last call. */
  takeHeard(): readonly bigint[]
  /** A ping of a learner has arrived; it must have contained these sessions. */
  told(sessions: readonly bigint[]): void
}

export interface Tap {
  sent(bytes: Uint8Array): void
  received(bytes: Uint8Array, link: PacketLink): void
}

export class LearnerTap implements Tap {
  private readonly stream: StreamEnd
  private readonly tapped: Tapped
  private readonly incoming = new PacketReader()
  private readonly outgoing = new PacketReader()
  /** The epoch of LEADERINFO, the first packet of a leader; the others are ignored. */
  private epoch: bigint | undefined

  constructor(stream: StreamEnd, tapped: Tapped) {
    this.stream = stream
    this.tapped = tapped
  }

  received(bytes: Uint8Array): void {
    if (this.epoch !== undefined) return
    this.incoming.push(bytes)
    const packet = this.incoming.next()
    if (packet !== undefined) this.epoch = packet.zxid >> 32n
  }

  sent(bytes: Uint8Array): void {
    for (const packet of packetsIn(this.outgoing, bytes)) {
      this.tapped.said(packet, this.epoch ?? 0n)
      if (packet.type === packetTypes.ping) this.stream.far.aside.push(this.tapped.takeHeard())
    }
  }
}

export class LeaderTap implements Tap {
  private readonly stream: StreamEnd
  private readonly tapped: Tapped
  private readonly incoming = new PacketReader()

  constructor(stream: StreamEnd, tapped: Tapped) {
    this.stream = stream
    this.tapped = tapped
  }

  received(bytes: Uint8Array, link: PacketLink): void {
    for (const { type } of packetsIn(this.incoming, bytes)) {
      if (type !== packetTypes.ping) continue
      const sessions = this.stream.aside.shift() ?? []
      // Packets on an abandoned connection are no longer read.
      if (!link.isClosed) this.tapped.told(sessions)
    }
  }

  sent(): void {}
}

function packetsIn(reader: PacketReader, bytes: Uint8Array): QuorumPacket[] {
  reader.push(bytes)
  const packets: QuorumPacket[] = []
  for (let next = reader.next(); next !== undefined; next = reader.next()) packets.push(next)
  return packets
}
