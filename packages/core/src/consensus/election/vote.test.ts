import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hierarchical, majority } from '../../membership/quorum.ts'
import { beats, sameVote, type Vote } from './vote.ts'

const quorum = majority({ voters: [1n, 2n, 3n] })
const small = fc.bigInt({ min: -1n, max: 3n })
const candidate = fc.record({ leader: small, zxid: small, peerEpoch: small })

test('of two different candidates exactly one is better', () => {
  fc.assert(
    fc.property(candidate, candidate, (one, other) => {
      const isSame =
        one.leader === other.leader && one.zxid === other.zxid && one.peerEpoch === other.peerEpoch
      expect(beats(one, other, quorum) !== beats(other, one, quorum)).toBe(!isSame)
    }),
  )
})

test('better than better is better', () => {
  fc.assert(
    fc.property(candidate, candidate, candidate, (a, b, c) => {
      fc.pre(beats(a, b, quorum) && beats(b, c, quorum))
      expect(beats(a, c, quorum)).toBe(true)
    }),
  )
})

test('the epoch decides before the zxid, and the zxid before the id', () => {
  const base = { leader: 2n, zxid: 5n, peerEpoch: 2n }
  expect(beats({ leader: 1n, zxid: 0n, peerEpoch: 3n }, base, quorum)).toBe(true)
  expect(beats({ leader: 1n, zxid: 6n, peerEpoch: 2n }, base, quorum)).toBe(true)
  expect(beats({ leader: 3n, zxid: 5n, peerEpoch: 2n }, base, quorum)).toBe(true)
  expect(beats({ leader: 3n, zxid: 4n, peerEpoch: 2n }, base, quorum)).toBe(false)
})

test('no server votes for one without weight', () => {
  const weighted = hierarchical({
    voters: [1n, 2n],
    groups: new Map([[1n, [1n, 2n]]]),
    weights: new Map([[2n, 0n]]),
  })
  const worst = { leader: 1n, zxid: 0n, peerEpoch: 0n }
  expect(beats({ leader: 2n, zxid: 9n, peerEpoch: 9n }, worst, weighted)).toBe(false)
  expect(beats({ leader: 9n, zxid: 9n, peerEpoch: 9n }, worst, weighted)).toBe(false)
})

const vote: Vote = {
  leader: 1n,
  zxid: 2n,
  peerEpoch: 3n,
  round: 4n,
  state: 'following',
  version: 2,
}

test('votes of servers that look are compared in full', () => {
  const looking: Vote = { ...vote, state: 'looking' }
  expect(sameVote(looking, vote)).toBe(true)
  for (const field of ['leader', 'zxid', 'peerEpoch', 'round']) {
    expect(sameVote(looking, { ...vote, [field]: 9n })).toBe(false)
    expect(sameVote({ ...vote, [field]: 9n }, looking)).toBe(false)
  }
})

test('votes of servers that have a leader are compared by leader and epoch', () => {
  expect(sameVote(vote, { ...vote, state: 'leading', zxid: 9n, round: 9n })).toBe(true)
  expect(sameVote(vote, { ...vote, leader: 9n })).toBe(false)
  expect(sameVote(vote, { ...vote, peerEpoch: 9n })).toBe(false)
})

test('a server of an old release does not keep the epoch up to date', () => {
  expect(sameVote(vote, { ...vote, peerEpoch: 9n, version: 0 })).toBe(true)
  expect(sameVote({ ...vote, version: 0 }, { ...vote, peerEpoch: 9n, version: 0 })).toBe(false)
})
