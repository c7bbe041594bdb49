/**
 * npm run sim -- --seed 42           one run, repeated exactly
 * npm run sim -- --seeds 1..1000     many, on all cores
 * npm run sim -- --minutes 5         as many as fit, from a seed of this moment on
 *
 * Each with --servers 1 for servers on their own, --servers 3 or 5 for ensembles only, and these
 * with --changing for those whose members come and go. With --recipes the runs are of programs that
 * use the client and the recipes, with --recipe NAME of one kind of them.
 */
import { parseArgs } from 'node:util'
import { workloads } from './programs/workloads.ts'
import { runSeed, type SeedKind } from './run-seed.ts'
import { shrink } from './shrink.ts'
import { describeCounts, describeFailure } from './summary.ts'
import { sweep, work } from './sweep.ts'

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

async function many(
  first: number,
  last: number,
  untilMs: number,
  kind: SeedKind,
): Promise<boolean> {
  console.log(`seeds from ${first}${last === Infinity ? '' : ` to ${last}`}`)
  const started = Date.now()
  const { seeds, failed, counts } = await sweep(first, last, untilMs, kind)
  for (const line of describeCounts(counts)) console.log(line)
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  console.log(
    `${seeds} seeds in ${seconds} s, ${failed.length} failed: ${failed.join(' ') || 'none'}`,
  )
  for (const seed of failed.slice(0, failuresExplained)) await one(seed, kind, false)
  return failed.length === 0
}

if (process.argv[2] === '--worker') {
  const [first, stride, last, untilMs, servers, changing] = process.argv.slice(3, 9).map(Number)
  const recipe = process.argv[9]
  const kind = {
    recipe: recipe === '' ? undefined : recipe,
    servers: servers === 0 ? undefined : servers,
    isChanging: changing === 1 ? true : undefined,
  }
  await work(first!, stride!, last!, untilMs!, kind)
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
  let isGood: boolean
  if (values.seed !== undefined) {
    isGood = await one(Number(values.seed), kind, values.trace)
  } else if (values.seeds !== undefined) {
    const [first, last] = values.seeds.split('..').map(Number)
    isGood = await many(first!, last ?? first!, Infinity, kind)
  } else {
    const minutes = Number(values.minutes ?? 1)
    const first = Math.floor(Date.now() / 1000) % 1_000_000_000
    isGood = await many(first, Infinity, Date.now() + minutes * 60_000, kind)
  }
  process.exitCode = isGood ? 0 : 1
}
