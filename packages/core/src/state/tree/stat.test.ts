import fc from 'fast-check'
import { expect, test } from 'vitest'
import { field, statWireBytes } from './layout.ts'
import { creationChecksum, raiseChildCounter, stampCreation, statChecksum } from './stat.ts'

const anyLong = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })
const anyInt = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const anyStat = fc
  .uint8Array({ minLength: statWireBytes, maxLength: statWireBytes })
  .map((bytes) => new DataView(new Uint8Array(bytes).buffer))

test('a new node has the checksum of its stat, in any order of zxids and times', () => {
  // Few values of each, so that values and halves repeat.
  const zxid = fc.tuple(fc.integer({ min: 0, max: 2 }), anyInt).map(longOf)
  const time = fc.oneof(fc.constantFrom(1n, 1_700_000_000_000n), anyLong)
  fc.assert(
    fc.property(fc.array(fc.tuple(zxid, time, anyInt, anyStat), { maxLength: 20 }), (all) => {
      for (const [each, at, seed, stat] of all) {
        stampCreation(stat, 0, each, at)
        expect(creationChecksum(each, at, seed)).toBe(statChecksum(stat, 0, seed))
      }
    }),
  )
})

test('a stamp overwrites everything except the fields about the data', () => {
  fc.assert(
    fc.property(anyStat, anyLong, anyLong, (stat, zxid, time) => {
      const dataLength = stat.getInt32(field.dataLength)
      stampCreation(stat, 0, zxid, time)
      const expected = new DataView(new ArrayBuffer(statWireBytes))
      for (const at of [field.czxid, field.mzxid, field.pzxid]) expected.setBigInt64(at, zxid)
      for (const at of [field.ctime, field.mtime]) expected.setBigInt64(at, time)
      expected.setInt32(field.dataLength, dataLength)
      expect(stat).toEqual(expected)
    }),
  )
})

test('a raised counter and pzxid change the digest by their difference only', () => {
  fc.assert(
    fc.property(
      anyStat,
      anyInt,
      anyInt,
      anyLong,
      fc.boolean(),
      (stat, seed, count, far, isNear) => {
        const digest = statChecksum(stat, 0, seed)
        const before = stat.getBigInt64(field.pzxid)
        const zxid = isNear
          ? BigInt.asIntN(64, ((before >> 32n) << 32n) | (far & 0xffffffffn))
          : far
        const raised = raiseChildCounter(stat, 0, count, zxid, digest)
        expect(stat.getInt32(field.cversion)).toBe(count)
        expect(stat.getBigInt64(field.pzxid)).toBe(zxid)
        const hasSameHigh = before >> 32n === zxid >> 32n
        expect(raised).toBe(hasSameHigh ? statChecksum(stat, 0, seed) : undefined)
      },
    ),
  )
})

function longOf([high, low]: readonly [number, number]): bigint {
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}
