import { CodecMemory, Reader } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { ByteKeeper } from './byte-keeper.ts'

test('the reader of a copy has the memory of the original reader', () => {
  const keeper = new ByteKeeper()
  const reader = new Reader(new Uint8Array([1, 2, 3]))
  reader.memory = new CodecMemory()
  expect(keeper.keepRest(reader).memory).toBe(reader.memory)
  expect(keeper.keepRest(new Reader(new Uint8Array(1))).memory).toBeUndefined()
})
