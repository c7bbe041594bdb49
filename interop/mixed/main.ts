/**
 * Ensembles of Apache ZooKeeper and zabra together.
 *
 *     npm run test:mixed -- [--release 3.9]... [--role leader]... [--sync TRUNC]... [--client zabra]...
 *     npm run test:mixed -- --role sync-reads [--release 3.9]... [--rounds 10]
 *
 * Every cell of the table is a separate ensemble of three servers; `cell.ts` shows what is done in
 * each, `synchronise.ts` how a learner gets into each situation. Three are separate:
 * `observer-master`, three voters of one kind with an observer of the other
 * (`observer-masters.ts`), `hand-over`, in which zabra hands over to an Apache leader
 * (`hand-over.ts`), and `sync-reads`, in which clients read after a sync, also from a leader that
 * was replaced without knowing it, `--rounds` times in each way (`sync-reads.ts`).
 */
import { parseArgs } from 'node:util'
import { findApache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand, zabraCommand } from '../src/commands.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { runCell, type Cell, type Role } from './cell.ts'
import type { Kind, Sync } from './ensemble.ts'
import { handOver } from './hand-over.ts'
import { observeFollowers } from './observer-masters.ts'
import { syncReads, syncReadsHead } from './sync-reads.ts'

const { values } = parseArgs({
  options: {
    release: { type: 'string', multiple: true, default: ['3.8', '3.9'] },
    role: {
      type: 'string',
      multiple: true,
      default: ['follower', 'leader', 'observer', 'observer-master', 'hand-over', 'sync-reads'],
    },
    sync: { type: 'string', multiple: true, default: ['DIFF', 'TRUNC', 'SNAP'] },
    client: { type: 'string', multiple: true, default: ['zabra', 'apache'] },
    rounds: { type: 'string', default: '10' },
  },
})
const releases = values.release as ApacheRelease[]
const roles = values.role.filter((role) => !role.includes('-')) as Role[]
const syncs = values.sync as Sync[]
const clients = values.client as Kind[]

const totals = { passed: 0, failed: 0, nodes: 0, digests: 0, moves: 0 }
const reasons: string[] = []
const missing: string[] = []
const rows: string[][] = [['', ...clients.map((kind) => `client on ${kind}`)]]
const syncRows: string[][] = []
const latencyRows: string[][] = []
for (const release of releases) {
  const apache = await findApache(release)
  if (!apache.ok) {
    missing.push(apache.reason)
    continue
  }
  for (const role of roles) {
    for (const sync of syncs) {
      const row = [`${apache.version}, zabra ${role}, ${sync}`]
      for (const clientOn of clients) {
        const isGood = await play(row[0]!, { role, sync, clientOn }, apacheCommand(apache))
        row.push(isGood ? 'ok' : 'FAIL')
      }
      rows.push(row)
    }
  }
  const command = apacheCommand(apache)
  if (values.role.includes('observer-master')) await playObserverMasters(command)
  if (values.role.includes('hand-over')) {
    reckon(`zabra hands over to ${command.name}`, await handOver(command))
  }
  if (values.role.includes('sync-reads')) await playSyncReads(command)
}

if (rows.length > 1) console.log(`\n${textTable(rows)}\n`)
if (syncRows.length > 0) {
  console.log(`\n${textTable([['reads after a sync', ...syncReadsHead], ...syncRows])}\n`)
  console.log(`${textTable([['median of a sync', '', '', ''], ...latencyRows])}\n`)
}
for (const reason of reasons) console.log(reason)
for (const reason of missing) console.log(`!!! NOT RUN: ${reason}`)
const { passed, failed, nodes, digests, moves } = totals
if (nodes > 0) {
  console.log(`${nodes} nodes and ${digests} digests compared, sessions moved ${moves} times`)
}
console.log(`${passed} passed, ${failed} failed`)
// A run without Apache proves nothing.
process.exitCode = failed > 0 || passed === 0 || missing.length > 0 ? 1 : 0

async function playObserverMasters(apache: ReturnType<typeof apacheCommand>): Promise<void> {
  const row = [`${apache.name}, the others' followers take an observer`]
  for (const kind of clients) {
    const [voters, observer] =
      kind === 'zabra' ? [apache, zabraCommand()] : [zabraCommand(), apache]
    const problems = await observeFollowers(voters, observer)
    const where = `${observer.name} as the observer of a follower of ${voters.name}`
    row.push(reckon(where, problems) ? 'ok' : 'FAIL')
  }
  rows.push(row)
}

async function playSyncReads(apache: ReturnType<typeof apacheCommand>): Promise<void> {
  for await (const outcome of syncReads(apache, Number(values.rounds))) {
    const { name, problems, counts, latencies } = outcome
    const where = `${apache.name}, ${name}`
    reckon(where, problems)
    syncRows.push([where, ...syncReadsHead.map((_, column) => counts[column] ?? '')])
    if (latencies !== undefined) latencyRows.push([where, ...latencies])
  }
}

function reckon(where: string, problems: readonly string[]): boolean {
  const isGood = problems.length === 0
  if (isGood) totals.passed++
  else totals.failed++
  say(`${where}: ${isGood ? 'ok' : 'FAIL'}`)
  for (const problem of problems) reasons.push(`FAIL ${where}: ${problem}`)
  return isGood
}

async function play(
  name: string,
  cell: Cell,
  apache: ReturnType<typeof apacheCommand>,
): Promise<boolean> {
  const startedMs = performance.now()
  const outcome = await runCell(cell, apache, zabraCommand())
  const { problems, nodesCompared, digestsCompared, sessionsMoved } = outcome
  const isGood = problems.length === 0
  if (isGood) totals.passed++
  else totals.failed++
  totals.nodes += nodesCompared
  totals.digests += digestsCompared
  totals.moves += sessionsMoved
  const where = `${name}, client on ${cell.clientOn}`
  say(
    `${where}: ${isGood ? 'ok' : 'FAIL'} after ${Math.round(performance.now() - startedMs)} ms ` +
      `(${nodesCompared} nodes, ${digestsCompared} digests, ${sessionsMoved} moves)`,
  )
  for (const problem of problems) reasons.push(`FAIL ${where}: ${problem}`)
  return isGood
}
