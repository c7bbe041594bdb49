/**
 * The encoding of ZooKeeper's records ("jute"): big-endian integers, length-prefixed text and
 * buffers, counted vectors, fields one after another without tags.
 *
 * A record is declared once with `record({ field: codec })`; its TypeScript type and its
 * reader and writer follow from the declaration.
 */

import { copyWords, wordCopyMax } from './copy-words.ts'
import { knownBytesOf, rememberText } from './text-bytes.ts'

/** The bytes do not match the declaration: the sender is at fault. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError'
}

/** The bytes are well-formed, but contain null where a value is required. */
export class NullError extends MalformedError {}

const textDecoding = 'utf8'
const shortText = 64
const capacityMin = 512

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
    rememberText(text, this.view, at, length)
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

const noBytes = Buffer.alloc(0)
const noView = new DataView(noBytes.buffer, noBytes.byteOffset, 0)

/** Released buffers and their views. The last one is probably still in a CPU cache. */
const spareBuffers: Buffer[] = []
const spareViews: DataView[] = []
let spareBytes = 0
const spareBytesMax = 4 * 1024 * 1024

/** Writes primitives into a buffer that grows; `written` returns the bytes. */
export class Writer {
  position = 0
  bytes: Uint8Array = noBytes
  /** A view of the same bytes. */
  view: DataView = noView
  private buffered: Buffer = noBytes

  constructor(capacity = 256) {
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
    const last = spareBuffers.length - 1
    if (last < 0 || spareBuffers[last]!.length < needed) return false
    this.bytes = this.buffered = spareBuffers.pop()!
    this.view = spareViews.pop()!
    spareBytes -= this.bytes.length
    return true
  }

  /**
   * Discards what was written and releases the buffer to the next writer that needs one, so the
   * caller must not use it any more. This lets many writers that write occasionally share a few
   * buffers.
   */
  release(): void {
    const { buffered, view } = this
    this.position = 0
    this.bytes = this.buffered = noBytes
    this.view = noView
    if (buffered.length === 0 || spareBytes + buffered.length > spareBytesMax) return
    spareBuffers.push(buffered)
    spareViews.push(view)
    spareBytes += buffered.length
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
      const known = knownBytesOf(value)
      if (known !== undefined) {
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
    this.position += this.buffered.write(value, this.position, textDecoding)
  }
}

/** Reads and writes one kind of value. */
export interface Codec<T> {
  /** For a primitive, the method of Reader and Writer that handles it. */
  readonly primitive?: Primitive
  /** The minimum encoded size of a value. */
  readonly bytesMin: number
  readonly read: (reader: Reader) => T
  readonly write: (writer: Writer, value: T) => void
}

type Primitive = 'byte' | 'bool' | 'int' | 'long' | 'buffer' | 'nullableText' | 'ustring'

/** The TypeScript type of the values of a codec. */
export type TypeOf<C> = C extends Codec<infer T> ? T : never

function primitive<T>(name: Primitive, bytesMin: number): Codec<T> {
  return {
    primitive: name,
    bytesMin,
    read: (reader) => reader[name]() as T,
    write: (writer, value) => (writer[name] as (value: T) => void).call(writer, value),
  }
}

export const byte = primitive<number>('byte', 1)
export const bool = primitive<boolean>('bool', 1)
export const int = primitive<number>('int', 4)
export const long = primitive<bigint>('long', 8)
export const buffer = primitive<Uint8Array | null>('buffer', 4)
export const nullableText = primitive<string | null>('nullableText', 4)
export const ustring = primitive<string>('ustring', 4)

/** A counted list that may be null. */
export function nullableVector<T>(element: Codec<T>): Codec<T[] | null> {
  return {
    bytesMin: 4,
    read(reader) {
      const count = reader.count(element.bytesMin)
      if (count === -1) return null
      const values: T[] = []
      for (let i = 0; i < count; i++) values.push(element.read(reader))
      return values
    },
    write(writer, values) {
      if (values === null) {
        writer.int(-1)
        return
      }
      writer.int(values.length)
      for (const value of values) element.write(writer, value)
    },
  }
}

/** A counted list that must not be null. */
export function vector<T>(element: Codec<T>): Codec<T[]> {
  const nullable = nullableVector(element)
  return {
    bytesMin: 4,
    read(reader) {
      const values = nullable.read(reader)
      if (values === null) throw new MalformedError('null where a list is required')
      return values
    },
    write: nullable.write,
  }
}

const rememberedBytesMax = 64

/**
 * For short values that usually repeat: bytes equal to the previous ones are not decoded again. The
 * value is shared, so nobody may change it.
 */
export function remembered<T extends object>(codec: Codec<T | null>): Codec<T | null> {
  let value: T | null = null
  const bytes = new DataView(new ArrayBuffer(rememberedBytesMax))
  let length = 0
  const isNext = (reader: Reader): boolean => {
    const { view, position, end } = reader
    if (value === null || length > end - position) return false
    let i = 0
    for (const stop = length - 3; i < stop; i += 4) {
      if (view.getInt32(position + i) !== bytes.getInt32(i)) return false
    }
    for (; i < length; i++) if (view.getInt8(position + i) !== bytes.getInt8(i)) return false
    return true
  }
  return {
    bytesMin: codec.bytesMin,
    read(reader) {
      if (isNext(reader)) {
        reader.position += length
        return value
      }
      const start = reader.position
      const read = codec.read(reader)
      const readBytes = reader.position - start
      if (readBytes >= codec.bytesMin && readBytes <= rememberedBytesMax) {
        value = read
        length = readBytes
        copyWords(reader.view, start, bytes, 0, length)
      }
      return read
    },
    write(writer, written) {
      if (written !== null && written === value) writer.rawView(bytes, 0, length)
      else codec.write(writer, written)
    },
  }
}

type AnyFields = Readonly<Record<string, Codec<unknown>>>
export type RecordOf<F> = { -readonly [Name in keyof F]: TypeOf<F[Name]> }

/**
 * Declares a record: its fields in the order of the wire.
 *
 * The declaration is compiled once, at load, into the straight-line code that one would write by
 * hand; a loop over the fields costs about three times as much. If code generation from strings is
 * disabled, the loop is used.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the only way to say "a codec of anything"
export function record<const F extends Readonly<Record<string, Codec<any>>>>(
  fields: F,
): Codec<RecordOf<F>> {
  const codecs = fields as unknown as AnyFields
  try {
    return compile(codecs) as unknown as Codec<RecordOf<F>>
  } catch (error) {
    if (error instanceof EvalError) return interpret(codecs) as unknown as Codec<RecordOf<F>>
    throw error
  }
}

function bytesMinOf(fields: AnyFields): number {
  return Object.values(fields).reduce((sum, codec) => sum + codec.bytesMin, 0)
}

function compile(fields: AnyFields): Codec<Record<string, unknown>> {
  const names = Object.keys(fields)
  const reads = names.map((name) => {
    const method = fields[name]!.primitive
    return `${name}: ${method === undefined ? `${name}.read(s)` : `s.${method}()`}`
  })
  const writes = names.map((name) => {
    const method = fields[name]!.primitive
    return method === undefined ? `${name}.write(s, v.${name})` : `s.${method}(v.${name})`
  })
  const body = `'use strict'; return {
    bytesMin: ${bytesMinOf(fields)},
    read: (s) => ({ ${reads.join(', ')} }),
    write: (s, v) => { ${writes.join('; ')} },
  }`
  // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the point of this function
  const make = new Function(...names, body) as (
    ...codecs: unknown[]
  ) => Codec<Record<string, unknown>>
  return make(...Object.values(fields))
}

/** The same as a loop: the fallback, and the reference for tests of the compiled code. */
export function interpret(fields: AnyFields): Codec<Record<string, unknown>> {
  const entries = Object.entries(fields)
  return {
    bytesMin: bytesMinOf(fields),
    read(reader) {
      const value: Record<string, unknown> = {}
      for (const [name, codec] of entries) value[name] = codec.read(reader)
      return value
    },
    write(writer, value) {
      for (const [name, codec] of entries) codec.write(writer, value[name])
    },
  }
}

/** Text as UTF-8. */
export function encodeText(text: string): Uint8Array {
  return Buffer.from(text, textDecoding)
}

/** UTF-8 as text; invalid bytes become U+FFFD. */
export function decodeText(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return decodeBuffer(source, start, end)
}

const replacement = '\ufffd'

/** As Java decodes: invalid bytes become U+FFFD, and an encoded surrogate becomes a single one. */
function decodeBuffer(source: Buffer, start: number, end: number): string {
  const text = source.toString(textDecoding, start, end)
  if (!text.includes(replacement)) return text
  const mended = Buffer.from(source.subarray(start, end))
  for (let i = 0; i + 2 < mended.length; i++) {
    const isSurrogate =
      mended[i] === 0xed && (mended[i + 1]! & 0xe0) === 0xa0 && (mended[i + 2]! & 0xc0) === 0x80
    if (isSurrogate) mended.write(replacement, i, textDecoding)
  }
  return mended.toString(textDecoding)
}

/** A record as bytes of its own. */
export function encode<T>(codec: Codec<T>, value: T): Uint8Array {
  const writer = new Writer()
  codec.write(writer, value)
  return writer.written()
}

/** Decodes a record that starts at the first byte; trailing bytes are ignored, as in Apache. */
export function decode<T>(codec: Codec<T>, bytes: Uint8Array): T {
  return codec.read(new Reader(bytes))
}
