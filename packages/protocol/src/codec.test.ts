import { memoryUsage } from 'node:process'
import fc from 'fast-check'
import { CodecMemory } from './codec-memory.ts'
import { expect, test } from 'vitest'
import {
  bool,
  buffer,
  byte,
  decode,
  encode,
  int,
  long,
  nullableText,
  nullableVector,
  remembered,
  ustring,
  vector,
  type Codec,
} from './codec.ts'
import { MalformedError } from './malformed.ts'
import { Reader } from './reader.ts'
import { interpret, record } from './record.ts'
import { decodeText, encodeText } from './text.ts'
import { Writer } from './writer.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const unhex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')

// --- primitives ----------------------------------------------------------------------------------

test('integers are big-endian and signed', () => {
  expect(hex(encode(int, 1))).toBe('00000001')
  expect(hex(encode(int, -110))).toBe('ffffff92')
  expect(hex(encode(long, 0x100000001n))).toBe('0000000100000001')
  expect(hex(encode(long, -1n))).toBe('ffffffffffffffff')
  expect(decode(int, unhex('80000000'))).toBe(-0x80000000)
  expect(decode(long, unhex('8000000000000000'))).toBe(-0x8000000000000000n)
})

test('a long written as two halves is the same long', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), (value) => {
      const writer = new Writer()
      writer.longHalves(Number(value >> 32n) | 0, Number(value & 0xffffffffn) | 0)
      expect(new Reader(writer.written()).long()).toBe(value)
    }),
  )
})

test('a boolean is written as 0 or 1, and any byte but 0 reads as true', () => {
  expect(hex(encode(bool, true))).toBe('01')
  expect(hex(encode(bool, false))).toBe('00')
  for (let value = 0; value < 256; value++) {
    expect(decode(bool, Uint8Array.of(value))).toBe(value !== 0)
  }
})

test('null and empty differ for buffers, text and vectors', () => {
  for (const codec of [buffer, nullableText, nullableVector(int)] as Codec<unknown>[]) {
    expect(hex(encode(codec, null))).toBe('ffffffff')
    expect(decode(codec, unhex('ffffffff'))).toBeNull()
  }
  expect(decode(buffer, unhex('00000000'))).toEqual(Buffer.alloc(0))
  expect(decode(nullableText, unhex('00000000'))).toBe('')
  expect(decode(nullableVector(int), unhex('00000000'))).toEqual([])
})

test('null is refused where a value is required', () => {
  expect(() => decode(ustring, unhex('ffffffff'))).toThrow(MalformedError)
  expect(() => decode(vector(int), unhex('ffffffff'))).toThrow(MalformedError)
})

test('a vector with a negative count other than -1 is empty, as in Apache', () => {
  expect(decode(nullableVector(int), unhex('fffffff9'))).toEqual([])
  expect(decode(vector(int), unhex('80000000'))).toEqual([])
})

test('skipText skips the expected text and no other', () => {
  const text = fc.string({ unit: 'binary', maxLength: 6 })
  fc.assert(
    fc.property(text, text, fc.boolean(), (written, other, isSame) => {
      const expected = isSame ? written : other
      const reader = new Reader(encode(ustring, written))
      const isSkipped = reader.skipText(expected)
      // oxlint-disable-next-line no-control-regex -- all of ASCII
      expect(isSkipped).toBe(expected === written && /^[\0-\x7f]*$/.test(written))
      if (isSkipped) expect(reader.remaining).toBe(0)
      else expect(reader.ustring()).toBe(decode(ustring, encode(ustring, written)))
    }),
  )
  // A single byte that is invalid UTF-8 must not decode to the character with that number.
  expect(new Reader(unhex('00000001 e9')).skipText('\u00e9')).toBe(false)
  expect(new Reader(unhex('00000003 61 62')).skipText('abc')).toBe(false)
  expect(new Reader(unhex('0000')).skipText('')).toBe(false)
})

test('invalid UTF-8 becomes U+FFFD', () => {
  expect(decode(ustring, unhex('00000003 61 ff 62'))).toBe('a\ufffdb')
  expect(decode(ustring, unhex('00000002 c3 28'))).toBe('\ufffd(')
  expect(decode(ustring, unhex('00000001 e2'))).toBe('\ufffd')
  expect(decodeText(unhex('61 80 62'))).toBe('a\ufffdb')
})

test('half a surrogate pair is written as U+FFFD, so the bytes are always valid UTF-8', () => {
  expect(decode(ustring, encode(ustring, 'a\ud800b'))).toBe('a\ufffdb')
})

test('text of any length and script survives a round trip', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const bytes = encode(ustring, text)
      expect(decode(ustring, bytes)).toBe(text)
      expect(Buffer.from(bytes.subarray(4)).equals(encodeText(text))).toBe(true)
    }),
  )
})

test('text just below and above the bound of the short path is written alike', () => {
  for (const length of [0, 1, 63, 64, 65, 500]) {
    for (const text of ['x'.repeat(length), `${'x'.repeat(length)}é`, 'é'.repeat(length)]) {
      expect(decode(ustring, encode(ustring, text))).toBe(text)
    }
  }
})

test('bytes after a record are ignored', () => {
  const Pair = record({ a: int, b: ustring })
  expect(decode(Pair, unhex('00000007 00000001 78 deadbeef'))).toEqual({ a: 7, b: 'x' })
})

test('a reader stays within its range of a larger array', () => {
  const bytes = unhex('ffffffff 00000002 6162 63')
  expect(new Reader(bytes, 4, 10).ustring()).toBe('ab')
  expect(() => new Reader(bytes, 4, 9).ustring()).toThrow(MalformedError)
  expect(() => new Reader(bytes, 4, 7).int()).toThrow(MalformedError)
})

test('a reader follows a view into a shared buffer, and can be pointed elsewhere', () => {
  const shared = Buffer.from('xx00000001xx')
  const view = shared.subarray(2, 10)
  const reader = new Reader(view)
  expect(reader.byte()).toBe(0x30)
  expect(reader.reset(unhex('00000009')).int()).toBe(9)
  expect(reader.reset(shared, 11, 12).remaining).toBe(1)
})

test('a buffer is a view of the received bytes, not a copy', () => {
  const bytes = unhex('00000002 6162').slice()
  const data = decode(buffer, bytes)!
  bytes[4] = 0x7a
  expect(data[0]).toBe(0x7a)
})

// --- the writer ----------------------------------------------------------------------------------

test('a writer grows as needed, and can be reused', () => {
  const writer = new Writer(0)
  const large = new Uint8Array(5000).fill(7)
  for (let round = 0; round < 2; round++) {
    writer.reset()
    writer.int(1)
    writer.buffer(large)
    writer.raw(large.subarray(0, 3))
    writer.rawRange(large, 0, 200)
    writer.rawRange(large, 10, 20)
    const reader = new Reader(writer.written())
    expect(reader.int()).toBe(1)
    expect(reader.buffer()).toEqual(Buffer.from(large))
    expect(reader.remaining).toBe(213)
  }
})

test('a released buffer is the next one used', () => {
  const memory = new CodecMemory()
  const first = new Writer(0, memory)
  first.int(1)
  const { bytes } = first
  first.release()
  expect(first.position).toBe(0)
  expect(first.written()).toHaveLength(0)
  const second = new Writer(0, memory)
  second.int(2)
  expect(second.bytes).toBe(bytes)
  first.int(3)
  expect(first.bytes).not.toBe(bytes)
  expect(new Reader(second.written()).int()).toBe(2)
})

test('writers that share buffers never write into one another', () => {
  const step = fc.record({
    writer: fc.nat(4),
    text: fc.option(fc.string({ minLength: 1, maxLength: 2000 })),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = new CodecMemory()
      const writers = Array.from({ length: 5 }, () => ({ writer: new Writer(0, memory), said: '' }))
      for (const { writer: index, text } of steps) {
        const one = writers[index]!
        if (text === null) {
          one.writer.release()
          one.said = ''
        } else {
          one.writer.text(text)
          one.said += text
        }
        for (const { writer, said } of writers)
          expect(Buffer.from(writer.written()).toString()).toBe(said)
      }
      for (const { writer } of writers) writer.release()
    }),
  )
})

test('a length that is known only at the end can be filled in', () => {
  const writer = new Writer()
  writer.int(0)
  writer.ustring('abc')
  writer.intAt(0, writer.position - 4)
  expect(hex(writer.written())).toBe('0000000700000003616263')
})

// --- records -------------------------------------------------------------------------------------

interface Shape {
  readonly compiled: Codec<unknown>
  readonly looped: Codec<unknown>
  readonly value: fc.Arbitrary<unknown>
}

const both = (codec: Codec<unknown>, value: fc.Arbitrary<unknown>): Shape => ({
  compiled: codec,
  looped: codec,
  value,
})

const text = fc.string({ unit: 'binary', maxLength: 20 })
const bytes = fc.uint8Array({ maxLength: 20 })
const primitives = fc.constantFrom(
  both(byte as Codec<unknown>, fc.integer({ min: 0, max: 255 })),
  both(bool as Codec<unknown>, fc.boolean()),
  both(int as Codec<unknown>, fc.integer()),
  both(long as Codec<unknown>, fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })),
  both(buffer as Codec<unknown>, fc.option(bytes)),
  both(nullableText as Codec<unknown>, fc.option(text)),
  both(ustring as Codec<unknown>, text),
)

/** Random declarations, compiled and interpreted, with values that match them. */
const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    primitives,
    tie('shape').map(({ compiled, looped, value }) => ({
      compiled: vector(compiled) as Codec<unknown>,
      looped: vector(looped) as Codec<unknown>,
      value: fc.array(value, { maxLength: 4 }),
    })),
    tie('shape').map(({ compiled, looped, value }) => ({
      compiled: nullableVector(compiled) as Codec<unknown>,
      looped: nullableVector(looped) as Codec<unknown>,
      value: fc.option(fc.array(value, { maxLength: 4 })),
    })),
    fc
      .dictionary(fc.stringMatching(/^[a-z][a-zA-Z0-9]{2,6}X$/), tie('shape'), {
        minKeys: 1,
        maxKeys: 5,
        noNullPrototype: true,
      })
      .map(recordOf),
  ),
}))

function recordOf(fields: Record<string, Shape>): Shape {
  const pick = <K extends keyof Shape>(key: K): Record<string, Shape[K]> =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field[key]]))
  return {
    compiled: record(pick('compiled')) as Codec<unknown>,
    looped: interpret(pick('looped')) as Codec<unknown>,
    value: fc.record(pick('value'), { noNullPrototype: true }),
  }
}

const shapeAndValue = shape.chain((made) => made.value.map((value) => [made, value] as const))

test('compiled and interpreted declarations write the same bytes and read the same values', () => {
  fc.assert(
    fc.property(shapeAndValue, ([{ compiled, looped }, value]) => {
      const written = encode(compiled, value)
      expect(hex(encode(looped, value))).toBe(hex(written))
      expect(plain(decode(compiled, written))).toEqual(plain(value))
      expect(plain(decode(looped, written))).toEqual(plain(value))
      expect(compiled.bytesMin).toBe(looped.bytesMin)
      expect(written.length).toBeGreaterThanOrEqual(compiled.bytesMin)
    }),
    { numRuns: 300 },
  )
})

test('reading any bytes gives a value or a MalformedError', () => {
  fc.assert(
    fc.property(shape, fc.uint8Array({ maxLength: 60 }), ({ compiled, looped }, garbage) => {
      expect(outcome(compiled, garbage)).toEqual(outcome(looped, garbage))
    }),
    { numRuns: 500 },
  )
})

/** Buffers are read as views of other classes; only their bytes matter. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${hex(value)}`
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]))
}

function outcome(codec: Codec<unknown>, input: Uint8Array): unknown {
  try {
    return plain(decode(codec, input))
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedError)
    return 'malformed'
  }
}

// --- hostile lengths -----------------------------------------------------------------------------

const hostileLengths = ['fffffffe', '80000000', '7fffffff', '00100000', '00000005']

test.each(hostileLengths)('a buffer or text of length 0x%s is refused', (length) => {
  const input = unhex(`${length} 61626364`)
  for (const codec of [buffer, nullableText, ustring] as Codec<unknown>[]) {
    expect(() => decode(codec, input)).toThrow(MalformedError)
  }
})

test('a vector is refused as soon as its elements cannot fit into the remaining bytes', () => {
  const Wide = record({ a: long, b: long })
  for (const count of ['7fffffff', '00100000', '00000003', '00000002']) {
    const input = unhex(`${count} 00000001000000020000000300000004 0000000500000006`)
    expect(() => decode(vector(Wide), input)).toThrow(MalformedError)
    expect(() => decode(nullableVector(Wide), input)).toThrow(MalformedError)
  }
})

test('a huge announced length allocates nothing', () => {
  const input = unhex('7fffffff 00000000')
  const codecs = [buffer, ustring, vector(int), vector(record({ a: ustring }))] as Codec<unknown>[]
  const before = memoryUsage()
  for (let i = 0; i < 100; i++) {
    for (const codec of codecs) expect(() => decode(codec, input)).toThrow(MalformedError)
  }
  const after = memoryUsage()
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(1 << 20)
  expect(after.heapUsed - before.heapUsed).toBeLessThan(64 << 20)
})

test.each([
  ['2f 61 ff', '/a\ufffd'],
  ['2f ed a0 80', '/\ufffd'],
  ['ed bf bf ed a0 80', '\ufffd\ufffd'],
  ['e4 b8', '\ufffd'],
  ['f0 9f 98 80', '\u{1f600}'],
])('the bytes %s read as Java reads them', (given16, expected) => {
  const given = unhex(given16)
  expect(decodeText(given)).toBe(expected)
  expect(new Reader(encode(buffer, given)).ustring()).toBe(expected)
})

test('a remembered value is reused only for the same bytes, and is shared', () => {
  const lists = remembered(nullableVector(int), ({ acl }) => acl)
  const memory = new CodecMemory()
  const read = (given: Uint8Array): number[] | null => {
    const reader = new Reader(given)
    reader.memory = memory
    return lists.read(reader)
  }
  const encoded = encode(lists, [1, 2])
  const first = read(encoded)
  expect(read(encoded)).toBe(first)
  expect(decode(lists, encoded)).not.toBe(first)
  expect(read(encode(lists, [1, 3]))).toEqual([1, 3])
  expect(() => read(encoded.subarray(0, 8))).toThrow(MalformedError)
  expect(read(encode(lists, null))).toBeNull()
  expect(read(encoded)).toEqual([1, 2])
  const writer = new Writer(0, memory)
  lists.write(writer, read(encoded))
  expect(Buffer.from(writer.written())).toEqual(Buffer.from(encoded))
})
