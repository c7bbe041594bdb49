import {
  settingsOf,
  type FaultName,
  type Scenario,
  type Settings,
  type SimulateOptions,
  type SimulationResult,
} from './options.ts'
import { isSame, type Problem } from './problem.ts'
import { runOnce, type Outcome, type ScenarioOf } from './run.ts'
import { failure, notDeterministic } from './simulation-error.ts'
import { useVirtualGlobals } from './virtual/node-globals.ts'

/** The maximum number of runs for shrinking a failure. */
const shorterRunsMax = 40

/**
 * Runs your unchanged programs on real servers in this process, under virtual time and faults, once
 * for each seed. A seed does the same in every run.
 *
 * Rejects with a `SimulationError` as soon as a check fails, a program throws, leaves a rejection
 * unhandled or does not end. The error has the seed, a trace, and how to replay it.
 *
 *     await simulate({ seeds: 100, faults: ['cut', 'pause', 'crash'] }, ({ program, check }) => {
 *       const tokens: bigint[] = []
 *       program(3, async ({ client, signal, sleep }) => {
 *         const lock = new Lock(client, '/lock')
 *         while (!signal.aborted) {
 *           await using held = await lock.acquire({ signal })
 *           tokens.push(held.token)
 *           await sleep(50)
 *         }
 *       })
 *       check('tokens grow', () => tokens.every((token, i) => i === 0 || token > tokens[i - 1]!))
 *     })
 */
export async function simulate(
  options: SimulateOptions,
  scenario: (scenario: Scenario) => void,
): Promise<SimulationResult> {
  const settings = settingsOf(options)
  const { signal, onRun } = options
  const faults = new Map<FaultName, number>()
  let [runs, virtualMs] = [0, 0]
  const restore = useVirtualGlobals()
  try {
    for (const seed of settings.seeds) {
      signal?.throwIfAborted()
      const outcome = await runOnce(scenario, settings, seed)
      // Only the first successful seed runs twice: programs that differ between runs differ there.
      if (runs === 0 || outcome.problem !== undefined) await mustRepeat(scenario, settings, outcome)
      if (outcome.problem !== undefined)
        throw await explain(scenario, settings, outcome, outcome.problem)
      runs++
      virtualMs += outcome.virtualMs
      for (const [name, count] of outcome.counts) faults.set(name, (faults.get(name) ?? 0) + count)
      onRun?.({ seed, virtualMs: outcome.virtualMs, trace: outcome.trace })
    }
  } finally {
    restore()
  }
  return { runs, virtualMs, faults: Object.fromEntries(faults) }
}

async function mustRepeat(
  scenario: ScenarioOf,
  settings: Settings,
  { seed, fullTrace }: Outcome,
): Promise<void> {
  const again = await runOnce(scenario, settings, seed)
  const isEqual =
    again.fullTrace.length === fullTrace.length &&
    again.fullTrace.every((line, i) => line === fullTrace[i])
  if (!isEqual) throw notDeterministic(seed, fullTrace, again.fullTrace)
}

/** Leaves out faults, as long as the run fails in the same way. */
async function explain(
  scenario: ScenarioOf,
  settings: Settings,
  found: Outcome,
  problem: Problem,
): Promise<Error> {
  const without = new Set<number>()
  let shortest = found
  let runs = 0
  for (const fault of found.faults.toReversed()) {
    if (++runs > shorterRunsMax) break
    without.add(fault)
    const shorter = await runOnce(scenario, settings, found.seed, without)
    if (shorter.problem !== undefined && isSame(problem, shorter.problem)) shortest = shorter
    else without.delete(fault)
  }
  return failure(shortest.problem ?? problem, shortest, found.faults.length)
}
