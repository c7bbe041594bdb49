import { runSeed } from './run-seed.ts'
import type { RunOptions, RunResult } from './run.ts'

const runsMax = 80

export interface Shrunk {
  readonly result: RunResult
  readonly steps: number
  readonly faults: number
  readonly runs: number
}

/** Leaves out steps and faults, larger parts first, as long as there is still a violation. */
export async function shrink(
  options: RunOptions & { readonly recipe?: string | undefined },
  failed: RunResult,
): Promise<Shrunk> {
  const steps = new Set<number>()
  const faults = new Set<number>()
  let result = failed
  let runs = 0
  const without = { steps, faults }
  for (const [left, total] of [
    [faults, failed.faults],
    [steps, failed.steps],
  ] as const) {
    for (
      let size = Math.ceil(total / 2);
      size >= 1 && runs < runsMax;
      size = Math.floor(size / 2)
    ) {
      for (let from = 0; from < total && runs < runsMax; from += size) {
        const added = range(from, Math.min(total, from + size)).filter((i) => !left.has(i))
        if (added.length === 0) continue
        for (const i of added) left.add(i)
        runs++
        const shorter = await runSeed({ ...options, without })
        if (shorter.violations.length > 0) result = shorter
        else for (const i of added) left.delete(i)
      }
    }
  }
  return {
    result,
    steps: failed.steps - steps.size,
    faults: failed.faults - faults.size,
    runs,
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}
