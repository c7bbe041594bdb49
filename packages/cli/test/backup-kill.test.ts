import { expect, test } from 'vitest'
import { seedOf } from '../../server/test/support/random.ts'
import { inTemporaryFolder } from '../../server/test/support/server-process.ts'
import { runBackupTrial } from './support/backup/trial.ts'
import { zabraCommand } from './support/program.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

// `npm run test:backup` does the same for longer, and more.
test(`backups of an ensemble whose servers are killed restore what was there (seed ${seed})`, async () => {
  const result = await inTemporaryFolder((dir) =>
    runBackupTrial({ dir, seed, ms: 8000, points: 20, flips: 8, program: zabraCommand }),
  )
  expect(result.problems).toEqual([])
  // A trial without kills and backups has shown nothing.
  expect(result.serverKills).toBeGreaterThan(0)
  expect(result.backups).toBeGreaterThan(1)
  expect(result.transactions).toBeGreaterThan(50)
  expect(result.zxidsCompared).toBe(20)
  expect(result.flipsFound).toBe(8)
}, 180_000)
