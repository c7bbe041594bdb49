import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encode, ustring } from './codec.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'
import { CodecMemory } from './codec-memory.ts'

const anyText = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', '/', '/a', 'x'.repeat(64), 'x'.repeat(65), 'ü'.repeat(500)),
)

test('the bytes of a text are its UTF-8, whatever was read, written or looked up before', () => {
  const step = fc.record({ text: anyText, how: fc.constantFrom('ask', 'read', 'write') })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const memory = new CodecMemory()
      for (const { text, how } of steps) {
        const utf8 = Buffer.from(text)
        if (how === 'ask') {
          const { bytes, view, length } = memory.text.of(text)
          expect(Buffer.from(bytes.subarray(0, length))).toEqual(utf8)
          if (length > 0) expect(view.getUint8(length - 1)).toBe(utf8.at(-1))
        } else if (how === 'read') {
          const writer = new Writer()
          writer.buffer(utf8)
          expect(readerOf(writer.written(), memory).ustring()).toBe(utf8.toString())
        } else {
          const writer = new Writer(0, memory)
          writer.ustring(text)
          expect(Buffer.from(writer.written().subarray(4))).toEqual(utf8)
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('the bytes of a text that was read are cached, and the reader may reuse its buffer', () => {
  const memory = new CodecMemory()
  const writer = new Writer()
  writer.ustring('/app/one')
  const bytes = writer.written()
  const { text: last } = memory
  const text = readerOf(bytes, memory).ustring()
  const { serial } = last.of(text)
  bytes.fill(0)
  expect(last.of(text).serial).toBe(serial)
  expect(Buffer.from(last.of(text).bytes.subarray(0, 8)).toString()).toBe('/app/one')
  expect(last.of('/app/two').serial).not.toBe(serial)
})

test('readers of different memories do not share what they remember', () => {
  const [one, other] = [new CodecMemory(), new CodecMemory()]
  readerOf(encode(ustring, '/a'), one).ustring()
  expect(one.text.text).toBe('/a')
  expect(other.text.text).toBe('')
})

function readerOf(bytes: Uint8Array, memory: CodecMemory): Reader {
  const reader = new Reader(bytes)
  reader.memory = memory
  return reader
}
