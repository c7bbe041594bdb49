import { parseArgs } from 'node:util'
import { workloads } from './programs/workloads.ts'
import type { SeedKind } from './run-seed.ts'
import type { Range } from './sweep.ts'

export const usage = `npm run sim -- [OPTIONS]

  --seed 42          one run, exactly reproducible; --trace prints all of it
  --seeds 1..1000    many runs on all cores; the same command resumes an interrupted sweep
  --minutes 5        as many runs as fit, from a seed derived from the time; the default, with 1

  --servers N        1 for standalone servers, 3 or 5 for ensembles
  --changing         the members of the ensemble change during the run
  --recipes          runs of programs that use the client and the recipes
  --recipe NAME      one kind of them: ${Object.keys(workloads).join(', ')}

  --twice            each seed runs twice in one process, among others, and must not differ
  --record           adds the result of a sweep to docs/sweeps.md
  --workers N        uses this many cores instead of all`

/** The command line is wrong. */
export class UsageError extends Error {}

export interface Asked {
  readonly work:
    | { readonly type: 'help' }
    | { readonly type: 'one'; readonly seed: number; readonly showTrace: boolean }
    | { readonly type: 'range'; readonly range: Range }
    | { readonly type: 'minutes'; readonly minutes: number }
  readonly kind: SeedKind
  readonly how: { readonly isRecorded: boolean; readonly workers: number | undefined }
}

/** Throws a UsageError for a command line that makes no sense. */
export function asked(words: readonly string[]): Asked {
  const values = parsed(words)
  const { recipe, seed, seeds } = values
  if (recipe !== undefined && !(recipe in workloads))
    throw new UsageError(`there is no recipe program "${recipe}"`)
  const kind: SeedKind = {
    servers: values.servers === undefined ? undefined : wholeNumber('--servers', values.servers),
    isChanging: values.changing ? true : undefined,
    recipe: recipe ?? (values.recipes ? 'any' : undefined),
    isTwice: values.twice ? true : undefined,
  }
  const workers =
    values.workers === undefined ? undefined : wholeNumber('--workers', values.workers)
  const how = { isRecorded: values.record, workers }
  if (values.help) return { work: { type: 'help' }, kind, how }
  if (seed !== undefined) {
    const work = {
      type: 'one',
      seed: wholeNumber('--seed', seed),
      showTrace: values.trace,
    } as const
    return { work, kind, how }
  }
  if (seeds !== undefined) return { work: { type: 'range', range: rangeOf(seeds) }, kind, how }
  const minutes = wholeNumber('--minutes', values.minutes)
  return { work: { type: 'minutes', minutes }, kind, how }
}

function parsed(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        minutes: { type: 'string', default: '1' },
        servers: { type: 'string' },
        changing: { type: 'boolean', default: false },
        recipes: { type: 'boolean', default: false },
        recipe: { type: 'string' },
        trace: { type: 'boolean', default: false },
        twice: { type: 'boolean', default: false },
        record: { type: 'boolean', default: false },
        workers: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function rangeOf(text: string): Range {
  const [first, last = first, ...more] = text.split('..')
  const range = { first: wholeNumber('--seeds', first!), last: wholeNumber('--seeds', last!) }
  if (more.length > 0 || range.last < range.first)
    throw new UsageError(`--seeds ${text} is not a range such as 1..1000`)
  return range
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text)
  if (text === '' || !Number.isSafeInteger(number) || number < 0)
    throw new UsageError(`${option} takes a whole number, not "${text}"`)
  return number
}
