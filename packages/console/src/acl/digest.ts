/** The identity of a user with a password, as ZooKeeper keeps it: `user:base64(sha1(user:password))`. */
export function digestIdentity(user: string, password: string): string {
  const hash = sha1(new TextEncoder().encode(`${user}:${password}`))
  return `${user}:${btoa(String.fromCharCode(...hash))}`
}

/** Here, because browsers offer hashes to secure pages only, and a console can be on plain HTTP. */
export function sha1(message: Uint8Array): Uint8Array {
  const blocks = Math.ceil((message.length + 9) / 64)
  const padded = new Uint8Array(blocks * 64)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n)
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]
  const words = new Uint32Array(80)
  for (let block = 0; block < blocks; block++) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(block * 64 + i * 4)
    for (let i = 16; i < 80; i++) {
      words[i] = rotated(words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!, 1)
    }
    let [a, b, c, d, e] = state as [number, number, number, number, number]
    for (let i = 0; i < 80; i++) {
      const [mixed, constant] =
        i < 20
          ? [(b & c) | (~b & d), 0x5a827999]
          : i < 40
            ? [b ^ c ^ d, 0x6ed9eba1]
            : i < 60
              ? [(b & c) | (b & d) | (c & d), 0x8f1bbcdc]
              : [b ^ c ^ d, 0xca62c1d6]
      const next = (rotated(a, 5) + mixed + e + constant + words[i]!) >>> 0
      ;[a, b, c, d, e] = [next, a, rotated(b, 30), c, d]
    }
    for (const [i, value] of [a, b, c, d, e].entries()) state[i] = (state[i]! + value) >>> 0
  }
  const hash = new DataView(new ArrayBuffer(20))
  for (const [i, value] of state.entries()) hash.setUint32(i * 4, value)
  return new Uint8Array(hash.buffer)
}

function rotated(value: number, bits: number): number {
  return ((value << bits) | (value >>> (32 - bits))) >>> 0
}
