import { MalformedError } from './malformed.ts'

/** Takes frames as they become complete; returns false to get no more until `resume`. */
export interface FrameSink {
  frame(bytes: Uint8Array, start: number, end: number): boolean
  /** Called with the length of a frame that is still incomplete; may throw. */
  readonly announce?: ((bytes: number) => void) | undefined
}

/** The length of a frame is negative or exceeds the limit. */
export class FrameLengthError extends MalformedError {}

const lengthBytes = 4
const smallestStore = 512

/**
 * Cuts a byte stream into frames: a length, then that many bytes.
 *
 * Whole frames are passed on in place, within the received chunk. Only incomplete frames, and
 * frames that the sink does not want yet, are copied. Memory grows with received bytes, never with
 * an announced length.
 */
export class FrameCutter {
  private readonly bytesMax: number
  private kept: Uint8Array | undefined
  private keptStart = 0
  private keptEnd = 0
  private held = false

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Bytes that wait for their frame to become complete, or for `resume`. */
  get keptBytes(): number {
    return this.keptEnd - this.keptStart
  }

  /** The sink returned false and waits for `resume`; pushed bytes are only kept in the meantime. */
  get isHeld(): boolean {
    return this.held
  }

  /**
   * Takes received bytes, which the caller may reuse afterwards. Throws a MalformedError if a
   * length is negative or too large.
   */
  push(chunk: Uint8Array, end: number, sink: FrameSink): void {
    if (this.held || this.kept !== undefined) {
      if (end > 0) this.keep(chunk, 0, end)
      if (!this.held) this.resume(sink)
      return
    }
    const rest = this.cut(chunk, 0, end, sink)
    if (rest < end) this.keep(chunk, rest, end)
  }

  /** Stops delivery, as if the sink had returned false. */
  hold(): void {
    this.held = true
  }

  /** Continues delivery after the sink returned false. */
  resume(sink: FrameSink): void {
    this.held = false
    const { kept } = this
    if (kept === undefined) return
    this.keptStart = this.cut(kept, this.keptStart, this.keptEnd, sink)
    if (this.keptStart === this.keptEnd) {
      this.kept = undefined
      this.keptStart = this.keptEnd = 0
    }
  }

  private cut(bytes: Uint8Array, start: number, end: number, sink: FrameSink): number {
    let at = start
    while (end - at >= lengthBytes) {
      const length =
        (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
      if (length < 0 || length > this.bytesMax) {
        throw new FrameLengthError(`a frame of ${length} bytes, where ${this.bytesMax} are allowed`)
      }
      const frameEnd = at + lengthBytes + length
      if (frameEnd > end) {
        sink.announce?.(length)
        break
      }
      const frameStart = at + lengthBytes
      at = frameEnd
      if (!sink.frame(bytes, frameStart, frameEnd)) {
        this.held = true
        break
      }
    }
    return at
  }

  private keep(chunk: Uint8Array, start: number, end: number): void {
    const added = end - start
    const have = this.keptEnd - this.keptStart
    if (this.kept === undefined || this.keptEnd + added > this.kept.length) {
      let capacity = Math.max(smallestStore, this.kept?.length ?? 0)
      while (capacity < have + added) capacity *= 2
      const larger = new Uint8Array(capacity)
      if (this.kept !== undefined) larger.set(this.kept.subarray(this.keptStart, this.keptEnd))
      this.kept = larger
      this.keptStart = 0
      this.keptEnd = have
    }
    this.kept.set(chunk.subarray(start, end), this.keptEnd)
    this.keptEnd += added
  }
}
