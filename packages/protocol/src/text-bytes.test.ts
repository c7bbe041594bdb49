import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encode, Reader, ustring, Writer } from './jute.ts'
import { bytesOfText } from './text-bytes.ts'

const anyText = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', '/', '/a', 'x'.repeat(64), 'x'.repeat(65), 'ü'.repeat(500)),
)

test('the bytes of a text are its UTF-8, whatever was read, written or looked up before', () => {
  const step = fc.record({ text: anyText, how: fc.constantFrom('ask', 'read', 'write') })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      for (const { text, how } of steps) {
        const utf8 = Buffer.from(text)
        if (how === 'ask') {
          const { bytes, view, length } = bytesOfText(text)
          expect(Buffer.from(bytes.subarray(0, length))).toEqual(utf8)
          if (length > 0) expect(view.getUint8(length - 1)).toBe(utf8.at(-1))
        } else if (how === 'read') {
          const writer = new Writer()
          writer.buffer(utf8)
          expect(new Reader(writer.written()).ustring()).toBe(utf8.toString())
        } else {
          expect(Buffer.from(encode(ustring, text).subarray(4))).toEqual(utf8)
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('the bytes of a text that was read are cached, and the reader may reuse its buffer', () => {
  const writer = new Writer()
  writer.ustring('/app/one')
  const bytes = writer.written()
  const text = new Reader(bytes).ustring()
  const { serial } = bytesOfText(text)
  bytes.fill(0)
  expect(bytesOfText(text).serial).toBe(serial)
  expect(Buffer.from(bytesOfText(text).bytes.subarray(0, 8)).toString()).toBe('/app/one')
  expect(bytesOfText('/app/two').serial).not.toBe(serial)
})
