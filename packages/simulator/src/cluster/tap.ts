/** Listens to what learners say to their leader, on both ends: what is said must be true. */
import type { PacketLink } from '@zabra/core'
import { PacketReader, packetTypes, type QuorumPacket } from '@zabra/protocol'
import type { StreamEnd } from '../world/network.ts'

/** What a process tells about itself to those who listen in. */
export interface Tapped {
  /** A learner is about to say something to a leader of this epoch. */
  said(packet: QuorumPacket, epoch: bigint): void
  /** It is about to ask others to elect it, with this history. */
  voted(zxid: bigint, epoch: bigint): void
  /** The sessions whose clients were heard of since this was asked last. */
  takeHeard(): readonly bigint[]
  /** A learner's sign of life has come, which must have named these sessions. */
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
  /** That of LEADERINFO, the first thing a leader says; the rest of it is not listened to. */
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
      // Nobody reads any more what comes on a connection that was given up.
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
