import type { RunResult } from './run.ts'
import { hash } from './world/random.ts'

/** All that must be equal when a seed runs again. */
export function traceOf({ transcript, counts, violations }: RunResult): string {
  const numbers = [...counts].map(([what, count]) => `${what} ${count}`).join('\n')
  const parts = [transcript.fingerprint, hash(numbers), hash(violations.join('\n'))]
  return parts.map((part) => part.toString(16)).join(' ')
}

/**
 * Runs each seed twice in one process, the second time in the opposite order: each follows other
 * seeds than before. Yields the seeds with whether both runs were equal. If not, something survives
 * a run, such as a cache or a counter of a module.
 */
export async function* runTwice<Result extends RunResult>(
  seeds: readonly number[],
  runOne: (seed: number) => Promise<Result>,
): AsyncGenerator<{ readonly result: Result; readonly isSame: boolean }> {
  const traces = new Map<number, string>()
  for (const seed of seeds) traces.set(seed, traceOf(await runOne(seed)))
  for (const seed of seeds.toReversed()) {
    const result = await runOne(seed)
    yield { result, isSame: traceOf(result) === traces.get(seed) }
  }
}
