/** npm run bench: the same load on several servers, in alternating rounds; see README.md. */
import { existsSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { relative } from 'node:path'
import { installDebian } from '../interop/src/tools.ts'
import { Bench } from './bench.ts'
import { touchMemory } from './memory.ts'
import { parseOptions, usage, type Options } from './options.ts'
import { runFailover } from './runs/failover.ts'
import { runFill } from './runs/fill.ts'
import { runLoads } from './runs/load.ts'
import { runStartup } from './runs/startup.ts'
import { scenarios } from './scenarios.ts'
import { findServers } from './server-kinds.ts'
import { formatNumber } from './statistics.ts'
import { describeTarget } from './targets.ts'
import { buildZkload } from './zkload.ts'

async function main(options: Options): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the bench reads /proc: it runs on Linux only')
  if (options.tls) await ensureTlsHeaders()
  buildZkload()
  if (options.tls) buildZkload(true)
  touchMemory()
  const startedAtMs = Date.now()
  const bench = new Bench(options, await findServers(options))
  console.log(`${describeRun(bench)}\n`)
  await runStartup(bench)
  for (const topology of options.topologies) {
    await bench.attempt(`load, ${topology}`, () => runLoads(bench, topology))
  }
  await runFill(bench)
  await bench.attempt('failover', () => runFailover(bench))
  console.log(`${formatNumber((Date.now() - startedAtMs) / 1000)} s in all.`)
  if (options.targets) printTargets(bench)
  printProblems(bench)
  console.error(`raw results: ${relative(process.cwd(), bench.resultsFile)}`)
}

/** zkload needs OpenSSL's headers to speak TLS. */
async function ensureTlsHeaders(): Promise<void> {
  if (existsSync('/usr/include/openssl/ssl.h')) return
  const { ok, output } = await installDebian(['libssl-dev'])
  if (!ok) throw new Error(`NO TLS: the headers of OpenSSL cannot be installed: ${output}`)
}

function describeRun(bench: Bench): string {
  const { rounds, durationS } = bench.options
  const [cpu] = cpus()
  const machine = `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'})`
  const load = `load at the start ${formatNumber(loadavg()[0] ?? NaN)}`
  const versions = bench.kinds.map(({ label, version }) => `- ${label}: ${version}`)
  return [
    `${machine}; ${rounds} rounds of ${durationS} s; ${load}${bench.options.tls ? '; over TLS' : ''}.`,
    '',
    ...versions,
  ].join('\n')
}

function printTargets(bench: Bench): void {
  const { met, missed } = bench.targets
  console.log(`\n${met.length} of ${met.length + missed.length} measured targets met.`)
  for (const { name, target } of missed) {
    if (target !== undefined) console.log(`- missed: ${name}, ${describeTarget(target)}`)
  }
  if (missed.length > 0) process.exitCode = 1
}

function printProblems({ problems }: Bench): void {
  if (problems.length === 0) return
  console.log(`\n${problems.length} PROBLEMS; figures of these runs are void:`)
  for (const problem of problems) console.log(`- ${problem}`)
  process.exitCode = 1
}

function listScenarios(): void {
  for (const [name, { mode, load }] of Object.entries(scenarios)) {
    console.log(`${name.padEnd(24)}zkload ${mode} ${load}`)
  }
}

// Exits instead of dying of the signal, so that the servers are stopped.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

try {
  const options = parseOptions(process.argv.slice(2))
  if (options === 'help') console.log(usage)
  else if (options === 'list') listScenarios()
  else await main(options)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
