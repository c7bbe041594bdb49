import type { Problem } from './problem.ts'
import { isFault, isOfProgram, type Outcome } from './run.ts'

const linesShown = 60
/** The last lines, and those right before a fault, are never left out. */
const lastLines = 20
const linesBeforeFault = 4

/**
 * The failure of a simulation: its seed, and the trace of the run.
 *
 *     const found = await simulate({ seeds: 100 }, scenario).catch((error: unknown) => error)
 *     if (found instanceof SimulationError) console.log(found.message)
 */
export class SimulationError extends Error {
  override readonly name = 'SimulationError'
  /** Pass it to `simulate` as `seed` to replay the run. */
  readonly seed: number
  /** The trace of the run, line by line, with as few faults as possible. */
  readonly trace: readonly string[]

  constructor(seed: number, message: string, trace: readonly string[], cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.seed = seed
    this.trace = trace
  }
}

export function failure(problem: Problem, outcome: Outcome, faultsBefore: number): SimulationError {
  const { seed, trace, faults } = outcome
  const needed =
    faultsBefore === 0
      ? 'without any fault'
      : `with ${faults.length} of the ${faultsBefore} faults of this seed`
  const message = [
    `seed ${seed}: ${problem.message}`,
    '',
    `What happened, ${needed}; times are virtual milliseconds, and error.trace has every line:`,
    '',
    ...shorten(trace).map((line) => `  ${line}`),
    '',
    `To replay it: simulate({ seed: ${seed}, ... }), with the same other options.`,
  ].join('\n')
  return new SimulationError(seed, message, trace, problem.cause)
}

/** Leaves out early lines of programs that do not lead to a fault. */
function shorten(trace: readonly string[]): string[] {
  const lines: string[] = []
  let left = 0
  const isShown = (line: string, i: number): boolean =>
    i >= trace.length - lastLines ||
    !isOfProgram(line) ||
    trace.slice(i, i + linesBeforeFault).some(isFault)
  for (const [i, line] of trace.entries()) {
    if (isShown(line, i)) {
      if (left > 0) lines.push(`${' '.repeat(12)}(${left} more)`)
      left = 0
      lines.push(line)
    } else left++
  }
  return lines.slice(-linesShown)
}

/** Two runs of the same seed differ. */
export function notDeterministic(
  seed: number,
  first: readonly string[],
  second: readonly string[],
): SimulationError {
  const at = first.findIndex((line, i) => line !== second[i])
  const where = at === -1 ? first.length : at
  const message = [
    `seed ${seed}: the programs are not deterministic: the same seed went two ways`,
    '',
    ...first.slice(Math.max(0, where - 5), where).map((line) => `  both    ${line}`),
    `  first   ${first[where] ?? '(the end)'}`,
    `  second  ${second[where] ?? '(the end)'}`,
    '',
    'Usual reasons: state outside of the scenario that one run leaves for the next; real I/O, such',
    'as asynchronous file access; clocks or random numbers that were kept before the simulation',
    'began, or that come from native code.',
  ].join('\n')
  return new SimulationError(seed, message, second)
}
