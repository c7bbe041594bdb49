import { describe, expect, test } from 'vitest'
import { MembershipState } from '../../membership/membership-state.ts'
import { Discovery } from './discovery.ts'
import { parseMembership, type Membership } from '../../membership/membership.ts'

/** Where the history of the leader, server 2, ends. */
const end = 0x2_0000_0010n

let discovery: Discovery

function members(version: string, ...ids: number[]): Membership {
  const lines = ids.map((id) => `server.${id}=host${id}:2888:3888:participant`)
  const parsed = parseMembership([...lines, `version=${version}`].join('\n'))
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

function leading(committed: Membership, seen?: Membership): void {
  const configs = new MembershipState(committed, { isEnabled: true })
  if (seen !== undefined) configs.see(seen)
  discovery = new Discovery({ self: 2n, configs }, { epoch: 2n, zxid: end })
}

/** Servers promise the epoch, whose histories end so much after ours; whether that is enough. */
function promise(...servers: readonly (readonly [id: number, more: number])[]): boolean {
  for (const [id, more] of servers) discovery.acknowledge(BigInt(id), 2n, end + BigInt(more))
  return discovery.isPromised
}

test('a quorum that has no more than the leader is enough', () => {
  leading(members('100000000', 1, 2, 3))
  expect(promise([2, 0])).toBe(false)
  expect(promise([3, -5])).toBe(true)
})

test('a server that could lead and has more is refused', () => {
  leading(members('100000000', 1, 2, 3))
  expect(() => promise([2, 0], [1, 1])).toThrow('server 1 has a longer history')
  expect(() => promise([3, 1])).toThrow('server 3 has a longer history')
})

describe('a server with a vote only in the proposed configuration, and more history', () => {
  const committed = members('100000000', 1, 2, 3)

  test('counts once it is certain that nothing of it was committed', () => {
    leading(committed, members('200000010', 3, 4))
    expect(promise([2, 0], [1, 0])).toBe(false)
    // With server 3, which is yet to be heard of, it may have been.
    expect(promise([4, 8])).toBe(false)
    expect(promise([3, -4])).toBe(true)
  })

  test('counts once it is certain that the configuration was not committed', () => {
    leading(committed, members('200000010', 2, 4, 5))
    expect(promise([2, 0], [5, 8])).toBe(false)
    // Servers 2 and 3 may have agreed to it, and servers 4 and 5 to what came next.
    expect(promise([1, -1])).toBe(false)
    expect(promise([3, -1])).toBe(true)
  })

  test('does not count if others may have the configuration as well', () => {
    leading(committed, members('200000010', 3, 4, 5))
    expect(promise([2, 0], [1, 0], [3, 0], [4, 8])).toBe(false)
    expect(promise([5, 8])).toBe(false)
  })

  test('does not keep others from being enough', () => {
    leading(committed, members('200000010', 3, 4, 5))
    expect(promise([2, 0], [1, 0], [4, 8], [3, 0])).toBe(false)
    expect(promise([5, 0])).toBe(true)
  })

  test('does not replace a voter that could lead', () => {
    leading(committed, members('200000010', 3, 4))
    expect(() => promise([2, 0], [4, 8], [3, 1])).toThrow('server 3 has a longer history')
  })
})
