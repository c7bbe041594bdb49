/** Runs seeds of the simulator: `npm run sim -- --help`. */
import { asked, usage, UsageError } from './arguments.ts'
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
  process.exitCode = await main(process.argv.slice(2))
}

async function main(words: readonly string[]): Promise<number> {
  try {
    const { work: wanted, kind, how } = asked(words)
    switch (wanted.type) {
      case 'help':
        console.log(usage)
        return 0
      case 'one':
        return (await one(wanted.seed, kind, wanted.showTrace)) ? 0 : 1
      case 'range':
        return (await many(wanted.range, Infinity, kind, how)) ? 0 : 1
      case 'minutes': {
        const first = Math.floor(Date.now() / 1000) % 1_000_000_000
        const untilMs = Date.now() + wanted.minutes * 60_000
        return (await many({ first, last: Infinity }, untilMs, kind, how)) ? 0 : 1
      }
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`${error.message}\n\n${usage}`)
    return 2
  }
}
