import type { Socket } from 'node:net'
import type { Receiver } from '../base/read-buffer.ts'

/**
 * The first byte of a TLS handshake. Neither a frame length nor a four-letter word begins with it.
 */
const handshakeByte = 0x16

/** Detects by the first byte whether a connection to a shared port speaks TLS. */
export class FirstByte implements Receiver {
  private receiver: Receiver | undefined
  private readonly socket: Socket
  private readonly takePlain: (socket: Socket) => Receiver | undefined
  private readonly takeTls: (socket: Socket) => void
  private timer: NodeJS.Timeout | undefined
  private isTls = false

  constructor(
    socket: Socket,
    to: {
      /** Takes a plain connection, and returns the receiver of its bytes, from the first one on. */
      readonly plain: (socket: Socket) => Receiver | undefined
      /** Takes a TLS connection; bytes already read are back in the socket. */
      readonly tls: (socket: Socket) => void
      /** A connection that sends nothing for this long is treated as plain. */
      readonly timeoutMs: number
    },
  ) {
    this.socket = socket
    this.takePlain = to.plain
    this.takeTls = to.tls
    this.timer = setTimeout(() => this.decide(false), to.timeoutMs)
    this.timer.unref()
    socket.on('error', this.destroy)
    socket.once('end', this.destroy)
    socket.once('close', this.forget)
  }

  receive(bytes: Uint8Array, length: number): void {
    if (length === 0) return
    if (this.timer !== undefined) this.decide(bytes[0] === handshakeByte)
    if (!this.isTls) {
      this.receiver?.receive(bytes, length)
      return
    }
    this.socket.unshift(Buffer.from(bytes.subarray(0, length)))
    this.takeTls(this.socket)
  }

  private decide(isTls: boolean): void {
    if (this.timer === undefined) return
    this.forget()
    this.socket.off('error', this.destroy)
    this.socket.off('end', this.destroy)
    this.socket.off('close', this.forget)
    this.isTls = isTls
    if (!isTls) this.receiver = this.takePlain(this.socket)
  }

  private readonly forget = (): void => {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private readonly destroy = (): void => {
    this.socket.destroy()
  }
}
