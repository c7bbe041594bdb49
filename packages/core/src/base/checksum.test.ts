import { crc32 as zlibCrc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { adler32, crc32 } from './checksum.ts'

const text = (value: string): Uint8Array => Buffer.from(value)

test('known values', () => {
  expect(adler32(text(''))).toBe(1)
  expect(adler32(text('Wikipedia'))).toBe(0x11e60398)
  expect(crc32(text(''))).toBe(0)
  expect(crc32(text('123456789')) >>> 0).toBe(0xcbf43926)
})

test('the first record of a log written by Apache has the checksum found in its file', () => {
  const payload = Buffer.from(
    '0100000ce84e0000' +
      '00000000' +
      '0000000100000001' +
      '000001a1ddffab61' +
      'fffffff6' +
      '00002710' +
      '000000020000000051c6d660',
    'hex',
  )
  expect(adler32(payload) >>> 0).toBe(0xdb920b49)
})

test('the digest of an empty tree is the sum of its two nodes', () => {
  const stat = new Uint8Array(60)
  const root = crc32(stat)
  const zookeeper = crc32(stat, 0, 60, crc32(text('/zookeeper')))
  expect(root).toBe(68323592)
  expect(zookeeper).toBe(1303661912)
})

test('sums of the largest bytes do not overflow', () => {
  const bytes = new Uint8Array(100_000).fill(255)
  expect(adler32(bytes) >>> 0).toBe(slowAdler(bytes))
})

test('a range in two parts gives the checksum of the whole', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 9000 }), fc.nat(), fc.nat(9), (drawn, cut, at) => {
      // Most cases do not begin where their buffer begins.
      const bytes = new Uint8Array(drawn.length + at).subarray(at)
      bytes.set(drawn)
      const middle = bytes.length === 0 ? 0 : cut % bytes.length
      expect(adler32(bytes) >>> 0).toBe(slowAdler(bytes))
      expect(adler32(bytes, middle, bytes.length, adler32(bytes, 0, middle))).toBe(adler32(bytes))
      expect(crc32(bytes, middle, bytes.length, crc32(bytes, 0, middle))).toBe(crc32(bytes))
      expect(crc32(bytes) >>> 0).toBe(zlibCrc32(bytes))
    }),
  )
})

function slowAdler(bytes: Uint8Array): number {
  let a = 1
  let b = 0
  for (const byte of bytes) {
    a = (a + byte) % 65521
    b = (b + a) % 65521
  }
  return b * 65536 + a
}
