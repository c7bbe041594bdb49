import { runPrograms } from './programs/run-programs.ts'
import { run, type RunKind, type RunOptions, type RunResult } from './run.ts'

/** The kind of runs of a command. */
export interface SeedKind extends RunKind {
  /** The workload of programs that use the client; `any` lets the seed choose. */
  readonly recipe?: string | undefined
  /** Each seed of a sweep runs twice, among others, and must play out the same way. */
  readonly isTwice?: boolean | undefined
}

/** One run of either kind. */
export function runSeed(
  options: SeedKind & Pick<RunOptions, 'seed' | 'without' | 'mutant'>,
): Promise<RunResult> {
  const { recipe, servers, seed, without } = options
  if (recipe === undefined) return run(options)
  return runPrograms({ seed, servers, without, workload: recipe === 'any' ? undefined : recipe })
}
