/**
 * npm run sim -- --seed 42           one run, repeated exactly
 * npm run sim -- --seeds 1..1000     many, on all cores
 * npm run sim -- --minutes 5         as many as fit, from a seed of this moment on
 *
 * Each with --servers 1 for servers on their own, --servers 3 or 5 for ensembles only.
 */
import { parseArgs } from 'node:util'
import { run } from './run.ts'
import { shrink } from './shrink.ts'
import { describeCounts, describeFailure } from './summary.ts'
import { sweep, work } from './sweep.ts'

const failuresExplained = 3

async function one(
  seed: number,
  servers: number | undefined,
  showTrace: boolean,
): Promise<boolean> {
  console.log(`seed ${seed}`)
  const result = await run({ seed, servers })
  console.log(`fingerprint ${result.fingerprint.toString(16)}`)
  for (const line of describeCounts(result.counts)) console.log(line)
  if (result.violations.length === 0) {
    if (showTrace) for (const line of result.trace) console.log(line)
    console.log('nothing violated')
    return true
  }
  const shorter = await shrink({ seed, servers }, result)
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
  servers: number | undefined,
): Promise<boolean> {
  console.log(`seeds from ${first}${last === Infinity ? '' : ` to ${last}`}`)
  const started = Date.now()
  const { seeds, failed, counts } = await sweep(first, last, untilMs, servers)
  for (const line of describeCounts(counts)) console.log(line)
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  console.log(
    `${seeds} seeds in ${seconds} s, ${failed.length} failed: ${failed.join(' ') || 'none'}`,
  )
  for (const seed of failed.slice(0, failuresExplained)) await one(seed, servers, false)
  return failed.length === 0
}

if (process.argv[2] === '--worker') {
  const [first, stride, last, untilMs, servers] = process.argv.slice(3).map(Number)
  await work(first!, stride!, last!, untilMs!, servers === 0 ? undefined : servers)
} else {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      servers: { type: 'string' },
      trace: { type: 'boolean', default: false },
    },
  })
  const servers = values.servers === undefined ? undefined : Number(values.servers)
  let isGood: boolean
  if (values.seed !== undefined) {
    isGood = await one(Number(values.seed), servers, values.trace)
  } else if (values.seeds !== undefined) {
    const [first, last] = values.seeds.split('..').map(Number)
    isGood = await many(first!, last ?? first!, Infinity, servers)
  } else {
    const minutes = Number(values.minutes ?? 1)
    const first = Math.floor(Date.now() / 1000) % 1_000_000_000
    isGood = await many(first, Infinity, Date.now() + minutes * 60_000, servers)
  }
  process.exitCode = isGood ? 0 : 1
}
