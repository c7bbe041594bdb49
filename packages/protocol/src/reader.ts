import type { CodecMemory } from './codec-memory.ts'
import { MalformedError, NullError } from './malformed.ts'
import { shortText } from './short-text.ts'
import { decodeBuffer } from './text.ts'

/** Makes copies that outlive the original bytes. */
export interface BufferKeeper {
  keep(source: DataView, start: number, end: number): Uint8Array
}

/** Reads primitives from a range of bytes, never beyond its end. */
export class Reader {
  position = 0
  end = 0
  /** Makes the buffers that are returned; without it they are views of the reader's bytes. */
  keeper: BufferKeeper | undefined
  /** Remembers the last values that were read; without it everything is decoded again. */
  memory: CodecMemory | undefined
  bytes: Uint8Array
  /** A view of the same bytes. */
  view: DataView
  /** Another view of the same bytes, made when the first text is decoded. */
  private text: Buffer | undefined

  constructor(bytes: Uint8Array = new Uint8Array(0), start = 0, end = bytes.length) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.text = undefined
    this.position = start
    this.end = end
  }

  /** Points the reader at other bytes; cheap when they are the same array as before. */
  reset(bytes: Uint8Array, start = 0, end = bytes.length): this {
    if (bytes !== this.bytes) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      this.text = undefined
    }
    this.position = start
    this.end = end
    return this
  }

  get remaining(): number {
    return this.end - this.position
  }

  private take(count: number): number {
    const at = this.position
    if (count > this.end - at) throw new MalformedError('the record ends too early')
    this.position = at + count
    return at
  }

  byte(): number {
    return this.bytes[this.take(1)]!
  }

  /** Any value but 0 is true. */
  bool(): boolean {
    return this.bytes[this.take(1)] !== 0
  }

  int(): number {
    return this.view.getInt32(this.take(4))
  }

  long(): bigint {
    return this.view.getBigInt64(this.take(8))
  }

  /** Length -1 is null, as opposed to empty. */
  buffer(): Uint8Array | null {
    const length = this.int()
    if (length === -1) return null
    if (length < 0) throw new MalformedError(`a length of ${length}`)
    const at = this.take(length)
    const { keeper } = this
    if (keeper !== undefined) return keeper.keep(this.view, at, at + length)
    return this.bytes.subarray(at, at + length)
  }

  /** Invalid UTF-8 becomes U+FFFD, as in Java. */
  nullableText(): string | null {
    const length = this.int()
    if (length === -1) return null
    if (length < 0) throw new MalformedError(`a length of ${length}`)
    const at = this.take(length)
    if (length === 0) return ''
    const encoded = this.text ?? this.encodedText()
    if (length > shortText || !this.isAscii(at, at + length)) {
      return decodeBuffer(encoded, at, at + length)
    }
    const text = encoded.toString('latin1', at, at + length)
    this.memory?.text.remember(text, this.view, at, length)
    return text
  }

  private encodedText(): Buffer {
    const { buffer, byteOffset, byteLength } = this.bytes
    return (this.text = Buffer.from(buffer, byteOffset, byteLength))
  }

  private isAscii(start: number, end: number): boolean {
    const { view, bytes } = this
    let all = 0
    let at = start
    for (const stop = end - 3; at < stop; at += 4) all |= view.getInt32(at)
    for (; at < end; at++) all |= bytes[at]!
    return (all & 0x80808080) === 0
  }

  /** Text that must not be null, such as a path. */
  ustring(): string {
    const text = this.nullableText()
    if (text === null) throw new NullError('null where text is required')
    return text
  }

  /** Reads the text if it equals this ASCII one; otherwise reads nothing. */
  skipText(expected: string): boolean {
    const { position, bytes } = this
    const { length } = expected
    if (this.remaining < 4 + length || this.view.getInt32(position) !== length) return false
    for (let i = 0; i < length; i++) {
      const code = expected.charCodeAt(i)
      if (code > 0x7f || code !== bytes[position + 4 + i]) return false
    }
    this.position = position + 4 + length
    return true
  }

  /**
   * The number of elements of a vector; -1 is null. Other negative counts read as empty, as in
   * Apache. `elementBytesMin` limits what a hostile count can make the caller allocate.
   */
  count(elementBytesMin = 1): number {
    const count = this.int()
    if (count === -1) return -1
    if (count < 0) return 0
    if (count * elementBytesMin > this.remaining) throw new MalformedError(`a vector of ${count}`)
    return count
  }
}
