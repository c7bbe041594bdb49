import type { Socket } from 'node:net'

/** The conditions in one direction of every connection of a link; they can change at any time. */
export interface Lane {
  /** Bytes wait, as in a network that loses every packet. */
  isHeld: boolean
  delayMs: number
  /** The maximum additional delay, drawn for each piece; pieces never overtake each other. */
  jitterMs: number
  bytesPerSecond: number
  /** Bytes arrive in pieces no longer than this. */
  pieceBytesMax: number
  /** The next connection that has carried this many more bytes is reset. */
  reset:
    | {
        bytesLeft: number
        readonly happened: () => void
        /** It will not happen any more. */
        readonly givenUp: () => void
      }
    | undefined
  /** Sees the bytes, and may change them. */
  intercept: ((bytes: Uint8Array) => Uint8Array | undefined) | undefined
  /** The number of bytes that have arrived. */
  bytes: number
}

export function cleanLane(bytes = 0): Lane {
  return {
    isHeld: false,
    delayMs: 0,
    jitterMs: 0,
    bytesPerSecond: Infinity,
    pieceBytesMax: Infinity,
    reset: undefined,
    intercept: undefined,
    bytes,
  }
}

interface Piece {
  /** Undefined marks the end of the stream. */
  chunk: Uint8Array | undefined
  readonly takenAtMs: number
  readonly jitter: number
}

/** No more than this is read before the rest has left, so that the sender's own limits apply. */
const queueBytesMax = 1024 * 1024
/** How often a lane with limited bandwidth sends. */
const slicesPerSecond = 50
const piecePauseMs = 1

/** Carries bytes from one socket to another, in order, under the conditions of its lane. */
export class Pipe {
  private readonly source: Socket
  private readonly sink: Socket
  private readonly lane: Lane
  private readonly onReset: () => void
  private readonly queue: Piece[] = []
  private queuedBytes = 0
  private busyUntilMs = 0
  private isSinkFull = false
  private timer: NodeJS.Timeout | undefined

  constructor(source: Socket, sink: Socket, lane: Lane, onReset: () => void) {
    this.source = source
    this.sink = sink
    this.lane = lane
    this.onReset = onReset
    source.on('data', (chunk) => this.take(chunk as Buffer))
    source.on('end', () => this.take(undefined))
    source.on('close', () => clearTimeout(this.timer))
    sink.on('drain', () => {
      this.isSinkFull = false
      this.pump()
    })
    this.changed()
  }

  /** Called after the lane has changed. */
  changed(): void {
    this.pump()
    this.readOrNot()
  }

  private readOrNot(): void {
    if (this.lane.isHeld || this.queuedBytes > queueBytesMax) this.source.pause()
    else this.source.resume()
  }

  private take(bytes: Uint8Array | undefined): void {
    const chunk = bytes && (this.lane.intercept?.(bytes) ?? bytes)
    this.queue.push({ chunk, takenAtMs: performance.now(), jitter: Math.random() })
    this.queuedBytes += chunk?.length ?? 0
    this.pump()
    if (this.queuedBytes > queueBytesMax) this.readOrNot()
  }

  private pump(): void {
    clearTimeout(this.timer)
    const { queue, lane } = this
    while (!lane.isHeld && !this.isSinkFull) {
      const [head] = queue
      if (head === undefined) break
      const dueMs = head.takenAtMs + lane.delayMs + head.jitter * lane.jitterMs
      const waitMs = Math.max(dueMs, this.busyUntilMs) - performance.now()
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.pump(), Math.ceil(waitMs))
        break
      }
      if (head.chunk === undefined) {
        queue.shift()
        this.sink.end()
      } else this.send(head, head.chunk)
    }
  }

  /** Sends a part of a piece, or all of it. */
  private send(head: Piece, chunk: Uint8Array): void {
    const { lane, sink, queue } = this
    const { bytesPerSecond, pieceBytesMax, reset } = lane
    const slice = Math.max(1, Math.ceil(bytesPerSecond / slicesPerSecond))
    const length = Math.min(chunk.length, slice, pieceBytesMax, reset?.bytesLeft ?? Infinity)
    if (length === chunk.length) queue.shift()
    else head.chunk = chunk.subarray(length)
    const wasOver = this.queuedBytes > queueBytesMax
    this.queuedBytes -= length
    if (wasOver) this.readOrNot()
    lane.bytes += length
    if (!sink.destroyed && !sink.write(chunk.subarray(0, length))) this.isSinkFull = true
    const sendingMs = bytesPerSecond === Infinity ? 0 : (length / bytesPerSecond) * 1000
    const pauseMs = pieceBytesMax === Infinity ? sendingMs : Math.max(sendingMs, piecePauseMs)
    this.busyUntilMs = performance.now() + pauseMs
    if (reset === undefined) return
    reset.bytesLeft -= length
    if (reset.bytesLeft > 0) return
    lane.reset = undefined
    queue.length = 0
    // Bytes written before the reset must be in transit first.
    sink.write(new Uint8Array(0), () => {
      this.onReset()
      reset.happened()
    })
  }
}
