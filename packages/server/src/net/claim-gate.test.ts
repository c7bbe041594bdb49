import { expect, test } from 'vitest'
import { encode, encodeInitialMessage, encodePacket, LearnerInfo } from '@zabra/protocol'
import { ClaimGate, readElectionClaim, readLearnerClaim } from './claim-gate.ts'

const learnerInfo = encode(LearnerInfo, {
  serverId: 3n,
  protocolVersion: 0x10000,
  configVersion: 0n,
})
const election = encodeInitialMessage({ serverId: 3n, addresses: ['127.0.0.1:1'] })

/** A gate whose check answers when `answer` is called. */
function gate(read = readElectionClaim) {
  const received: number[] = []
  const refusals: string[] = []
  const claims: bigint[] = []
  let answer!: (problem: string | undefined) => void
  const checked = new Promise<string | undefined>((resolve) => (answer = resolve))
  const made = new ClaimGate({
    read,
    check: (server) => {
      claims.push(server)
      return checked
    },
    passed: () => ({ receive: (bytes, length) => received.push(...bytes.subarray(0, length)) }),
    refused: (reason) => refusals.push(reason),
  })
  const push = (bytes: Uint8Array): void => made.receive(bytes, bytes.length)
  const settle = async (problem?: string): Promise<void> => {
    answer(problem)
    await checked
  }
  return { push, settle, received, refusals, claims }
}

test.each([
  ['an initial message', readElectionClaim, election],
  ['FOLLOWERINFO', readLearnerClaim, encodePacket('followerInfo', 0n, learnerInfo)],
  ['OBSERVERINFO', readLearnerClaim, encodePacket('observerInfo', 0n, learnerInfo)],
])('%s that comes byte by byte is checked once, then passed on whole', async (_, read, bytes) => {
  const { push, settle, received, claims } = gate(read)
  for (const byte of bytes) push(Uint8Array.of(byte))
  push(Uint8Array.of(1, 2))
  expect(claims).toEqual([3n])
  expect(received).toEqual([])
  await settle()
  push(Uint8Array.of(3))
  expect(received).toEqual([...bytes, 1, 2, 3])
})

test('a refused claim passes nothing on, neither before nor after', async () => {
  const { push, settle, received, refusals } = gate()
  push(election)
  await settle('it is somebody else')
  push(Uint8Array.of(1))
  expect(refusals).toEqual(['it is somebody else'])
  expect(received).toEqual([])
})

test('a connection that sends too much before the check ends is refused, once', async () => {
  const { push, settle, received, refusals } = gate()
  push(election)
  push(new Uint8Array(64 * 1024))
  push(new Uint8Array(64 * 1024))
  await settle()
  expect(refusals).toEqual(['it sent too much before its id was checked'])
  expect(received).toEqual([])
})

test('bytes that are no claim are refused, or passed on for the core to refuse', () => {
  const malformed = gate()
  malformed.push(new Uint8Array(8).fill(0xfe))
  expect(malformed.refusals).toHaveLength(1)
  const another = gate(readLearnerClaim)
  const ping = encodePacket('ping', 0n)
  another.push(ping)
  expect(another.claims).toEqual([])
  expect(another.received).toEqual([...ping])
})
