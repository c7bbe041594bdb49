import fc from 'fast-check'
import { expect, it } from 'vitest'
import { allZeros, zerosEnd } from './zeros.ts'

it('finds the first byte that is not zero, wherever stretch and byte lie', () => {
  const place = fc.nat(200)
  fc.assert(
    fc.property(fc.nat(7), place, place, place, (offset, a, b, at) => {
      const bytes = new Uint8Array(new ArrayBuffer(220), offset, 205)
      bytes[at] = 1
      const [start, end] = [Math.min(a, b), Math.max(a, b)]
      const isWithin = at >= start && at < end
      expect(zerosEnd(bytes, start, end)).toBe(isWithin ? at : end)
      expect(allZeros(bytes, start, end)).toBe(!isWithin)
    }),
    { numRuns: 2000 },
  )
})
