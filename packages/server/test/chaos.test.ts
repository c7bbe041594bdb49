import { expect, test } from 'vitest'
import { runChaos } from './support/chaos/trial.ts'
import { seedOf } from './support/random.ts'
import { inTemporaryFolder } from './support/server-process.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

test(`three servers, however they are hurt, agree on everything acknowledged (seed ${seed})`, async () => {
  const { problems, counts, bursts } = await inTemporaryFolder((dir) =>
    runChaos({ dir, seed, servers: 3, faultsMs: 8000, burstsPerRound: 3 }),
  )
  expect(problems).toEqual([])
  // A trial without faults or without writes proves nothing.
  expect(bursts).toBeGreaterThan(0)
  expect(counts.acknowledged).toBeGreaterThan(0)
  expect(counts.reads).toBeGreaterThan(0)
}, 120_000)
