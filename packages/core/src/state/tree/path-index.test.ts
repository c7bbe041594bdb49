import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PathIndex } from './path-index.ts'

const idsMax = 400

/** An index, and the content it should have. */
class Indexed {
  readonly hashes = new Map<number, number>()
  readonly index = new PathIndex()

  insert(id: number, hash: number): void {
    this.index.insert(id, hash)
    this.hashes.set(id, hash)
  }

  remove(id: number): void {
    this.index.remove(id, this.hashes.get(id)!)
    this.hashes.delete(id)
  }

  found(hash: number): number[] {
    const ids: number[] = []
    for (let id = this.index.first(hash); id !== 0; id = this.index.next(id, hash)) ids.push(id)
    return ids.toSorted((a, b) => a - b)
  }

  expected(hash: number): number[] {
    return [...this.hashes].filter(([, other]) => other === hash).map(([id]) => id)
  }
}

/**
 * Some hashes are equal, some share a bucket until it splits, and 0 is also the mark of an empty
 * slot.
 */
const hash = fc.oneof(
  fc.constantFrom(0, -1, 1, 0x10, 0x110, 0x1110),
  fc.integer({ min: -40, max: 40 }),
  fc.integer(),
)

test('finds all nodes with a hash and no others, however it grows and shrinks', () => {
  const steps = fc.array(fc.tuple(fc.nat(9), fc.nat(), hash), { maxLength: idsMax - 1 })
  fc.assert(
    fc.property(steps, fc.nat(300), (all, reserved) => {
      const indexed = new Indexed()
      const asked = new Set([0, ...all.map(([, , each]) => each)])
      let ids = 0
      for (const [kind, pick, each] of all) {
        if (ids === 3) indexed.index.reserve(reserved)
        const live = [...indexed.hashes.keys()]
        if (kind < 3 && live.length > 0) indexed.remove(live[pick % live.length]!)
        else indexed.insert(++ids, each)
      }
      for (const each of asked) {
        expect(indexed.found(each)).toEqual(indexed.expected(each).toSorted((a, b) => a - b))
      }
    }),
    { numRuns: 300 },
  )
})

test('finds each of many nodes, beyond the first blocks, while nodes come and go', () => {
  const index = new PathIndex()
  const hashOf = (id: number): number => Math.imul(id, 0x9e3779b1)
  const count = 60_000
  for (let id = 1; id <= count; id++) index.insert(id, hashOf(id))
  for (let id = 1; id <= count; id += 2) index.remove(id, hashOf(id))
  for (let id = count + 1; id <= 2 * count; id++) index.insert(id, hashOf(id))
  let wrong = 0
  for (let id = 1; id <= 2 * count; id++) {
    const isThere = id > count || id % 2 === 0
    if (index.first(hashOf(id)) !== (isThere ? id : 0)) wrong++
  }
  expect(wrong).toBe(0)
})

test('loses no node if many buckets need a second and a third spill', () => {
  let lost = 0
  for (let round = 0; round < 100; round++) {
    const index = new PathIndex()
    // Spread at random, as the hashes of paths are, not evenly.
    let state = Math.imul(round + 1, 0x9e3779b1)
    const hashes = Array.from({ length: 6000 }, () => {
      state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
      state = Math.imul(state ^ (state >>> 12), 0x297a2d39) + 0x6d2b79f5
      return state | 0
    })
    for (const [i, each] of hashes.entries()) index.insert(i + 1, each)
    for (const [i, each] of hashes.entries()) if (i % 3 === 0) index.remove(i + 1, each)
    for (const [i, each] of hashes.entries()) if (i % 3 === 0) index.insert(i + 1, each)
    for (const [i, each] of hashes.entries()) {
      let id = index.first(each)
      while (id !== 0 && id !== i + 1) id = index.next(id, each)
      if (id === 0) lost++
    }
  }
  expect(lost).toBe(0)
})
