/**
 * The stream format of snappy-java, which is not the framing format of Snappy itself: a header,
 * then blocks, each preceded by its compressed length.
 */
import { MalformedError, Writer } from '@zabra/protocol'
import type { Transform } from './snapshot-input.ts'

const magic = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]
const headerBytes = 16
const blockBytes = 32 * 1024
const blockBytesMax = 64 * 1024 * 1024

export function isSnappy(bytes: Uint8Array, at = 0): boolean {
  return magic.every((byte, i) => bytes[at + i] === byte)
}

/** Decompresses a stream, or several one after another. */
export function snappyDecoder(): Transform {
  let pending = new Uint8Array(0)
  const step = (bytes: Uint8Array): Uint8Array => {
    const input = pending.length === 0 ? bytes : join(pending, bytes)
    const output = new Writer(blockBytes * 8)
    let at = 0
    for (;;) {
      if (input.length - at >= headerBytes && isSnappy(input, at)) {
        at += headerBytes
        continue
      }
      // A block is shorter than the magic number read as a length, so the two cannot be confused.
      if (input.length - at < 4 || (input[at] === magic[0] && input.length - at < headerBytes))
        break
      const view = new DataView(input.buffer, input.byteOffset + at, 4)
      const length = view.getInt32(0)
      if (length < 0 || length > blockBytesMax) {
        throw new MalformedError(`a compressed block of ${length} bytes`)
      }
      if (input.length - at - 4 < length) break
      decodeBlock(input, at + 4, at + 4 + length, output)
      at += 4 + length
    }
    pending = input.slice(at)
    return output.written()
  }
  return {
    push: async (bytes) => step(bytes),
    end: async () => {
      if (pending.length > 0) throw new MalformedError('the compressed file ends too early')
      return pending
    },
    close: () => {},
  }
}

/** A block of Snappy: its plain length, then literals and copies of what came before. */
function decodeBlock(bytes: Uint8Array, start: number, end: number, output: Writer): void {
  let at = start
  let plain = 0
  for (let shift = 0; ; shift += 7) {
    if (at >= end || shift > 28) throw new MalformedError('a compressed block without its length')
    const byte = bytes[at++]!
    plain += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) break
  }
  if (plain > blockBytesMax) throw new MalformedError(`a block of ${plain} bytes`)
  output.ensure(plain)
  const base = output.position
  const out = output.bytes
  let to = base
  const limit = base + plain
  while (at < end) {
    const tag = bytes[at++]!
    let length = tag >>> 2
    if ((tag & 3) === 0) {
      if (length >= 60) {
        const count = length - 59
        length = littleEndian(bytes, at, count)
        at += count
      }
      length++
      if (at + length > end || to + length > limit) throw new MalformedError('a literal too long')
      out.set(bytes.subarray(at, at + length), to)
      at += length
      to += length
      continue
    }
    let offset: number
    if ((tag & 3) === 1) {
      offset = ((tag & 0xe0) << 3) | bytes[at++]!
      length = (length & 7) + 4
    } else {
      const count = (tag & 3) === 2 ? 2 : 4
      offset = littleEndian(bytes, at, count)
      at += count
      length++
    }
    if (offset === 0 || offset > to - base || to + length > limit || at > end) {
      throw new MalformedError('a copy from outside the block')
    }
    // Byte by byte: a copy may overlap what it writes.
    for (const stop = to + length; to < stop; to++) out[to] = out[to - offset]!
  }
  if (to !== limit) throw new MalformedError('a block shorter than it says')
  output.position = to
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let i = count - 1; i >= 0; i--) value = value * 256 + (bytes[at + i] ?? 0)
  return value
}

/** A stream that any reader of the format takes; its blocks hold literals only. */
export function snappyEncoder(): Transform {
  const writer = new Writer(blockBytes * 12)
  let started = false
  const start = (): void => {
    writer.reset()
    if (started) return
    started = true
    for (const byte of magic) writer.byte(byte)
    writer.int(1)
    writer.int(1)
  }
  return {
    push: async (bytes) => {
      start()
      for (let at = 0; at < bytes.length; at += blockBytes) {
        encodeBlock(bytes, at, Math.min(bytes.length, at + blockBytes), writer)
      }
      return writer.written()
    },
    end: async () => {
      start()
      return writer.written()
    },
    close: () => {},
  }
}

function encodeBlock(bytes: Uint8Array, start: number, end: number, writer: Writer): void {
  const length = end - start
  const lengthAt = writer.position
  writer.int(0)
  let rest = length
  for (; rest >= 0x80; rest >>>= 7) writer.byte((rest & 0x7f) | 0x80)
  writer.byte(rest)
  writer.byte(61 << 2) // A literal whose length, less one, follows in two bytes.
  writer.byte((length - 1) & 0xff)
  writer.byte((length - 1) >>> 8)
  writer.raw(bytes.subarray(start, end))
  writer.intAt(lengthAt, writer.position - lengthAt - 4)
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}
