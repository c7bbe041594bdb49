/**
 * Sends a million hostile frames to a server; `npm test` runs a few seconds of it.
 *
 *     npm run test:fuzz -- [--frames 1000000] [--seed N] [--minutes 30]
 */
import { parseArgs } from 'node:util'
import { besiege, heldGrowthMax } from '../../packages/server/test/support/fuzz/siege.ts'
import { seedOf } from '../../packages/server/test/support/random.ts'
import { inTemporaryFolder } from '../../packages/server/test/support/server-process.ts'

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '30' },
  },
})
const seed = seedOf(values.seed)
const framesMax = Number(values.frames)
const msMax = Number(values.minutes) * 60_000
const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`

console.log(`seed ${seed}: ${framesMax} frames in at most ${values.minutes} minutes`)
const started = performance.now()
const result = await inTemporaryFolder((dir) =>
  besiege({
    dir,
    seed,
    framesMax,
    msMax,
    onProgress: console.log.bind(console, 'frames, connections:'),
  }),
)
const { frames, connections, served, slowestMs, heldBefore, heldAfter, problems } = result
const seconds = Math.round((performance.now() - started) / 1000)
const checks: readonly (readonly [string, boolean])[] = [
  [`${frames} frames over ${connections} connections in ${seconds} s`, frames >= framesMax],
  [
    `the well-behaved client was served ${served} times, at worst in ${Math.round(slowestMs)} ms`,
    problems.length === 0 && served > 0,
  ],
  [
    `memory held: ${mebibytes(heldBefore)} before, ${mebibytes(heldAfter)} after`,
    heldAfter - heldBefore < heldGrowthMax,
  ],
]
for (const [sentence, isGood] of checks) console.log(`${isGood ? 'ok  ' : 'FAIL'} ${sentence}`)
for (const problem of problems) console.log(`     ${problem}`)
const failed = checks.filter(([, isGood]) => !isGood).length
console.log(`${checks.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
