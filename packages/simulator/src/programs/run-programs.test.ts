/**
 * Programs on the client and the recipes: no violation under faults, and deliberate errors are
 * found.
 */
import { expect, test } from 'vitest'
import { programMutants } from '../mutants/index.ts'
import { isVoid } from '../mutants/verdict.ts'
import { runPrograms } from './run-programs.ts'
import { workloads, type WorkloadName } from './workloads.ts'

const seedCount = 40
const names = Object.keys(workloads) as WorkloadName[]

async function expectGood(seed: number, workload?: WorkloadName): Promise<void> {
  const { violations } = await runPrograms({ seed, workload })
  const which = workload === undefined ? '--recipes' : `--recipe ${workload}`
  expect(violations, `npm run sim -- ${which} --seed ${seed}`).toEqual([])
}

test('a seed plays out the same way twice', async () => {
  for (const workload of ['client', 'lock', 'queue'] as const) {
    const first = await runPrograms({ seed: 7, workload })
    const second = await runPrograms({ seed: 7, workload })
    expect(second.transcript.lines).toEqual(first.transcript.lines)
  }
}, 60_000)

test.each(names)('nothing is violated by programs with %s', async (workload) => {
  for (const seed of [1, 2, 3]) await expectGood(seed, workload)
})

// Each of these seeds once found a bug: see docs/found-bugs.md.
test.each([
  [27, 'client'],
  [43, 'client'],
  [5, 'election'],
  [54, 'lock'],
  [1, 'double-barrier'],
  [20, 'double-barrier'],
  [11, 'group'],
  [39, 'group'],
  [27, 'simple-lock'],
  [33, 'tree-cache'],
  [498, 'counter'],
  [70_000_381, 'rendezvous'],
  [93_000_891, 'tree-cache'],
  [93_001_258, 'simple-lock'],
  [99_000_598, 'simple-lock'],
  [295, 'client'],
  [53, 'downgrade'],
] as const)('nothing is violated any more under seed %i with %s', expectGood)

test('nothing is violated under the first seeds', async () => {
  for (let seed = 1; seed <= seedCount; seed++) await expectGood(seed)
}, 120_000)

test.each(programMutants.filter((_, i) => i % 6 === 0))(
  'caught: $name',
  async (mutant) => {
    let violations: readonly string[] = []
    for (let seed = 1; seed <= 60 && violations.length === 0; seed++)
      violations = (await runPrograms({ seed, mutant })).violations
    expect(violations).not.toEqual([])
    expect(violations.filter(isVoid)).toEqual([])
  },
  60_000,
)

test('no mutant replaces a method that no longer exists', async () => {
  for (const mutant of programMutants) {
    const { violations } = await runPrograms({ seed: 1, mutant })
    expect(violations.filter(isVoid), mutant.name).toEqual([])
  }
}, 120_000)
