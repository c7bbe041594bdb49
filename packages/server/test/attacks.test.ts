/**
 * A part of each attack of `npm run test:attacks`: the well-behaved client gets every answer, the
 * server's memory stays bounded, and the limit that stops the attack is counted.
 */
import { describe, expect, test } from 'vitest'
import { attacks } from './support/attacks/attacks.ts'
import { tryAttack } from './support/attacks/trial.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { inTemporaryFolder } from './support/server-process.ts'

/** The maximum memory growth of a server during an attack. */
const rssGrowthMax = 700_000_000
const linesMax = 40

const short = attacks.filter(({ isInTests }) => isInTests === true)

describe('a well-behaved client is served, and memory stays bounded, under', () => {
  test.each(short.map((attack) => [attack.name, attack] as const))(
    '%s',
    async (_, attack) => {
      const result = await inTemporaryFolder((dir) =>
        tryAttack(dir, attack, { scale: 0.1, quietMs: 0, msMax: 40_000 }),
      )
      expect(result.problems).toEqual([])
      expect(result.during.requests).toBeGreaterThan(0)
      expect(result.rssMax - result.rssBefore).toBeLessThan(rssGrowthMax)
      expect(result.lines).toBeLessThan(linesMax)
    },
    90_000,
  )
})

test('a client with any number of identities does not cost its follower the leader', async () => {
  const ensemble = await EmbeddedEnsemble.start({})
  try {
    const { leader, followers } = ensemble
    const greedy = await ensemble.connect(followers[0]!)
    const modest = await ensemble.connect(followers[0]!)
    const auth = (i: number) => ({ type: 0, scheme: 'digest', auth: Buffer.from(`user-${i}:x`) })
    const proven = await Promise.allSettled(
      Array.from({ length: 5000 }, (_, i) => greedy.call('auth', auth(i))),
    )
    expect(proven.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(300)
    expect(greedy.isConnected).toBe(false)
    await modest.create('/after')
    expect(ensemble.leader).toBe(leader)
    expect(ensemble.server(followers[0]!).peer.stats.limitsReached.identities).toBe(1)
    // The maximum number of identities travels with a write, and the leader accepts them.
    const last = await ensemble.connect(followers[0]!)
    for (let i = 0; i < 255; i++) await last.must('auth', auth(i))
    await last.create('/with-many')
    expect(ensemble.leader).toBe(leader)
  } finally {
    await ensemble.dispose()
  }
}, 30_000)
