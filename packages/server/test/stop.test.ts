import { expect, test } from 'vitest'
import { runTrial } from './support/kill/trial.ts'
import { seedOf } from './support/random.ts'
import { inTemporaryFolder } from './support/server-process.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

test(`SIGTERM under load ends every connection and loses nothing (seed ${seed})`, async () => {
  const rounds = await inTemporaryFolder((dir) =>
    runTrial({ dir, seed, rounds: 2, ending: 'stop' }),
  )
  expect(rounds.flatMap(({ problems }) => problems)).toEqual([])
  expect(rounds.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(100)
}, 60_000)
