import { runPrograms } from './programs/run-programs.ts'
import { run, type RunKind, type RunOptions, type RunResult } from './run.ts'

/** What the runs of a command are of. */
export interface SeedKind extends RunKind {
  /** Of programs that use the client, with this workload; `any` leaves that to the seed. */
  readonly recipe?: string | undefined
}

/** One run of either kind. */
export function runSeed(
  options: SeedKind & Pick<RunOptions, 'seed' | 'without' | 'mutant'>,
): Promise<RunResult> {
  const { recipe, servers, seed, without } = options
  if (recipe === undefined) return run(options)
  return runPrograms({ seed, servers, without, workload: recipe === 'any' ? undefined : recipe })
}
