/**
 * Exchanges data directories between Apache ZooKeeper and zabra.
 *
 *     npm run test:exchange -- [--release 3.9]... [--only NAME]... [--keep]
 *
 * Without --release it tests all releases from 3.5 on; features that a release does not have are
 * left out.
 *
 * `cell.ts` shows the steps for each directory, `fill.ts` its content.
 */
import { parseArgs } from 'node:util'
import { apacheReleases, findApache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand, zabraFromSources, type ServerCommand } from '../src/commands.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { exchange, type Case } from './cell.ts'

const cases: readonly Case[] = [
  { name: 'clean stop', cfg: '', volume: 300, ending: 'SIGTERM' },
  { name: 'kill -9, one long log', cfg: '', volume: 300, ending: 'SIGKILL' },
  { name: 'kill -9, many logs and snapshots', cfg: 'snapCount=60', volume: 900, ending: 'SIGKILL' },
  {
    name: 'kill -9 amid writes',
    cfg: 'snapCount=500',
    volume: 100,
    ending: 'SIGKILL',
    midway: true,
  },
  {
    name: 'logs in a directory of their own',
    cfg: 'snapCount=100',
    volume: 300,
    ending: 'SIGKILL',
    separateLogs: true,
  },
  {
    name: 'snapshots as gzip',
    cfg: 'snapCount=100\nsnapshot.compression.method=gz',
    since: '3.6',
    volume: 300,
    ending: 'SIGKILL',
  },
  {
    name: 'snapshots as snappy',
    cfg: 'snapCount=100\nsnapshot.compression.method=snappy',
    since: '3.6',
    volume: 300,
    ending: 'SIGTERM',
  },
  { name: 'no preallocation', cfg: 'preAllocSize=0', volume: 100, ending: 'SIGKILL' },
  { name: 'without digests', cfg: 'digest.enabled=false', volume: 100, ending: 'SIGKILL' },
]

/** From the sources, so that the current code is tested. */
const zabra = zabraFromSources()

const { values } = parseArgs({
  options: {
    release: { type: 'string', multiple: true, default: apacheReleases.toReversed() },
    only: { type: 'string', multiple: true, default: [] },
    /** Keeps the directories of failed cases. */
    keep: { type: 'boolean', default: false },
  },
})
process.exitCode = await main(values.release as ApacheRelease[], values.only)

interface Route {
  readonly release: ApacheRelease
  readonly from: ServerCommand
  readonly to: ServerCommand
}

async function main(releases: readonly ApacheRelease[], only: readonly string[]): Promise<number> {
  const routes: Route[] = []
  const missing: string[] = []
  for (const release of releases) {
    const apache = await findApache(release)
    if (!apache.ok) {
      missing.push(apache.reason)
      continue
    }
    const command = apacheCommand(apache)
    routes.push({ release, from: command, to: zabra }, { release, from: zabra, to: command })
  }
  const chosen = cases.filter(({ name }) => only.length === 0 || only.some((o) => name.includes(o)))
  const { rows, reasons, passed, failed } = await runAll(chosen, routes)
  console.log(
    `\n${textTable([['', ...routes.map(({ from, to }) => `${from.name} > ${to.name}`)], ...rows])}\n`,
  )
  for (const reason of reasons) console.log(reason)
  for (const reason of missing) console.log(`!!! NOT RUN: ${reason}`)
  console.log(`${passed} passed, ${failed} failed`)
  // A run without Apache proves nothing.
  return failed > 0 || passed === 0 || missing.length > 0 ? 1 : 0
}

async function runAll(
  chosen: readonly Case[],
  routes: readonly Route[],
): Promise<{ rows: string[][]; reasons: string[]; passed: number; failed: number }> {
  const rows: string[][] = []
  const reasons: string[] = []
  let passed = 0
  let failed = 0
  for (const what of chosen) {
    const row = [what.name]
    for (const { release, from, to } of routes) {
      if (what.since !== undefined && release < what.since) {
        row.push('-')
        continue
      }
      const startedAt = Date.now()
      const outcome = await exchange(what, from, to, {
        hardLimits: release >= '3.7',
        keepFailures: values.keep,
      })
      const { problems, nodesCompared, digestsCompared, sessionsResumed } = outcome
      const isGood = problems.length === 0
      if (isGood) passed++
      else failed++
      row.push(isGood ? 'ok' : 'FAIL')
      const route = `${what.name}, ${from.name} > ${to.name}`
      say(
        `${route}: ${isGood ? 'ok' : 'FAIL'} after ${Date.now() - startedAt} ms (${nodesCompared} ` +
          `nodes and ${digestsCompared} digests compared, ${sessionsResumed} sessions resumed)`,
      )
      for (const problem of problems) reasons.push(`FAIL ${route}: ${problem}`)
    }
    rows.push(row)
  }
  return { rows, reasons, passed, failed }
}
