/**
 * Attacks a server, and prints what a well-behaved client measures meanwhile; `npm test` runs a
 * smaller version of each attack.
 *
 *     npm run test:attacks -- [--only TEXT] [--scale 1] [--quiet-ms 2000]
 */
import { parseArgs } from 'node:util'
import type { Attack } from '../../packages/server/test/support/attacks/attack.ts'
import { attacks } from '../../packages/server/test/support/attacks/attacks.ts'
import type { Sight } from '../../packages/server/test/support/attacks/citizen.ts'
import { tryAttack, type TrialResult } from '../../packages/server/test/support/attacks/trial.ts'
import { inTemporaryFolder } from '../../packages/server/test/support/server-process.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    scale: { type: 'string', default: '1' },
    'quiet-ms': { type: 'string', default: '2000' },
  },
})
const scale = Number(values.scale)
const quietMs = Number(values['quiet-ms'])
const msMax = 120_000
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

const failed: string[] = []
for (const attack of attacks.filter(({ name }) => name.includes(values.only))) {
  const result = await inTemporaryFolder((dir) => tryAttack(dir, attack, { scale, quietMs, msMax }))
  report(attack, result)
  if (result.problems.length > 0) failed.push(attack.name)
}
console.log(`${failed.length} failed${failed.length === 0 ? '' : `: ${failed.join('; ')}`}`)
process.exitCode = failed.length > 0 ? 1 : 0

function report({ name }: Attack, result: TrialResult): void {
  const { quiet, during, tookMs, rssBefore, rssMax, limits, lines, problems } = result
  console.log(`${name} (${(tookMs / 1000).toFixed(1)} s)`)
  console.log(`  good client  quiet ${sight(quiet)}; during ${sight(during)}`)
  console.log(
    `  server       ${megabytes(rssBefore)}, at most ${megabytes(rssMax)}; ${lines} lines`,
  )
  const reached = [...limits].map(([limit, count]) => `${limit} ${count}`)
  if (reached.length > 0) console.log(`  limits       ${reached.join(', ')}`)
  for (const problem of problems) console.log(`  FAILED       ${problem}`)
}

function sight({ requests, p50Ms, p99Ms, maxMs }: Sight): string {
  const [p50, p99, max] = [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1))
  return `p50 ${p50} p99 ${p99} max ${max} ms of ${requests}`
}
