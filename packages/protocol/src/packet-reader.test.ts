import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encode } from './codec.ts'
import { MalformedError } from './malformed.ts'
import { PacketReader } from './packet-reader.ts'
import { encodePacket, QuorumPacket } from './records/quorum.ts'

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

function all(reader: PacketReader): QuorumPacket[] {
  const packets: QuorumPacket[] = []
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
    packets.push(packet)
  }
  return packets
}

const somePacket = fc.record({
  type: fc.integer({ min: 1, max: 19 }),
  zxid: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  data: fc.option(fc.uint8Array({ maxLength: 9000 })),
  authinfo: fc.option(
    fc.array(fc.record({ scheme: fc.option(fc.string()), id: fc.option(fc.string()) })),
  ),
})

test('packets survive a round trip, wherever the stream is cut', () => {
  fc.assert(
    fc.property(
      fc.array(somePacket, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1 }),
      (packets, cuts) => {
        const stream = Buffer.concat(packets.map((packet) => encode(QuorumPacket, packet)))
        const reader = new PacketReader()
        const read: QuorumPacket[] = []
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const end = at + cuts[turn % cuts.length]!
          const chunk = Uint8Array.from(stream.subarray(at, end))
          reader.push(chunk)
          chunk.fill(0xee)
          read.push(...all(reader))
          at = end
        }
        expect(Buffer.concat(read.map((packet) => encode(QuorumPacket, packet)))).toEqual(stream)
        expect(reader.keptBytes).toBe(0)
      },
    ),
  )
})

test('a packet with very many identities is read in any number of pieces, at linear cost', () => {
  const authinfo = Array.from({ length: 50_000 }, (_, i) => ({ scheme: 'digest', id: `user-${i}` }))
  const bytes = encodePacket('request', 1n, unhex('01'), authinfo)
  const reader = new PacketReader()
  let looked = 0
  const intAt = Reflect.get(reader, 'intAt') as (position: number) => number
  Reflect.set(reader, 'intAt', (position: number) => (looked++, intAt.call(reader, position)))
  for (let at = 0; at < bytes.length; at += 1000) {
    expect(reader.next()).toBeUndefined()
    reader.push(bytes.subarray(at, at + 1000))
  }
  expect(reader.next()?.authinfo).toHaveLength(50_000)
  expect(looked).toBeLessThan(5 * authinfo.length)
})

test('a returned packet does not change while later ones arrive', () => {
  const reader = new PacketReader()
  reader.push(encodePacket('proposal', 1n, unhex('0101')))
  const first = reader.next()!
  reader.push(encodePacket('proposal', 2n, unhex('0202')))
  reader.next()
  expect(first.data).toEqual(Uint8Array.of(1, 1))
})

test('a snapshot passes through raw, and packets continue after it', () => {
  const snap = encodePacket('snap', 5n)
  const snapshot = unhex('00000000 ffffffff 7fffffff')
  const after = encodePacket('newLeader', 6n)
  const reader = new PacketReader()
  reader.push(Buffer.concat([snap, snapshot.subarray(0, 5)]))
  expect(reader.next()).toMatchObject({ type: 15 })
  const head = reader.takeRaw()
  reader.push(Buffer.concat([snapshot.subarray(5), after.subarray(0, 3)]))
  const tail = reader.takeRaw()
  expect(Buffer.concat([head, tail]).subarray(0, snapshot.length)).toEqual(snapshot)
  reader.push(after.subarray(3))
  reader.unread(tail.subarray(snapshot.length - head.length))
  expect(reader.next()).toMatchObject({ type: 10, zxid: 6n })
  expect(reader.next()).toBeUndefined()
})

test.each([
  ['data longer than allowed', '00000002 0000000000000001 00000401'],
  ['a negative length', '00000002 0000000000000001 fffffffe'],
  ['too many identities', '00000002 0000000000000001 ffffffff 00800001'],
  ['an identity longer than allowed', '00000002 0000000000000001 ffffffff 00000001 00000401'],
])('%s is refused as soon as it is announced', (_, hex) => {
  const reader = new PacketReader(1024)
  reader.push(Buffer.concat([unhex(hex), Buffer.alloc(8)]))
  expect(() => reader.next()).toThrow(MalformedError)
})
