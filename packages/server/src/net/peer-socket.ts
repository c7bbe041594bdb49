import type { Socket } from 'node:net'
import type { PacketLink, PeerWire } from '@zabra/core'
import type { Turn } from './turn.ts'

/** How long the last bytes may take to leave. */
const lingerMs = 1000
/** A packet or two. */
const fewBytes = 512
/** Number and maximum size of the buffers kept for reuse. */
const spareMax = 4
const spareBytesMax = 1024 * 1024
const noBytes = new Uint8Array(0)

/** One connection of the quorum port: packets in, one write per turn out. */
export class PeerSocket implements PeerWire {
  private readonly socket: Socket
  private readonly turn: Turn
  private link: PacketLink | undefined
  private isDirty = false
  private isClosing = false
  private handedOver = 0
  /**
   * Buffers that have not left completely, oldest first, with the byte count at which each was
   * handed over.
   */
  private readonly leaving: { readonly bytes: Uint8Array; readonly upTo: number }[] = []
  private readonly spare: Uint8Array[] = []
  readonly remoteAddress: string

  constructor(socket: Socket, turn: Turn) {
    this.socket = socket
    this.turn = turn
    this.remoteAddress = `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.link?.lost())
  }

  /** Must be called before anything is received. */
  attach(link: PacketLink): void {
    this.link = link
  }

  receive(bytes: Uint8Array, length: number): void {
    this.turn.setTime()
    this.link?.received(bytes.subarray(0, length), Math.floor(performance.now()))
    // A few packets are processed at once, many are collected.
    if (length < fewBytes) this.turn.finish()
    else this.turn.schedule()
  }

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  flushSoon(): void {
    if (this.isDirty) return
    this.isDirty = true
    this.turn.flushLater(this)
  }

  flush(): void {
    this.isDirty = false
    const out = this.link?.out
    if (out !== undefined && out.position > 0 && !this.socket.destroyed) {
      this.reclaim()
      this.handedOver += out.position
      this.socket.write(out.written())
      // The kernel has taken everything at once, so the buffer can be reused.
      if (this.socket.writableLength > 0) {
        this.leaving.push({ bytes: out.bytes, upTo: this.handedOver })
        out.adopt(this.spare.pop() ?? noBytes)
      } else if (out.position < fewBytes) {
        this.spare.pop()
      }
      out.reset()
    }
    if (!this.isClosing) return
    this.socket.end()
    setTimeout(() => this.socket.destroy(), lingerMs).unref()
  }

  /** Proposals fill a buffer each turn; buffers that have left are reused. */
  private reclaim(): void {
    const { leaving, spare } = this
    const left = this.handedOver - this.socket.writableLength
    while (leaving.length > 0 && leaving[0]!.upTo <= left) {
      const { bytes } = leaving.shift()!
      if (spare.length < spareMax && bytes.length <= spareBytesMax) spare.push(bytes)
    }
  }

  close(): void {
    this.isClosing = true
    this.flushSoon()
  }
}
