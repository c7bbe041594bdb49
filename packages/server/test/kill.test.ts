import { expect, test } from 'vitest'
import { runTrial } from './support/kill/trial.ts'
import { seedOf } from './support/random.ts'
import { inTemporaryFolder } from './support/server-process.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

test(`a server killed at any moment loses nothing it acknowledged (seed ${seed})`, async () => {
  const rounds = await inTemporaryFolder((dir) =>
    runTrial({ dir, seed, rounds: 6, ending: 'kill' }),
  )
  expect(rounds.flatMap(({ problems }) => problems)).toEqual([])
  expect(rounds).toHaveLength(6)
  // A trial without writes or without lost replies proves nothing.
  expect(rounds.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(100)
  expect(rounds.reduce((sum, { unanswered }) => sum + unanswered, 0)).toBeGreaterThan(0)
}, 120_000)
