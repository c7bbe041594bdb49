import { beforeEach, describe, expect, test } from 'vitest'
import { MemoryDisk } from '../../storage/disk/memory-disk.ts'
import { MembershipState } from '../../membership/membership-state.ts'
import { Discovery } from './discovery.ts'
import { Epochs } from '../../storage/epochs.ts'
import { parseMembership, type Membership } from '../../membership/membership.ts'

/** Where the history of the leader, server 2, ends. */
const end = 0x2_0000_0010n

let discovery: Discovery
let isAgreed: boolean

function members(version: string, ...ids: number[]): Membership {
  const lines = ids.map((id) => `server.${id}=host${id}:2888:3888:participant`)
  const parsed = parseMembership([...lines, `version=${version}`].join('\n'))
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

async function leading(committed: Membership, seen?: Membership): Promise<void> {
  const configs = new MembershipState(committed, { isEnabled: true })
  if (seen !== undefined) configs.see(seen)
  const disk = new MemoryDisk()
  await disk.makeDirectory('data')
  const epochs = await Epochs.load(disk, 'data', end)
  const fail = (error: Error): never => {
    throw error
  }
  discovery = new Discovery({ self: 2n, configs, epochs }, { epoch: 2n, zxid: end }, fail)
  void discovery.acknowledged.promise.then(() => {
    isAgreed = true
  })
}

/** Servers promise the epoch, whose histories end so much after ours; whether that is enough. */
async function promise(...servers: readonly (readonly [id: number, more: number])[]) {
  for (const [id, more] of servers) discovery.acknowledge(BigInt(id), 2n, end + BigInt(more))
  await Promise.resolve()
  return isAgreed
}

beforeEach(() => {
  isAgreed = false
})

test('a quorum that has no more than the leader is enough', async () => {
  await leading(members('100000000', 1, 2, 3))
  expect(await promise([2, 0])).toBe(false)
  expect(await promise([3, -5])).toBe(true)
})

test('who could lead and has more is not led', async () => {
  await leading(members('100000000', 1, 2, 3))
  await expect(promise([2, 0], [1, 1])).rejects.toThrow('server 1 has a longer history')
  await expect(promise([3, 1])).rejects.toThrow('server 3 has a longer history')
})

describe('who has a vote only in what is proposed, and has more', () => {
  const committed = members('100000000', 1, 2, 3)

  test('counts once it is certain that nothing of it was committed', async () => {
    await leading(committed, members('200000010', 3, 4))
    expect(await promise([2, 0], [1, 0])).toBe(false)
    // With server 3, which is yet to be heard of, it may have been.
    expect(await promise([4, 8])).toBe(false)
    expect(await promise([3, -4])).toBe(true)
  })

  test('counts once it is certain that what is proposed was not committed', async () => {
    await leading(committed, members('200000010', 2, 4, 5))
    expect(await promise([2, 0], [5, 8])).toBe(false)
    // Servers 2 and 3 may have agreed to it, and servers 4 and 5 to what came next.
    expect(await promise([1, -1])).toBe(false)
    expect(await promise([3, -1])).toBe(true)
  })

  test('does not count where others may have it as well', async () => {
    await leading(committed, members('200000010', 3, 4, 5))
    expect(await promise([2, 0], [1, 0], [3, 0], [4, 8])).toBe(false)
    expect(await promise([5, 8])).toBe(false)
  })

  test('does not keep others from being enough', async () => {
    await leading(committed, members('200000010', 3, 4, 5))
    expect(await promise([2, 0], [1, 0], [4, 8], [3, 0])).toBe(false)
    expect(await promise([5, 0])).toBe(true)
  })

  test('does not make up for who could lead', async () => {
    await leading(committed, members('200000010', 3, 4))
    await expect(promise([2, 0], [4, 8], [3, 1])).rejects.toThrow('server 3 has a longer history')
  })
})
