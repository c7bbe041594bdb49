import { expect, test } from 'vitest'
import { besiege, heldGrowthMax } from './support/fuzz/siege.ts'
import { seedOf } from './support/random.ts'
import { inTemporaryFolder } from './support/server-process.ts'

const seed = seedOf(process.env['ZABRA_SEED'])

test(`hostile clients disturb nobody and leave nothing behind (seed ${seed})`, async () => {
  const result = await inTemporaryFolder((dir) =>
    besiege({ dir, seed, framesMax: 1_000_000, msMax: 5000 }),
  )
  expect(result.problems).toEqual([])
  expect(result.frames).toBeGreaterThan(1000)
  expect(result.served).toBeGreaterThan(10)
  expect(result.heldAfter - result.heldBefore).toBeLessThan(heldGrowthMax)
}, 90_000)
