import { createHash } from 'node:crypto'

/** The purposes of a derived key (RFC 7292, appendix B.3). */
export const purposes = { key: 1, iv: 2, mac: 3 } as const

const blockBytes: Readonly<Record<string, number>> = {
  sha1: 64,
  sha224: 64,
  sha256: 64,
  sha384: 128,
  sha512: 128,
}

/** The key derivation of PKCS#12 (RFC 7292, appendix B.2). */
export function derivePkcs12Key(
  password: string,
  salt: Uint8Array,
  options: {
    readonly purpose: number
    readonly iterations: number
    readonly bytes: number
    readonly hash: string
  },
): Buffer {
  const { purpose, iterations, bytes, hash } = options
  const v = blockBytes[hash]!
  const diversifier = Buffer.alloc(v, purpose)
  const mixed = Buffer.concat([repeated(salt, v), repeated(bmpString(password), v)])
  const out: Buffer[] = []
  for (let length = 0; length < bytes;) {
    let digest = createHash(hash).update(diversifier).update(mixed).digest()
    for (let i = 1; i < iterations; i++) digest = createHash(hash).update(digest).digest()
    out.push(digest)
    length += digest.length
    addToEachBlock(mixed, repeated(digest, v).subarray(0, v), v)
  }
  return Buffer.concat(out).subarray(0, bytes)
}

/** Adds `block` + 1 to each block of `mixed`, as big-endian numbers that may overflow. */
function addToEachBlock(mixed: Buffer, block: Uint8Array, v: number): void {
  for (let start = 0; start < mixed.length; start += v) {
    let carry = 1
    for (let i = v - 1; i >= 0; i--) {
      const sum = mixed[start + i]! + block[i]! + carry
      mixed[start + i] = sum & 0xff
      carry = sum >> 8
    }
  }
}

/** Repeats bytes up to the next multiple of `v`; empty stays empty. */
function repeated(bytes: Uint8Array, v: number): Buffer {
  if (bytes.length === 0) return Buffer.alloc(0)
  const length = Math.ceil(bytes.length / v) * v
  return Buffer.alloc(length, bytes)
}

/** UTF-16, big-endian, with a zero at the end. */
function bmpString(text: string): Buffer {
  const bytes = Buffer.from(`${text}\0`, 'utf16le')
  return bytes.swap16()
}
