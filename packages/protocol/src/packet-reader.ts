import { MalformedError } from './malformed.ts'
import { Reader } from './reader.ts'
import { QuorumPacket } from './records/quorum.ts'

/** The limit in Apache: twice jute.maxbuffer. */
export const defaultPacketFieldBytesMax = 2_097_150

/**
 * Apache's followers forward any number of identities that a client has proven. A packet with many
 * of them is read, so that the leader can refuse the request instead of dropping the follower.
 */
const packetBytesMax = 64 * 1024 * 1024
/** The lengths of two empty texts. */
const identityBytesMin = 8
const noBytes = new Uint8Array(0)
const firstStoreBytes = 4096
const storeBytes = 64 * 1024

const fixedBytes = 16 // type, zxid and the length of the data

/**
 * Cuts the byte stream of the quorum port into packets, which have no outer length.
 *
 * `push` the received bytes, then ask for the `next` packet until it returns undefined. After a
 * SNAP packet the stream contains a snapshot: take its bytes with `takeRaw`. Once the snapshot has
 * ended, return the bytes after its end with `unread` and continue with `next`.
 */
export class PacketReader {
  private readonly fieldBytesMax: number
  private store: Uint8Array = noBytes
  private start = 0
  private end = 0
  /** The buffer contains returned packets, so it must not be overwritten. */
  private isShared = false
  /**
   * A packet cannot be complete before this many bytes have arrived; saves looking at every chunk.
   */
  private needed = fixedBytes
  /** The measured part of the current packet, and the number of identity fields that follow. */
  private measured = 0
  private fieldsLeft = 0
  private readonly reader = new Reader()

  constructor(fieldBytesMax: number = defaultPacketFieldBytesMax) {
    this.fieldBytesMax = fieldBytesMax
  }

  /** Bytes that have arrived and were not returned yet. */
  get keptBytes(): number {
    return this.end - this.start
  }

  /** Takes received bytes, which the caller may reuse afterwards. */
  push(chunk: Uint8Array): void {
    this.makeRoom(chunk.length)
    this.store.set(chunk, this.end)
    this.end += chunk.length
  }

  /**
   * The next complete packet. Its bytes never change, but holding them retains everything that
   * arrived at about the same time. Throws a MalformedError if a length is negative or too large.
   */
  next(): QuorumPacket | undefined {
    if (this.keptBytes < this.needed) return undefined
    const length = this.measure()
    if (length > this.keptBytes) {
      this.needed = length
      return undefined
    }
    const packet = QuorumPacket.read(this.reader.reset(this.store, this.start, this.end))
    if (packet.data !== null) this.isShared = true
    this.consume(length)
    return packet
  }

  /** Everything that has arrived, as a copy, without parsing it. */
  takeRaw(): Uint8Array {
    const raw = this.store.slice(this.start, this.end)
    this.consume(raw.length)
    return raw
  }

  /** Puts bytes back in front of those that have arrived since. */
  unread(bytes: Uint8Array): void {
    const later = this.takeRaw()
    this.push(bytes)
    this.push(later)
  }

  /**
   * The length of the current packet as far as it is known; the packet is at least that long. It
   * continues where it stopped before, because a packet may come in many pieces.
   */
  private measure(): number {
    if (this.measured === 0) {
      const length = fixedBytes + this.fieldLength(this.intAt(this.start + fixedBytes - 4))
      if (length + 4 > this.keptBytes) return length + 4
      const count = Math.max(0, this.intAt(this.start + length))
      if (count * identityBytesMin > packetBytesMax) {
        throw new MalformedError(`a packet with ${count} identities`)
      }
      this.fieldsLeft = count * 2
      this.measured = length + 4
    }
    for (; this.fieldsLeft > 0; this.fieldsLeft--) {
      if (this.measured + 4 > this.keptBytes) return this.measured + 4
      this.measured += 4 + this.fieldLength(this.intAt(this.start + this.measured))
      if (this.measured > packetBytesMax) {
        throw new MalformedError(`a packet of more than ${packetBytesMax} bytes`)
      }
    }
    return this.measured
  }

  private fieldLength(length: number): number {
    if (length === -1) return 0
    if (length < 0 || length > this.fieldBytesMax) {
      throw new MalformedError(
        `a field of ${length} bytes, where ${this.fieldBytesMax} are allowed`,
      )
    }
    return length
  }

  private intAt(position: number): number {
    const { store } = this
    return (
      (store[position]! << 24) |
      (store[position + 1]! << 16) |
      (store[position + 2]! << 8) |
      store[position + 3]!
    )
  }

  private consume(length: number): void {
    this.start += length
    this.needed = fixedBytes
    this.measured = 0
    if (this.start < this.end || this.isShared) return
    this.start = this.end = 0
    if (this.store.length > storeBytes) this.store = new Uint8Array(firstStoreBytes)
  }

  private makeRoom(added: number): void {
    if (this.end + added <= this.store.length) return
    const have = this.keptBytes
    if (!this.isShared && (have + added) * 2 <= this.store.length) {
      this.store.copyWithin(0, this.start, this.end)
    } else {
      let capacity = this.store === noBytes ? firstStoreBytes : storeBytes
      while (capacity < have + added) capacity *= 2
      // Only bytes that were written before are ever read.
      const fresh = new Uint8Array(Buffer.allocUnsafeSlow(capacity).buffer)
      fresh.set(this.store.subarray(this.start, this.end))
      this.store = fresh
      this.isShared = false
    }
    this.start = 0
    this.end = have
  }
}
