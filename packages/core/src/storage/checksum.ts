/**
 * The two checksums of ZooKeeper's files: Adler-32 seals log records and snapshots, CRC-32 makes
 * the digest of a znode. Both run over every byte that is stored, so they are unrolled and
 * allocate nothing.
 */

const adlerModulus = 65521
/** How many bytes the sums can take before they might leave 31 bits, a multiple of the unrolling. */
const adlerRun = 3840

/** Adler-32 of a range; give the previous result as `seed` to go on where it ended. */
export function adler32(bytes: Uint8Array, start = 0, end = bytes.length, seed = 1): number {
  let a = seed & 0xffff
  let b = seed >>> 16
  let at = start
  while (at < end) {
    const runEnd = Math.min(end, at + adlerRun)
    for (const stop = runEnd - 7; at < stop; at += 8) {
      // Eight steps at once: `b` gains `a` eight times, and the first byte eight times, the second
      // seven times... The products do not depend on each other, which a chain of sums would.
      const b0 = bytes[at]!
      const b1 = bytes[at + 1]!
      const b2 = bytes[at + 2]!
      const b3 = bytes[at + 3]!
      const b4 = bytes[at + 4]!
      const b5 = bytes[at + 5]!
      const b6 = bytes[at + 6]!
      const b7 = bytes[at + 7]!
      b =
        (b +
          (a << 3) +
          (b0 << 3) +
          7 * b1 +
          6 * b2 +
          5 * b3 +
          (b4 << 2) +
          3 * b5 +
          (b6 << 1) +
          b7) |
        0
      a = (a + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7) | 0
    }
    for (; at < runEnd; at++) {
      a = (a + bytes[at]!) | 0
      b = (b + a) | 0
    }
    a %= adlerModulus
    b %= adlerModulus
  }
  return ((b << 16) | a) >>> 0
}

/** Eight tables of 256: entry n of table k is the remainder of byte n followed by k zero bytes. */
const crcTables = makeCrcTables()

/** The CRC-32 of zlib and of Java; give the previous result as `seed` to go on where it ended. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length, seed = 0): number {
  const t = crcTables
  let crc = ~seed
  let at = start
  for (const stop = end - 7; at < stop; at += 8) {
    const low =
      crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
    crc =
      t[0x700 | (low & 0xff)]! ^
      t[0x600 | ((low >>> 8) & 0xff)]! ^
      t[0x500 | ((low >>> 16) & 0xff)]! ^
      t[0x400 | (low >>> 24)]! ^
      t[0x300 | bytes[at + 4]!]! ^
      t[0x200 | bytes[at + 5]!]! ^
      t[0x100 | bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!
  }
  for (; at < end; at++) crc = t[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
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
