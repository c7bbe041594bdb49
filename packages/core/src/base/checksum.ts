/**
 * The two checksums of ZooKeeper's files: Adler-32 protects log records and snapshots, CRC-32 is
 * part of the digest of a znode. Both run over every byte that is stored, so their loops are
 * unrolled and allocate nothing. To avoid allocating the result, it is a signed number; `>>> 0`
 * turns it into the usual unsigned checksum.
 */

const adlerModulus = 65521
/**
 * The number of bytes after which the sums might exceed 31 bits, rounded down to a multiple of the
 * unrolled loop.
 */
const adlerRun = 3840

/** The views of the two buffers that were summed last: most calls use the same buffer. */
class Views {
  private buffer: ArrayBufferLike = new ArrayBuffer(0)
  private view = new DataView(this.buffer)

  of(buffer: ArrayBufferLike): DataView {
    if (buffer !== this.buffer) {
      this.buffer = buffer
      this.view = new DataView(buffer)
    }
    return this.view
  }
}
const adlerViews = new Views()

/** Adler-32 of a range. Pass a previous result as `seed` to continue it. */
export function adler32(bytes: Uint8Array, start = 0, end = bytes.length, seed = 1): number {
  const { byteOffset } = bytes
  return adler32OfView(adlerViews.of(bytes.buffer), byteOffset + start, byteOffset + end, seed)
}

/** The same as `adler32`, for bytes that already have a view. */
export function adler32OfView(view: DataView, start: number, end: number, seed = 1): number {
  let a = seed & 0xffff
  let b = seed >>> 16
  let at = start
  while (end - at >= 16) {
    for (const stop = Math.min(end, at + adlerRun) - 15; at < stop; at += 16) {
      // Sixteen steps at once: `b` gains `a` sixteen times, the first byte sixteen times, the
      // second fifteen times... One number holds two bytes, far enough apart for their sums.
      const w0 = view.getInt32(at)
      const w1 = view.getInt32(at + 4)
      const w2 = view.getInt32(at + 8)
      const w3 = view.getInt32(at + 12)
      const even0 = (w0 >>> 8) & 0xff00ff
      const even1 = (w1 >>> 8) & 0xff00ff
      const even2 = (w2 >>> 8) & 0xff00ff
      const even3 = (w3 >>> 8) & 0xff00ff
      const odd0 = w0 & 0xff00ff
      const odd1 = w1 & 0xff00ff
      const odd2 = w2 & 0xff00ff
      const odd3 = w3 & 0xff00ff
      const sums = even0 + odd0 + even1 + odd1 + even2 + odd2 + even3 + odd3
      const weighted =
        14 * even0 + 13 * odd0 + 10 * even1 + 9 * odd1 + 6 * even2 + 5 * odd2 + 2 * even3 + odd3
      const upper = sums >>> 16
      // The upper byte of each pair precedes the lower one by two places.
      b = (b + (a << 4) + (weighted >>> 16) + (weighted & 0xffff) + (upper << 1)) | 0
      a = (a + upper + (sums & 0xffff)) | 0
    }
    a %= adlerModulus
    b %= adlerModulus
  }
  for (; at < end; at++) {
    a += view.getUint8(at)
    b += a
  }
  return ((b % adlerModulus) << 16) | (a % adlerModulus)
}

/** Eight tables of 256: entry n of table k is the remainder of byte n followed by k zero bytes. */
const crcTables = makeCrcTables()

/** The CRC-32 of zlib and of Java. Pass a previous result as `seed` to continue it. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length, seed = 0): number {
  // Uses no view: getting the buffer of an array costs a fifth of what a small znode costs.
  const t = crcTables
  let crc = ~seed
  let at = start
  for (const stop = end - 7; at < stop; at += 8) {
    crc =
      t[0x700 | ((crc ^ bytes[at]!) & 0xff)]! ^
      t[0x600 | (((crc >>> 8) ^ bytes[at + 1]!) & 0xff)]! ^
      t[0x500 | (((crc >>> 16) ^ bytes[at + 2]!) & 0xff)]! ^
      t[0x400 | ((crc >>> 24) ^ bytes[at + 3]!)]! ^
      t[0x300 | bytes[at + 4]!]! ^
      t[0x200 | bytes[at + 5]!]! ^
      t[0x100 | bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!
  }
  for (; at < end; at++) crc = t[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8)
  return ~crc
}

/** The same as `crc32`, for bytes that already have a view. */
export function crc32OfView(view: DataView, start: number, end: number, seed: number): number {
  const t = crcTables
  let crc = ~seed
  let at = start
  for (const stop = end - 7; at < stop; at += 8) {
    const low = crc ^ view.getInt32(at, true)
    const high = view.getInt32(at + 4, true)
    crc =
      t[0x700 | (low & 0xff)]! ^
      t[0x600 | ((low >>> 8) & 0xff)]! ^
      t[0x500 | ((low >>> 16) & 0xff)]! ^
      t[0x400 | (low >>> 24)]! ^
      t[0x300 | (high & 0xff)]! ^
      t[0x200 | ((high >>> 8) & 0xff)]! ^
      t[0x100 | ((high >>> 16) & 0xff)]! ^
      t[high >>> 24]!
  }
  if (end - at >= 4) {
    const word = crc ^ view.getInt32(at, true)
    crc =
      t[0x300 | (word & 0xff)]! ^
      t[0x200 | ((word >>> 8) & 0xff)]! ^
      t[0x100 | ((word >>> 16) & 0xff)]! ^
      t[word >>> 24]!
    at += 4
  }
  for (; at < end; at++) crc = t[(crc ^ view.getUint8(at)) & 0xff]! ^ (crc >>> 8)
  return ~crc
}

/**
 * The contribution of a word of four bytes to the CRC-32 of something in which `bytesAfter` bytes
 * follow the word. The checksum is the sum (xor) of the contributions of its words, so a change of
 * one word can be computed without reading the others. The highest byte of a word comes first.
 */
export class CrcWord {
  private readonly table = new Int32Array(4 * 256)

  constructor(bytesAfter: number) {
    for (let i = 0; i < 32; i++) {
      let crc = 1 << i
      // The word counts as the first four bytes, because the CRC of a word is the register before
      // four zeros.
      for (let n = 0; n < 4 + bytesAfter; n++) crc = crcTables[crc & 0xff]! ^ (crc >>> 8)
      const first = (i >> 3) << 8
      const bit = 1 << (i & 7)
      for (let byte = 0; byte < 256; byte++) if (byte & bit) this.table[first | byte]! ^= crc
    }
  }

  of(word: number): number {
    const { table } = this
    return (
      table[word >>> 24]! ^
      table[0x100 | ((word >>> 16) & 0xff)]! ^
      table[0x200 | ((word >>> 8) & 0xff)]! ^
      table[0x300 | (word & 0xff)]!
    )
  }

  /** Adds the contribution of the same word in a second place. */
  alsoBefore(bytesAfter: number): this {
    const other = new CrcWord(bytesAfter)
    for (let i = 0; i < this.table.length; i++) this.table[i]! ^= other.table[i]!
    return this
  }
}

function makeCrcTables(): Int32Array {
  const tables = new Int32Array(8 * 256)
  for (let n = 0; n < 256; n++) {
    let crc = n
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1
    tables[n] = crc
  }
  for (let n = 256; n < tables.length; n++) {
    const shorter = tables[n - 256]!
    tables[n] = tables[shorter & 0xff]! ^ (shorter >>> 8)
  }
  return tables
}
