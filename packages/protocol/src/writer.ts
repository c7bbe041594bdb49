import type { CodecMemory } from './codec-memory.ts'
import { copyWords, wordCopyMax } from './copy-words.ts'
import { shortText } from './short-text.ts'

const capacityMin = 512
const noBytes = Buffer.alloc(0)
const noView = new DataView(noBytes.buffer, noBytes.byteOffset, 0)

/** Writes primitives into a buffer that grows; `written` returns the bytes. */
export class Writer {
  position = 0
  bytes: Uint8Array = noBytes
  /** A view of the same bytes. */
  view: DataView = noView
  readonly memory: CodecMemory | undefined
  private buffered: Buffer = noBytes

  /** Writers that share a memory reuse what one of them has encoded, and released buffers. */
  constructor(capacity = 256, memory?: CodecMemory) {
    this.memory = memory
    if (capacity > 0) this.adopt(Buffer.allocUnsafeSlow(capacity))
  }

  /** Makes room for `count` more bytes. */
  ensure(count: number): void {
    const needed = this.position + count
    if (needed > this.bytes.length) this.grow(needed)
  }

  private grow(needed: number): void {
    if (this.bytes.length === 0 && this.takeSpare(needed)) return
    let capacity = Math.max(capacityMin, this.bytes.length * 2)
    while (capacity < needed) capacity *= 2
    const larger = Buffer.allocUnsafeSlow(capacity)
    larger.set(this.bytes.subarray(0, this.position))
    this.adopt(larger)
  }

  private takeSpare(needed: number): boolean {
    const spare = this.memory?.buffers
    if (spare?.fits(needed) !== true) return false
    this.view = spare.takeView()
    this.bytes = this.buffered = spare.takeBuffer()
    return true
  }

  /**
   * Discards what was written and releases the buffer to the next writer of the same memory that
   * needs one, so the caller must not use it any more. This lets many writers that write
   * occasionally share a few buffers.
   */
  release(): void {
    const { buffered, view } = this
    this.position = 0
    this.bytes = this.buffered = noBytes
    this.view = noView
    if (buffered.length > 0) this.memory?.buffers.give(buffered, view)
  }

  /** Continues in another buffer; the bytes written so far stay in the old one. */
  adopt(bytes: Uint8Array): void {
    this.bytes = bytes
    this.buffered = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  reset(): void {
    this.position = 0
  }

  /** A view of everything written so far. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.position)
  }

  byte(value: number): void {
    this.ensure(1)
    this.bytes[this.position++] = value
  }

  bool(value: boolean): void {
    this.ensure(1)
    this.bytes[this.position++] = value ? 1 : 0
  }

  int(value: number): void {
    this.ensure(4)
    this.view.setInt32(this.position, value)
    this.position += 4
  }

  /** Overwrites an int written earlier, such as a length that is known only at the end. */
  intAt(position: number, value: number): void {
    this.view.setInt32(position, value)
  }

  long(value: bigint): void {
    this.ensure(8)
    this.view.setBigInt64(this.position, value)
    this.position += 8
  }

  /** A long as two halves, for places where a bigint would be an allocation. */
  longHalves(high: number, low: number): void {
    this.ensure(8)
    this.view.setInt32(this.position, high)
    this.view.setInt32(this.position + 4, low)
    this.position += 8
  }

  buffer(value: Uint8Array | null): void {
    if (value === null) {
      this.int(-1)
      return
    }
    this.int(value.length)
    this.raw(value)
  }

  /** Bytes without a length. */
  raw(value: Uint8Array): void {
    const length = value.length
    this.ensure(length)
    if (length < 48) {
      const { bytes, position } = this
      for (let i = 0; i < length; i++) bytes[position + i] = value[i]!
    } else {
      this.bytes.set(value, this.position)
    }
    this.position += length
  }

  /** A range of other bytes, without a length. */
  rawRange(source: Uint8Array, start: number, end: number): void {
    this.raw(source.subarray(start, end))
  }

  /** The same from a view. It is faster for short ranges, because it allocates nothing. */
  rawView(source: DataView, start: number, end: number): void {
    const length = end - start
    this.ensure(length)
    if (length <= wordCopyMax) copyWords(source, start, this.view, this.position, length)
    else
      this.bytes.set(
        new Uint8Array(source.buffer, source.byteOffset + start, length),
        this.position,
      )
    this.position += length
  }

  nullableText(value: string | null): void {
    if (value === null) this.int(-1)
    else this.ustring(value)
  }

  ustring(value: string): void {
    this.int(0)
    const at = this.position
    this.text(value)
    this.view.setInt32(at - 4, this.position - at)
  }

  /** Text without a length. */
  text(value: string): void {
    const { length } = value
    if (length <= shortText) {
      const known = this.memory?.text
      if (known !== undefined && known.text === value) {
        this.rawView(known.view, 0, known.length)
        return
      }
      // Most text is short and ASCII; writing it here is faster than a call out of JavaScript.
      this.ensure(length)
      const { bytes, position } = this
      let i = 0
      for (; i < length; i++) {
        const code = value.charCodeAt(i)
        if (code > 0x7f) break
        bytes[position + i] = code
      }
      if (i === length) {
        this.position = position + length
        return
      }
    }
    this.ensure(3 * length)
    this.position += this.buffered.write(value, this.position, 'utf8')
  }
}
