import { StoreError } from './key-material.ts'

/**
 * RC2 (RFC 2268), decryption only. PKCS#12 stores that are more than a few years old encrypt their
 * certificates with it, and OpenSSL 3, and so Node.js, has dropped it.
 */
const piTable = Buffer.from(
  'd978f9c419ddb5ed28e9fd794aa0d89dc67e37832b76538e624c6488448bfba2' +
    '179a59f587b34f1361456d8d09817d32bd8f40eb86b77b0bf09521225c6b4e82' +
    '54d66593ce60b21c7356c014a78cf1dc1275ca1f3bbee4d1423dd430a33cb626' +
    '6fbf0eda4669075727f21d9bbc944303f811c7f690ef3ee706c3d52fc8661ed7' +
    '08e8eade8052eef784aa72ac354d6a2a961ad2715a1549744b9fd05e0418a4ec' +
    'c2e0416e0f51cbcc2491af50a1f47039997c3a8523b8b47afc02365b25559731' +
    '2d5dfa98e38a92ae05df2910676cbac9d300e6cfe19ea82c6316013f58e289a9' +
    '0d38341bab33ffb0bb480c5fb9b1cd2ec5f3db47e5a59c770aa62068fe7fc1ad',
  'hex',
)

const blockBytes = 8
const keyBytesMax = 128

/** Cipher block chaining; removes the padding of PKCS#7. */
export function decryptRc2(
  encrypted: Uint8Array,
  key: Uint8Array,
  iv: Uint8Array,
  effectiveBits: number,
): Buffer {
  const wrong = 'the password does not fit'
  if (encrypted.length === 0 || encrypted.length % blockBytes !== 0) throw new StoreError(wrong)
  const words = expandKey(key, effectiveBits)
  const out = Buffer.alloc(encrypted.length)
  let previous = iv
  for (let at = 0; at < encrypted.length; at += blockBytes) {
    const block = encrypted.subarray(at, at + blockBytes)
    const plain = decryptBlock(block, words)
    for (let i = 0; i < blockBytes; i++) out[at + i] = plain[i]! ^ previous[i]!
    previous = block
  }
  const padding = out.at(-1)!
  const pad = out.subarray(out.length - padding)
  const isPadded = padding >= 1 && padding <= blockBytes && pad.every((byte) => byte === padding)
  if (!isPadded) throw new StoreError(wrong)
  return out.subarray(0, out.length - padding)
}

function expandKey(key: Uint8Array, effectiveBits: number): Uint16Array {
  const bytes = new Uint8Array(keyBytesMax)
  bytes.set(key)
  for (let i = key.length; i < keyBytesMax; i++) {
    bytes[i] = piTable[(bytes[i - 1]! + bytes[i - key.length]!) & 0xff]!
  }
  const effectiveBytes = Math.ceil(effectiveBits / 8)
  const mask = 0xff >> (8 * effectiveBytes - effectiveBits)
  const first = keyBytesMax - effectiveBytes
  bytes[first] = piTable[bytes[first]! & mask]!
  for (let i = first - 1; i >= 0; i--)
    bytes[i] = piTable[bytes[i + 1]! ^ bytes[i + effectiveBytes]!]!
  return Uint16Array.from({ length: 64 }, (_, i) => bytes[2 * i]! | (bytes[2 * i + 1]! << 8))
}

const shifts = [1, 2, 3, 5] as const

function decryptBlock(block: Uint8Array, key: Uint16Array): Uint8Array {
  const r = [0, 1, 2, 3].map((i) => block[2 * i]! | (block[2 * i + 1]! << 8))
  let next = 63
  const mix = (): void => {
    for (let i = 3; i >= 0; i--) {
      const shift = shifts[i]!
      const rotated = ((r[i]! >> shift) | (r[i]! << (16 - shift))) & 0xffff
      const [one, two, three] = [r[(i + 3) % 4]!, r[(i + 2) % 4]!, r[(i + 1) % 4]!]
      r[i] = (rotated - key[next--]! - (one & two) - (~one & three)) & 0xffff
    }
  }
  const mash = (): void => {
    for (let i = 3; i >= 0; i--) r[i] = (r[i]! - key[r[(i + 3) % 4]! & 63]!) & 0xffff
  }
  for (let round = 0; round < 16; round++) {
    if (round === 5 || round === 11) mash()
    mix()
  }
  return Uint8Array.from(r.flatMap((word) => [word & 0xff, word >> 8]))
}
