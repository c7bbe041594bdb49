import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Arena, type BlockRef } from './arena.ts'

const bounds = [1, 15, 16, 17, 255, 256, 257, 319, 320, 321, 4096, 1 << 20, (1 << 20) + 1, 3 << 20]

function read(arena: Arena, ref: BlockRef, length: number): Uint8Array {
  const start = arena.offsetOf(ref)
  return arena.bytesOf(ref).subarray(start, start + length)
}

test.each([...bounds, (1 << 22) - 16, 1 << 22, (1 << 22) + 1])(
  'a block of %i bytes holds what is stored in it',
  (length) => {
    const arena = new Arena()
    const content = new Uint8Array(length).map((_, i) => i * 31)
    const before = arena.store(Uint8Array.of(1, 2, 3))
    const ref = arena.store(content)
    const after = arena.store(Uint8Array.of(4, 5, 6))
    expect(Buffer.compare(read(arena, ref, length), content)).toBe(0)
    expect([...read(arena, before, 3)]).toEqual([1, 2, 3])
    expect([...read(arena, after, 3)]).toEqual([4, 5, 6])
  },
)

test('empty data takes no block', () => {
  const arena = new Arena()
  expect(arena.allocate(0)).toBe(0)
  arena.free(0, 0)
  expect(arena.allocate(1)).not.toBe(0)
})

test('a part of an array can be stored', () => {
  const arena = new Arena()
  const content = new Uint8Array(300).map((_, i) => i)
  expect([...read(arena, arena.storeView(new DataView(content.buffer), 10, 13), 3)]).toEqual([
    10, 11, 12,
  ])
  const ref = arena.storeView(new DataView(content.buffer), 50, 250)
  expect(Buffer.compare(read(arena, ref, 200), content.subarray(50, 250))).toBe(0)
})

test('blocks never overlap, whatever is allocated and freed', () => {
  const length = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 400 }) },
    { weight: 1, arbitrary: fc.constantFrom(...bounds) },
  )
  const steps = fc.array(fc.tuple(fc.boolean(), length, fc.nat()), { maxLength: 80 })
  fc.assert(
    fc.property(steps, (all) => {
      const arena = new Arena()
      const live: { ref: BlockRef; content: Uint8Array }[] = []
      for (const [isFree, bytes, pick] of all) {
        if (isFree && live.length > 0) {
          const [{ ref, content }] = live.splice(pick % live.length, 1) as [(typeof live)[0]]
          arena.free(ref, content.length)
        } else {
          const content = new Uint8Array(bytes).fill(1 + (pick % 255))
          live.push({ ref: arena.store(content), content })
        }
      }
      for (const { ref, content } of live) {
        expect(Buffer.compare(read(arena, ref, content.length), content)).toBe(0)
      }
    }),
    { numRuns: 60 },
  )
})

test('freed blocks are reused before new ones are made', () => {
  const arena = new Arena()
  const seen = new Set<BlockRef>()
  for (let round = 0; round < 50; round++) {
    const refs = Array.from({ length: 200 }, (_, i) => arena.allocate(500 + (i % 10)))
    for (const ref of refs) seen.add(ref)
    for (const [i, ref] of refs.entries()) arena.free(ref, 500 + (i % 10))
  }
  expect(seen.size).toBeLessThanOrEqual(400)
})

test('a large block frees its memory', () => {
  const arena = new Arena()
  const ref = arena.allocate(3 << 20)
  expect(arena.bytesOf(ref).length).toBeGreaterThan(3 << 20)
  arena.free(ref, 3 << 20)
  expect(arena.bytesOf(ref).length).toBe(0)
})
