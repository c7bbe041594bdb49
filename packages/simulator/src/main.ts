/**
 * npm run sim -- --seed 42           one run, exactly reproducible
 * npm run sim -- --seeds 1..1000     many runs on all cores; resumes an interrupted sweep
 * npm run sim -- --minutes 5         as many runs as fit, from a seed derived from the time
 * npm run sim -- ... --record        also adds the result to docs/sweeps.md
 * npm run sim -- ... --workers 1     uses this many cores instead of all
 *
 * Each accepts --servers 1 for standalone servers, or --servers 3 or 5 for ensembles only, and for
 * these --changing to change members during the run. With --recipes the runs are of programs that
 * use the client and the recipes; with --recipe NAME, of one kind of them.
 */
import { parseArgs } from 'node:util'
import { workloads } from './programs/workloads.ts'
import { runSeed, type SeedKind } from './run-seed.ts'
import { shrink } from './shrink.ts'
import { describeCounts, describeFailure } from './summary.ts'
import { commitOfCode, recordSweep } from './sweep-record.ts'
import { sweep, work, type Range } from './sweep.ts'

const failuresExplained = 3

async function one(seed: number, kind: SeedKind, showTrace: boolean): Promise<boolean> {
  console.log(`seed ${seed}`)
  const result = await runSeed({ seed, ...kind })
  console.log(`fingerprint ${result.transcript.fingerprint.toString(16)}`)
  for (const line of describeCounts(result.counts)) console.log(line)
  if (result.violations.length === 0) {
    if (showTrace) for (const line of result.transcript.lines) console.log(line)
    console.log('nothing violated')
    return true
  }
  const shorter = await shrink({ seed, ...kind }, result)
  console.log(
    `${shorter.steps} of ${result.steps} steps and ${shorter.faults} of ${result.faults} faults are enough`,
  )
  for (const line of describeFailure(shorter.result)) console.log(line)
  return false
}

/** The share of searches for an order that may end undecided, per thousand. */
const undecidedPerMilleMax = 0.5

async function many(
  range: Range,
  untilMs: number,
  kind: SeedKind,
  { isRecorded, workers }: { isRecorded: boolean; workers: number | undefined },
): Promise<boolean> {
  const { first, last } = range
  console.log(`seeds from ${first}${last === Infinity ? '' : ` to ${last}`}`)
  const commit = isRecorded ? commitOfCode() : undefined
  if (isRecorded && commit === undefined) console.log('not recorded: the code is of no commit')
  const swept = await sweep(range, untilMs, kind, workers)
  const { seeds, failed, counts, seconds } = swept
  for (const line of describeCounts(counts)) console.log(line)
  const rate = (seeds / seconds).toFixed(1)
  console.log(
    `${seeds} seeds in ${seconds.toFixed(1)} s, ${rate} a second, ${failed.length} failed: ${failed.join(' ') || 'none'}`,
  )
  const isInterrupted = !swept.isWhole && last !== Infinity
  if (isInterrupted) console.log('interrupted: the same command goes on')
  else if (commit !== undefined) recordSweep(commit, swept, range, kind)
  for (const seed of failed.slice(0, failuresExplained)) await one(seed, kind, false)
  return failed.length === 0 && isDecided(counts)
}

function isDecided(counts: ReadonlyMap<string, number>): boolean {
  const trees = counts.get('linearizability: trees') ?? 0
  const undecided = counts.get('linearizability: undecided trees') ?? 0
  const perMille = (undecided / Math.max(1, trees)) * 1000
  // A single undecided search among few is no problem.
  if (undecided <= 1 || perMille <= undecidedPerMilleMax) return true
  console.log(`${undecided} of ${trees} searches for an order of operations came to no end`)
  return false
}

if (process.argv[2] === '--worker') {
  // Stack traces cost time and are not needed: a failing seed is run again.
  Error.stackTraceLimit = 0
  work(JSON.parse(process.argv[3] ?? '{}') as SeedKind)
} else {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      servers: { type: 'string' },
      changing: { type: 'boolean', default: false },
      recipes: { type: 'boolean', default: false },
      recipe: { type: 'string' },
      trace: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      workers: { type: 'string' },
    },
  })
  if (values.recipe !== undefined && !(values.recipe in workloads)) {
    console.error(`there is no ${values.recipe}, but ${Object.keys(workloads).join(', ')}`)
    process.exit(2)
  }
  const kind: SeedKind = {
    servers: values.servers === undefined ? undefined : Number(values.servers),
    isChanging: values.changing ? true : undefined,
    recipe: values.recipe ?? (values.recipes ? 'any' : undefined),
  }
  const how = {
    isRecorded: values.record,
    workers: values.workers === undefined ? undefined : Number(values.workers),
  }
  let isGood: boolean
  if (values.seed !== undefined) {
    isGood = await one(Number(values.seed), kind, values.trace)
  } else if (values.seeds !== undefined) {
    const [first, last] = values.seeds.split('..').map(Number)
    isGood = await many({ first: first!, last: last ?? first! }, Infinity, kind, how)
  } else {
    const minutes = Number(values.minutes ?? 1)
    const first = Math.floor(Date.now() / 1000) % 1_000_000_000
    const untilMs = Date.now() + minutes * 60_000
    isGood = await many({ first, last: Infinity }, untilMs, kind, how)
  }
  process.exitCode = isGood ? 0 : 1
}
