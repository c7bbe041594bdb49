import type { Socket } from 'node:net'
import type { PacketLink, PeerWire } from '@zabra/core'
import type { Turn } from '../turn.ts'

/** How long the last words may take to leave. */
const lingerMs = 1000
/** A packet or two. */
const fewBytes = 512
const nothing = new Uint8Array(0)

/** One connection of the quorum port: packets in, one write a turn out. */
export class PeerSocket implements PeerWire {
  private readonly socket: Socket
  private readonly turn: Turn
  private link: PacketLink | undefined
  private isDirty = false
  private isClosing = false
  readonly remoteAddress: string

  constructor(socket: Socket, turn: Turn) {
    this.socket = socket
    this.turn = turn
    this.remoteAddress = `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.link?.lost())
  }

  attach(link: PacketLink): void {
    this.link = link
    this.socket.on('data', (bytes: Buffer) => {
      this.turn.setTime()
      link.received(bytes, Math.floor(performance.now()))
      // Where there is little to do it is done at once, where there is much it is gathered.
      if (bytes.length < fewBytes) this.turn.finish()
      else this.turn.schedule()
    })
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
      this.socket.write(out.written())
      if (this.socket.writableLength > 0) out.adopt(nothing)
      out.reset()
    }
    if (!this.isClosing) return
    this.socket.end()
    setTimeout(() => this.socket.destroy(), lingerMs).unref()
  }

  close(): void {
    this.isClosing = true
    this.flushSoon()
  }
}
