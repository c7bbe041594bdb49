/** Tests of the simulator: runs are reproducible, correct servers pass, and mutants are found. */
import { expect, test } from 'vitest'
import type { Mutant } from './cluster/mutant.ts'
import { mutants, rareMutants } from './mutants/index.ts'
import { run } from './run.ts'
import { shrink } from './shrink.ts'
import { replace } from './mutants/inside.ts'
import { isVoid } from './mutants/verdict.ts'

const budgetMs = 20_000
const ensembleBudgetMs = 10_000
/** Only a run that never ends takes longer, also on a machine that does much else. */
const patienceMs = 600_000
/** As in `npm run sim:mutants`. */
const seedsMax = 300

async function expectGood(seed: number, servers?: number, isChanging?: boolean): Promise<void> {
  const { violations } = await run({ seed, servers, isChanging })
  const how =
    (servers === undefined ? '' : ` --servers ${servers}`) +
    (isChanging === true ? ' --changing' : '')
  expect(violations, `npm run sim -- --seed ${seed}${how}`).toEqual([])
}

test(
  'a seed plays out the same way twice',
  async () => {
    for (const [seed, servers, isChanging] of [
      [1, 1, false],
      [23, 1, false],
      [702, 1, false],
      [9, 3, false],
      [2, 5, false],
      [4, 3, true],
    ] as const) {
      const first = await run({ seed, servers, isChanging })
      const second = await run({ seed, servers, isChanging })
      expect(second.transcript.lines).toEqual(first.transcript.lines)
      expect(second.transcript.fingerprint).toBe(first.transcript.fingerprint)
    }
  },
  patienceMs,
)

// Each of these seeds once found a bug: see docs/found-bugs.md.
test.each([104, 550, 608, 656, 702, 2124, 2163, 5388, 5575, 794_772_619, 794_856_110])(
  'nothing is violated any more under seed %i',
  (seed) => expectGood(seed, 1),
)

test.each([55, 5013, 5095, 5210, 20_002, 40_128])(
  'nothing is violated any more by an ensemble under seed %i',
  (seed) => expectGood(seed, 3, false),
)

test.each([
  [1100, 5],
  [770_013, 5],
  [770_058, 5],
  [13_182, 3],
  [20_001_594, undefined],
  [20_006_166, undefined],
  [20_009_682, undefined],
  [20_010_046, undefined],
  [20_012_420, undefined],
  [5079, undefined],
  [5197, undefined],
  [50_002_571, undefined],
  [60_002_896, undefined],
  [61_011_948, undefined],
  [80_003_592, undefined],
  [82_009_410, undefined],
  [90_000_599, undefined],
  [94_019_560, undefined],
  [30_001_454, 3],
  [794_803_755, 3],
  [3_300_093, undefined],
  [311_003_515, undefined],
  [311_004_427, undefined],
  [311_005_935, undefined],
  [311_006_327, undefined],
  [311_006_631, undefined],
  [312_002_860, undefined],
  [312_005_682, undefined],
  [312_005_830, undefined],
  [312_006_167, undefined],
  [312_006_797, undefined],
])('nothing is violated any more, be it that members change, under seed %i', (seed, servers) =>
  expectGood(seed, servers, servers === undefined ? undefined : true),
)

test.each([
  [1, budgetMs, 'servers on their own', false],
  [3, ensembleBudgetMs, 'ensembles', false],
  [3, ensembleBudgetMs, 'ensembles that change', true],
] as const)(
  'nothing is violated under seeds that nobody has seen before, with %i servers',
  async (servers, forMs, what, isChanging) => {
    const first = Math.floor(Date.now() / 1000) % 1_000_000_000
    const until = Date.now() + forMs
    let seed = first
    for (; Date.now() < until; seed++) await expectGood(seed, servers, isChanging)
    console.log(`simulated the seeds ${first} to ${seed - 1}, ${what}`)
  },
  patienceMs,
)

test(
  'a failing run is cut down to less that still fails',
  async () => {
    const mutant = mutants.find(({ name }) => name === 'a failed multi does its first part')
    const options = { seed: 1, mutant }
    const failed = await run(options)
    expect(failed.violations).not.toEqual([])
    const { result, steps, faults } = await shrink(options, failed)
    expect(result.violations).not.toEqual([])
    expect(steps + faults).toBeLessThan(failed.steps + failed.faults)
  },
  patienceMs,
)

test.each(mutants.filter((_, i) => i % 5 === 0))(
  'caught: $name',
  async (mutant) => {
    let violations: readonly string[] = []
    for (let seed = 1; seed <= seedsMax && violations.length === 0; seed++) {
      violations = (await run({ seed, mutant })).violations
    }
    expect(violations).not.toEqual([])
    expect(violations.filter(isVoid)).toEqual([])
  },
  patienceMs,
)

test(
  'no mutant reaches for what is not there any more',
  async () => {
    for (const mutant of [...mutants, ...rareMutants]) {
      const { violations } = await run({ seed: 1, mutant })
      expect(violations.filter(isVoid), mutant.name).toEqual([])
    }
  },
  patienceMs,
)

test(
  'a mutant that reaches for what is not there any more does not count as caught',
  async () => {
    const gone: Mutant = {
      name: 'gone',
      servers: 3,
      joined: (peer) => replace(peer, 'noSuchMethod', (original) => original),
    }
    const { violations } = await run({ seed: 1, mutant: gone })
    expect(violations.map(isVoid)).toContain(true)
  },
  patienceMs,
)
