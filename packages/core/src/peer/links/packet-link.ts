import {
  packetOf,
  PacketReader,
  QuorumPacket,
  Writer,
  type Id,
  type PacketName,
} from '@zabra/protocol'
import { Deferred } from '../../base/deferred.ts'
import { isPeerFault, LinkLostError } from '../../consensus/zab/packets.ts'

/** The host's side of a connection between servers. */
export interface PeerWire {
  /** `link.out` has something to send before this turn ends. */
  flushSoon(): void
  /** Bytes that were flushed and have not been sent yet. */
  readonly unsentBytes: number
  /** Closes the connection once everything in `link.out` is sent. */
  close(): void
  /** `address:port` of the other side, if it has one. */
  readonly remoteAddress?: string
}

/**
 * The quorum-port connection of two servers: packets out, packets in.
 *
 * In the phases in which one packet answers another they are awaited with `next`; in the
 * broadcast phase `onPacket` takes them as they arrive.
 */
export class PacketLink {
  readonly out = new Writer(0)
  /** When something was last heard, by the clock of `received`. */
  lastHeardMs: number
  isClosed = false
  onClosed: (() => void) | undefined
  /** The malformed packet that ended the connection, if that is why it ended. */
  brokenBy: Error | undefined
  packetsSent = 0
  packetsReceived = 0
  private readonly wire: PeerWire
  private readonly reader: PacketReader
  private handler: ((packet: QuorumPacket) => void) | undefined
  private afterPackets: (() => void) | undefined
  private isPaused = false
  private waiting: Deferred<QuorumPacket> | undefined
  private waitingRaw: Deferred<Uint8Array> | undefined

  /** Longer packets than `bytesMax` are not read. */
  constructor(wire: PeerWire, nowMs: number, bytesMax?: number) {
    this.wire = wire
    this.reader = new PacketReader(bytesMax)
    this.lastHeardMs = nowMs
  }

  /** Somebody waits for the other side to say something. */
  get isWaiting(): boolean {
    return this.waiting !== undefined || this.waitingRaw !== undefined
  }

  // --- from the host ---------------------------------------------------------------------------

  received(bytes: Uint8Array, nowMs: number): void {
    if (this.isClosed) return
    this.lastHeardMs = nowMs
    this.reader.push(bytes)
    this.pump()
  }

  /** The connection is gone, from whichever side. */
  lost(): void {
    if (this.isClosed) return
    this.isClosed = true
    const error = new LinkLostError('the connection to the other server is lost')
    this.waiting?.reject(error)
    this.waitingRaw?.reject(error)
    this.onClosed?.()
  }

  // --- receiving -------------------------------------------------------------------------------

  async next(): Promise<QuorumPacket> {
    if (this.isClosed) throw new LinkLostError('the connection to the other server is lost')
    const packet = this.reader.next()
    if (packet !== undefined) return packet
    this.waiting = new Deferred()
    return this.waiting.promise
  }

  /** Bytes of a snapshot, whatever has come; `unread` gives back what lies behind it. */
  async nextRaw(): Promise<Uint8Array> {
    if (this.isClosed) throw new LinkLostError('the connection to the other server is lost')
    if (this.reader.keptBytes > 0) return this.reader.takeRaw()
    this.waitingRaw = new Deferred()
    return this.waitingRaw.promise
  }

  unread(bytes: Uint8Array): void {
    this.reader.unread(bytes)
  }

  /** From now on packets go here, those that came already first; `after` follows the last of many. */
  onPacket(handler: (packet: QuorumPacket) => void, after?: () => void): void {
    this.handler = handler
    this.afterPackets = after
    this.pump()
  }

  /** No packet is read before `resume`. */
  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    if (!this.isClosed) this.pump()
  }

  /** A malformed packet closes this connection, whenever it is read, and does nothing else. */
  private pump(): void {
    try {
      this.deliver()
    } catch (error) {
      if (!isPeerFault(error)) throw error
      this.brokenBy = error
      this.close()
    }
  }

  private deliver(): void {
    if (this.waitingRaw !== undefined) {
      const { waitingRaw } = this
      this.waitingRaw = undefined
      waitingRaw.resolve(this.reader.takeRaw())
      return
    }
    if (this.waiting !== undefined) {
      const packet = this.reader.next()
      if (packet === undefined) return
      const { waiting } = this
      this.waiting = undefined
      waiting.resolve(packet)
      return
    }
    while (this.handler !== undefined && !this.isPaused && !this.isClosed) {
      const packet = this.reader.next()
      if (packet === undefined) break
      this.packetsReceived++
      this.handler(packet)
    }
    this.afterPackets?.()
  }

  // --- sending ---------------------------------------------------------------------------------

  send(
    name: PacketName,
    zxid: bigint,
    data: Uint8Array | null = null,
    authinfo: Id[] | null = null,
  ): void {
    this.sendPacket(packetOf(name, zxid, data, authinfo))
  }

  sendPacket(packet: QuorumPacket): void {
    if (this.isClosed) return
    this.packetsSent++
    QuorumPacket.write(this.out, packet)
    this.wire.flushSoon()
  }

  get remoteAddress(): string {
    return this.wire.remoteAddress ?? ''
  }

  /** Bytes that the other side has not taken yet. */
  get unsentBytes(): number {
    return this.out.position + this.wire.unsentBytes
  }

  /** Bytes that are no packet: a snapshot. */
  sendRaw(bytes: Uint8Array): void {
    if (this.isClosed) return
    this.out.raw(bytes)
    this.wire.flushSoon()
  }

  close(): void {
    if (this.isClosed) return
    this.lost()
    this.wire.close()
  }
}
