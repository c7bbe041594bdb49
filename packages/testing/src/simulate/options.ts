import type { Client, ClientOptions } from '@zabra/client'
import { checkOptionNames } from '@zabra/client/internal'

/**
 * The faults of a run:
 *
 * - `cut`: connections are reset, also in the middle of a message; bytes do not arrive, in one
 *   direction or both; servers do not reach each other
 * - `pause`: a program or a server pauses, as in a long garbage collection
 * - `crash`: a program or a server is killed or loses power, and starts again
 * - `slow`: the network or a disk is many times slower for a while
 * - `loseDisk`: a server of an ensemble comes back with an empty disk
 * - `expire`: the servers end the session of a program
 */
export type FaultName = 'cut' | 'pause' | 'crash' | 'slow' | 'loseDisk' | 'expire'

/** Several seeds: both ends are included. */
export interface SeedRange {
  readonly first: number
  readonly last: number
}

export interface SimulateOptions {
  /** The number of seeds to run, from 1 on, or the seeds themselves. 20 by default. */
  readonly seeds?: number | readonly number[] | SeedRange | undefined
  /** Run only this seed, to replay a failure. */
  readonly seed?: number | undefined
  /** The number of servers: 1, or an ensemble of 3, 5 or 7. 3 by default. */
  readonly servers?: 1 | 3 | 5 | 7 | undefined
  /** The faults that may happen: all by default, none with an empty list. */
  readonly faults?: readonly FaultName[] | undefined
  /** How long faults happen, in virtual time. 10 s by default. */
  readonly durationMs?: number | undefined
  /**
   * How long programs continue after everything has healed, before their `signal` aborts. 2 s by
   * default.
   */
  readonly calmMs?: number | undefined
  /** How long a program may take to end after its `signal` has aborted. 60 s by default. */
  readonly finishMs?: number | undefined
  /** Options of `client`, for each program. Its session timeout is 4 s by default. */
  readonly client?: Omit<ClientOptions, 'servers' | 'host' | 'keepAlive'> | undefined
  /** Ends the simulation early, between two runs. A vitest test has such a signal. */
  readonly signal?: AbortSignal | undefined
  /** Called after each successful run. */
  readonly onRun?: ((run: SimulatedRun) => void) | undefined
}

/** The argument of a program. */
export interface ProgramTools {
  /** A client with its own session, created at its first use, closed when the program ends. */
  readonly client: Client
  /** The servers, for a program that connects by itself. */
  readonly connectString: string
  /** Resolves after this time, like `setTimeout` of `node:timers/promises`. */
  readonly sleep: (ms: number) => Promise<void>
  /** Milliseconds since the run began: the same clock for all programs, and for checks. */
  readonly now: () => number
  /** A number of at least 0 and less than 1, like `Math.random()`. */
  readonly random: () => number
  /** Aborts when the run is about to end: the program should return. */
  readonly signal: AbortSignal
  /** `program-1`, or the name that was given. */
  readonly name: string
  /** The number of the program, from 0 on. */
  readonly index: number
  /** The number of starts, including this one. */
  readonly life: number
  /** Adds a line to the trace; so does `console.log`. */
  readonly log: (text: string) => void
}

export type ProgramMain = (tools: ProgramTools) => unknown

/** The parts of a scenario. */
export interface Scenario {
  /**
   * Runs this program the given number of times, or once under the given name, each time as a
   * separate process. A process that crashes starts again: the function is called again.
   */
  readonly program: (countOrName: number | string, main: ProgramMain) => void
  /**
   * Must hold at all times: called whenever a program has done something, and at the end. It fails
   * by throwing or returning `false`.
   */
  readonly check: (name: string, holds: () => unknown) => void
  /**
   * Must hold after all programs have ended and all faults are healed. It may be async, and fails in
   * the same way.
   */
  readonly atEnd: (
    name: string,
    holds: (tools: Pick<ProgramTools, 'client' | 'sleep' | 'now'>) => unknown,
  ) => void
}

/** A finished run. */
export interface SimulatedRun {
  readonly seed: number
  /** The virtual time that passed. */
  readonly virtualMs: number
  /** The trace, line by line. */
  readonly trace: readonly string[]
}

/** The outcome of all runs. */
export interface SimulationResult {
  readonly runs: number
  readonly virtualMs: number
  /** How often each fault happened. */
  readonly faults: Readonly<Partial<Record<FaultName, number>>>
}

const faultNames: readonly FaultName[] = ['cut', 'pause', 'crash', 'slow', 'loseDisk', 'expire']
const defaultSeeds = 20
export const defaultSessionMs = 4000
const optionNames: Readonly<Record<keyof SimulateOptions, true>> = {
  seeds: true,
  seed: true,
  servers: true,
  faults: true,
  durationMs: true,
  calmMs: true,
  finishMs: true,
  client: true,
  signal: true,
  onRun: true,
}

/** The options with their defaults. */
export interface Settings {
  readonly seeds: readonly number[]
  readonly servers: number
  readonly faults: readonly FaultName[]
  readonly durationMs: number
  readonly calmMs: number
  readonly finishMs: number
  readonly client: NonNullable<SimulateOptions['client']>
}

export function settingsOf(options: SimulateOptions): Settings {
  const { servers = 3, faults = faultNames, durationMs = 10_000 } = options
  const { calmMs = 2000, finishMs = 60_000, client = {} } = options
  checkOptionNames('simulate', options, optionNames)
  if (![1, 3, 5, 7].includes(servers)) throw new RangeError('servers must be 1, 3, 5 or 7')
  for (const name of faults)
    if (!faultNames.includes(name))
      throw new TypeError(`unknown fault ${name}: there are ${faultNames.join(', ')}`)
  for (const [name, ms] of Object.entries({ durationMs, calmMs, finishMs }))
    if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`${name} must be finite and not negative`)
  return {
    seeds: seedsOf(options),
    servers,
    faults,
    durationMs,
    calmMs,
    finishMs,
    client: { sessionTimeoutMs: defaultSessionMs, ...client },
  }
}

function seedsOf({ seed, seeds = defaultSeeds }: SimulateOptions): readonly number[] {
  const list = seed === undefined ? listOf(seeds) : [seed]
  if (list.length === 0 || !list.every((one) => Number.isSafeInteger(one)))
    throw new RangeError('seeds must be integers, and at least one')
  return list
}

function listOf(seeds: NonNullable<SimulateOptions['seeds']>): readonly number[] {
  if (typeof seeds !== 'number' && !('first' in seeds)) return seeds
  const { first, last } = typeof seeds === 'number' ? { first: 1, last: seeds } : seeds
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
}
