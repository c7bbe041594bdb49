import fc from 'fast-check'
import { expect, test } from 'vitest'
import { combine, hierarchical, majority, type QuorumVerifier } from './quorum.ts'

const set = (...servers: number[]): Set<bigint> => new Set(servers.map(BigInt))
const idsMax = 9

const someServers = fc
  .uniqueArray(fc.bigInt({ min: 0n, max: BigInt(idsMax) }), { minLength: 1 })
  .map((servers) => new Set(servers))

const someMajority = fc
  .record({ voters: someServers, version: fc.bigInt({ min: 0n, max: 9n }) })
  .map(majority)

/** The first list puts each voter into one of three groups; the second has the weights. */
const someHierarchy = fc
  .record({
    voters: someServers,
    groupOf: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 10, maxLength: 10 }),
    weightOf: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 10, maxLength: 10 }),
    version: fc.bigInt({ min: 0n, max: 9n }),
  })
  .map(({ voters, groupOf, weightOf, version }) => {
    const groups = [0, 1, 2].map((group): [bigint, bigint[]] => [
      BigInt(group),
      [...voters].filter((voter) => groupOf[Number(voter)] === group),
    ])
    const weights = [...voters].map((voter): [bigint, bigint] => [
      voter,
      BigInt(weightOf[Number(voter)]!),
    ])
    return hierarchical({ voters, groups: new Map(groups), weights: new Map(weights), version })
  })

const single = fc.oneof(someMajority, someHierarchy)
const someVerifier: fc.Arbitrary<QuorumVerifier> = fc.oneof(
  single,
  fc.tuple(single, single).map(([committed, lastSeen]) => combine(committed, lastSeen)),
)

const subset = fc
  .uniqueArray(fc.bigInt({ min: 0n, max: BigInt(idsMax) }))
  .map((servers) => new Set(servers))

test('two quorums always have a voter in common', () => {
  fc.assert(
    fc.property(someVerifier, subset, subset, (verifier, one, other) => {
      fc.pre(verifier.isQuorum(one) && verifier.isQuorum(other))
      expect([...one].some((server) => other.has(server) && verifier.voters.has(server))).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('the rest of a quorum is never a quorum', () => {
  fc.assert(
    fc.property(someVerifier, subset, (verifier, acks) => {
      fc.pre(verifier.isQuorum(acks))
      const others = [...verifier.voters].filter((server) => !acks.has(server))
      expect(verifier.isQuorum(new Set(others))).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test('more servers never undo a quorum, and servers without a vote never make one', () => {
  fc.assert(
    fc.property(someVerifier, subset, subset, (verifier, acks, more) => {
      const voting = new Set([...acks].filter((server) => verifier.voters.has(server)))
      expect(verifier.isQuorum(acks)).toBe(verifier.isQuorum(voting))
      if (verifier.isQuorum(acks)) {
        expect(verifier.isQuorum(new Set([...acks, ...more]))).toBe(true)
      }
    }),
  )
})

test('the empty set is not a quorum', () => {
  fc.assert(
    fc.property(someVerifier, (verifier) => {
      expect(verifier.isQuorum(set())).toBe(false)
    }),
  )
})

test.each([
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 3],
  [5, 3],
])('of %i voters, %i are a majority', (voters, needed) => {
  const ids = Array.from({ length: voters }, (_, id) => id)
  const verifier = majority({ voters: set(...ids) })
  expect(verifier.isQuorum(set(...ids.slice(0, needed)))).toBe(true)
  expect(verifier.isQuorum(set(...ids.slice(0, needed - 1)))).toBe(false)
})

test('a hierarchy needs most of the weight in most of the groups', () => {
  const verifier = hierarchical({
    voters: set(1, 2, 3, 4, 5, 6, 7, 8, 9),
    groups: new Map([
      [1n, [1n, 2n, 3n]],
      [2n, [4n, 5n, 6n]],
      [3n, [7n, 8n, 9n]],
    ]),
    weights: new Map(),
  })
  expect(verifier.isQuorum(set(1, 2, 4, 5))).toBe(true)
  expect(verifier.isQuorum(set(1, 2, 3, 4, 7))).toBe(false)
})

test('a heavy server counts for several, a weightless one for none', () => {
  const verifier = hierarchical({
    voters: set(1, 2, 3),
    groups: new Map([[1n, [1n, 2n, 3n]]]),
    weights: new Map([
      [1n, 3n],
      [3n, 0n],
    ]),
  })
  expect(verifier.isQuorum(set(1))).toBe(true)
  expect(verifier.isQuorum(set(2, 3))).toBe(false)
  expect(verifier.weight(3n)).toBe(0n)
  expect(verifier.weight(7n)).toBe(0n)
})

test('a group without weight is not counted', () => {
  const verifier = hierarchical({
    voters: set(1, 2, 3, 4),
    groups: new Map([
      [1n, [1n, 2n]],
      [2n, [3n, 4n]],
    ]),
    weights: new Map([
      [3n, 0n],
      [4n, 0n],
    ]),
  })
  expect(verifier.isQuorum(set(1, 2))).toBe(true)
})

test('a newer configuration must agree as well, an older one need not', () => {
  const old = majority({ voters: set(1, 2, 3), version: 1n })
  const next = majority({ voters: set(3, 4, 5), version: 2n })
  const both = combine(old, next)
  expect(both.isQuorum(set(1, 2))).toBe(false)
  expect(both.isQuorum(set(2, 3, 4))).toBe(true)
  expect(both.voters).toEqual(set(1, 2, 3, 4, 5))
  expect(combine(next, old)).toBe(next)
  expect(combine(old)).toBe(old)
})
