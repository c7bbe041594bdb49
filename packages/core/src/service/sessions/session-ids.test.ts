import { containerOwner } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { SessionIds } from './session-ids.ts'

const unsigned = (id: bigint): bigint => BigInt.asUintN(64, id)

test('an id is the server, forty bits of a clock, and a counter', () => {
  const ids = new SessionIds(1, 0x0b044b)
  expect(ids.next()).toBe(0x0100000b044b0000n)
  expect(ids.next()).toBe(0x0100000b044b0001n)
})

test('only the low forty bits of the clock count', () => {
  expect(new SessionIds(2, 2 ** 40 + 5).next()).toBe(0x0200000000050000n)
  expect(new SessionIds(2, 5.9).next()).toBe(0x0200000000050000n)
})

test('ids of servers above 127 are negative numbers', () => {
  expect(unsigned(new SessionIds(254, 1).next())).toBe(0xfe00000000010000n)
})

test('the mark of containers is never handed out', () => {
  const ids = new SessionIds(128, 0)
  expect(unsigned(ids.next())).toBe(unsigned(containerOwner) + 1n)
})

test('an id that is known to be in use is passed over, with all before it', () => {
  const ids = new SessionIds(1, 1)
  ids.skip(0x0100000000010005n)
  expect(ids.next()).toBe(0x0100000000010006n)
})

test('ids of other servers, and older ones, change nothing', () => {
  const ids = new SessionIds(1, 1)
  ids.skip(0x0200000000010005n)
  ids.skip(0x0100000000000005n)
  ids.skip(BigInt.asIntN(64, 0xff00000000010005n))
  expect(ids.next()).toBe(0x0100000000010000n)
})

test('a clock that stood still between two starts repeats no id', () => {
  const used = [new SessionIds(3, 7), new SessionIds(200, 7)].flatMap((ids) => [
    ids.next(),
    ids.next(),
  ])
  for (const server of [3, 200]) {
    const again = new SessionIds(server, 7)
    for (const id of used) again.skip(id)
    expect(used).not.toContain(again.next())
  }
})

test('a clock that was set back leads into a range of its own, not on from a session that lives', () => {
  const before = new SessionIds(1, 9)
  const [alive, closed] = [before.next(), before.next()]
  const ids = new SessionIds(1, 8)
  ids.skip(alive)
  const handedOut = Array.from({ length: 65_537 }, () => ids.next())
  expect(handedOut[0]).toBe(0x0100000000080000n)
  expect(handedOut).not.toContain(alive)
  expect(closed).not.toBe(handedOut[1])
})
