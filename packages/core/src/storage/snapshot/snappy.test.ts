import { MalformedError } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { snappyDecoder, snappyEncoder } from './snappy.ts'

const header = '82534e41505059000000000100000001'

/** Decodes in pieces of some size. */
async function decode(bytes: Uint8Array, pieceBytes = bytes.length): Promise<Buffer> {
  const decoder = snappyDecoder()
  const output: Buffer[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    output.push(Buffer.from(await decoder.push(bytes.subarray(at, at + pieceBytes))))
  }
  output.push(Buffer.from(await decoder.end()))
  return Buffer.concat(output)
}

function stream(...blocks: string[]): Buffer {
  const parts = blocks.map((block) => (block.length / 2).toString(16).padStart(8, '0') + block)
  return Buffer.from(header + parts.join(''), 'hex')
}

test('copies may reach back into what they write, in each of their three forms', async () => {
  const abc = '08616263'
  expect((await decode(stream(`0c${abc}1503`))).toString()).toBe('abcabcabcabc')
  expect((await decode(stream(`0c${abc}220300`))).toString()).toBe('abcabcabcabc')
  expect((await decode(stream(`0c${abc}2303000000`))).toString()).toBe('abcabcabcabc')
})

test('long literals say their length in the bytes that follow', async () => {
  const text = 'x'.repeat(300)
  const hex = Buffer.from(text).toString('hex')
  expect((await decode(stream(`ac02f42b01${hex}`))).toString()).toBe(text)
})

test('several streams one after another read as one', async () => {
  const one = stream('0308616263')
  expect((await decode(Buffer.concat([one, one]))).toString()).toBe('abcabc')
})

test('encoded data is decoded, in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 100_000 }), { maxLength: 3 }),
      fc.integer({ min: 1, max: 50_000 }),
      async (chunks, pieceBytes) => {
        const encoder = snappyEncoder()
        const encoded: Buffer[] = []
        for (const chunk of chunks) encoded.push(Buffer.from(await encoder.push(chunk)))
        encoded.push(Buffer.from(await encoder.end()))
        const decoded = await decode(Buffer.concat(encoded), pieceBytes)
        expect(decoded.equals(Buffer.concat(chunks))).toBe(true)
      },
    ),
    { numRuns: 40 },
  )
})

test('nonsense is refused', async () => {
  for (const block of [
    '0c',
    '0c0861',
    '0c086162630c',
    '0c086162631504',
    '0c08616263',
    'ffffffffff',
  ]) {
    await expect(decode(stream(block)), block).rejects.toThrow(MalformedError)
  }
  await expect(decode(stream('0308616263').subarray(0, -1))).rejects.toThrow(MalformedError)
})
