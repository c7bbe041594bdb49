import { connect, type Socket } from 'node:net'

/** A frame without its length; or, after an impossible length, the first bytes as hex. */
export type Frame = { readonly bytes: Buffer } | { readonly bad: string }

/** A reply that takes longer counts as missing. */
export const patienceMs = 8000

const frameBytesMax = 64 << 20

export interface Address {
  readonly host: string
  readonly port: number
}

/** A connection that stores received frames until they are taken. */
export class Connection {
  readonly #socket: Socket
  #frames: Frame[] = []
  #pending: Buffer = Buffer.alloc(0)
  #wakeUps: (() => void)[] = []
  #closed = false
  /** Whether the connection was established. */
  readonly ready: Promise<boolean>

  constructor({ host, port }: Address) {
    const socket = connect({ host, port, noDelay: true })
    this.#socket = socket
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', () => {})
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.#close())
    this.ready = new Promise((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('close', () => resolve(false))
    })
  }

  /** Received and not taken yet. */
  get frames(): readonly Frame[] {
    return this.#frames
  }

  get closed(): boolean {
    return this.#closed
  }

  take(): Frame[] {
    const taken = this.#frames
    this.#frames = []
    return taken
  }

  takeFirst(): Frame | undefined {
    return this.#frames.shift()
  }

  forget(unwanted: (frame: Frame) => boolean): void {
    this.#frames = this.#frames.filter((frame) => !unwanted(frame))
  }

  send(bytes: Buffer): void {
    if (!this.#closed) this.#socket.write(bytes)
  }

  /** Drops the connection without closing the session. */
  drop(): void {
    this.#socket.destroy()
    this.#close()
  }

  /** Waits until the condition holds, the connection closes or the time is up; returns which. */
  async until(holds: () => boolean, timeoutMs = patienceMs): Promise<'ok' | 'closed' | 'timeout'> {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      if (holds()) return 'ok'
      if (this.#closed) return 'closed'
      const leftMs = deadline - Date.now()
      if (leftMs <= 0) return 'timeout'
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#wakeUps.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  /** Whether the server closes the connection within the time. */
  async untilClosed(timeoutMs: number): Promise<boolean> {
    return (await this.until(() => false, timeoutMs)) === 'closed'
  }

  #receive(chunk: Buffer): void {
    this.#pending = this.#pending.length > 0 ? Buffer.concat([this.#pending, chunk]) : chunk
    while (this.#pending.length >= 4) {
      const length = this.#pending.readInt32BE(0)
      if (length < 0 || length > frameBytesMax) {
        this.#frames.push({ bad: this.#pending.subarray(0, 64).toString('hex') })
        this.#socket.destroy()
        break
      }
      if (this.#pending.length < 4 + length) break
      this.#frames.push({ bytes: this.#pending.subarray(4, 4 + length) })
      this.#pending = this.#pending.subarray(4 + length)
    }
    this.#wake()
  }

  #close(): void {
    this.#closed = true
    this.#wake()
  }

  #wake(): void {
    const wakeUps = this.#wakeUps
    this.#wakeUps = []
    for (const wakeUp of wakeUps) wakeUp()
  }
}

/** The xid of a frame, if it has one. */
export function xidOf(frame: Frame): number | undefined {
  return 'bytes' in frame && frame.bytes.length >= 4 ? frame.bytes.readInt32BE(0) : undefined
}
