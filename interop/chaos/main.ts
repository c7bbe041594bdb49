/**
 * Ensembles of real processes under load and random faults; `npm test` runs a short version.
 *
 *     npm run test:chaos -- [--servers 3,5] [--minutes 5] [--seed N] [--failovers 7] [--keep]
 *
 * Afterwards it measures how long clients wait when the leader is lost. After a violation it keeps
 * the data directories and logs. The seed draws the same faults again, but their timing relative to
 * the load depends on the machine.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureFailovers } from '../../packages/server/test/support/chaos/failover.ts'
import { runChaos } from '../../packages/server/test/support/chaos/trial.ts'
import { seedOf } from '../../packages/server/test/support/random.ts'

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '3,5' },
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    failovers: { type: 'string', default: '7' },
    keep: { type: 'boolean', default: false },
  },
})
const sizes = values.servers.split(',').map(Number)
const minutes = Number(values.minutes)
const seed = seedOf(values.seed)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

const startedMs = performance.now()
const say = (line: string): void => {
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)
  console.log(`${seconds}  ${line}`)
}
const dir = mkdtempSync(join(tmpdir(), 'zabra-chaos-'))
const failovers = Number(values.failovers)
let failed = 0
for (const servers of sizes) {
  const isGood = await endures(servers, join(dir, String(servers)))
  if (!isGood) failed++
  else if (failovers > 0) await timeFailovers(servers, join(dir, `failover-${servers}`))
}
if (failed === 0 && !values.keep) rmSync(dir, { recursive: true, force: true })
console.log(`${sizes.length - failed} passed, ${failed} failed`)
// Exits explicitly: after many cut connections Node sometimes waits forever for one of them.
process.exit(failed === 0 ? 0 : 1)

/** Whether an ensemble of this size passes for the given time. */
async function endures(servers: number, at: string): Promise<boolean> {
  if (minutes === 0) return true
  console.log(`seed ${seed}: ${servers} servers, ${minutes} minutes of faults`)
  mkdirSync(at)
  const faultsMs = minutes * 60_000
  const result = await runChaos({ dir: at, seed, servers, faultsMs, burstsPerRound: 5, say })
  const { counts, problems, bursts, rounds, recoveriesMs, synchronisations } = result
  const isGood = problems.length === 0
  console.log(`${bursts} bursts of faults in ${rounds} rounds, ${counts.moves} moves of sessions`)
  console.log(
    `${counts.acknowledged} writes acknowledged${isGood ? ', and all of them there' : ''}; ` +
      `of ${counts.unanswered} without an answer ${counts.unansweredDone} had happened`,
  )
  console.log(
    `${counts.reads} reads and ${counts.events} events, none of them of the past; ` +
      `${counts.syncs} syncs, each behind all that was acknowledged before`,
  )
  console.log(
    `recovery after a burst: median ${medianOf(recoveriesMs) ?? 0} ms, longest ${Math.max(0, ...recoveriesMs)} ms`,
  )
  const { diff, trunc, snap } = synchronisations
  console.log(`servers were brought up ${diff} times by DIFF, ${trunc} by TRUNC, ${snap} by SNAP`)
  for (const problem of problems) console.log(`PROBLEM ${problem}`)
  if (isGood) return true
  for (let id = 1; id <= servers; id++) showLog(at, id)
  console.log(`what the servers left is in ${at}`)
  console.log(
    `again with: npm run test:chaos -- --servers ${servers} --minutes ${minutes} --seed ${seed}`,
  )
  return false
}

async function timeFailovers(servers: number, at: string): Promise<void> {
  for (const how of ['SIGKILL', 'SIGTERM'] as const) {
    const ms = await measureFailovers({ dir: join(at, how), servers, count: failovers, how })
    const all = ms.map((each) => Math.round(each)).join(', ')
    console.log(
      `${how} of the leader to the next acknowledged write: median ${medianOf(ms)?.toFixed(0)} ms (${all})`,
    )
  }
}

/**
 * The last log lines of a server about its part in the ensemble; the whole log is next to its data.
 */
function showLog(at: string, id: number): void {
  const lines = readFileSync(join(at, String(id), 'server.log'), 'utf8').split('\n')
  const telling = lines.filter((line) => line !== '' && !/session|snapshot\.|purged/.test(line))
  console.log(`server ${id} said last:\n  ${telling.slice(-15).join('\n  ')}`)
}

function medianOf(all: readonly number[]): number | undefined {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]
}
