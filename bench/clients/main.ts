/**
 * Compares clients on one server, in alternating rounds; see ../README.md.
 *
 *     npm run bench:clients -- [--rounds 5] [--duration 1] [--window 256] [--server zabra|apache]
 *         [--clients zabra,java,../before/,...] [--watches 10000] [--notifications 100]
 */
import { cpus, loadavg } from 'node:os'
import { formatNumber } from '../statistics.ts'
import { buildZkload } from '../zkload.ts'
import { Arena } from './arena.ts'
import { prepareContestant, type Contestant, type Missing } from './contestants.ts'
import { measureLoads, type LoadRows } from './loads.ts'
import { parseOptions, type ClientBenchOptions } from './options.ts'
import { renderRows, type ClientRow } from './rows.ts'
import { measureNotifications, measureWatches } from './watches.ts'

// Exits instead of dying of the signal, so that the server is stopped.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

const options = parseOptions(process.argv.slice(2))
const prepared: (Contestant | Missing)[] = []
// One after another: two package managers at once would disturb each other.
for (const name of options.clients) prepared.push(await prepareContestant(name))
const contestants = prepared.filter((one) => one.ok)
// The servers use it to find out when they have started.
buildZkload()
await main(contestants)
const missing = prepared.filter((one) => !one.ok)
if (missing.length > 0) {
  console.log('\n!!! NOT MEASURED:')
  for (const { name, reason } of missing) console.log(`- ${name}: ${reason}`)
  process.exitCode = 1
}

async function main(all: readonly Contestant[]): Promise<void> {
  await using arena = await Arena.open(options.server)
  console.log(`${describeRun(arena, options)}\n`)
  const players = await Promise.all(all.map((contestant) => arena.enter(contestant)))
  const loads = await measureLoads(arena, players, options)
  const hasWatches = ({ name }: { readonly name: string }): boolean => name !== 'socket'
  const notified = await measureNotifications(arena, players.filter(hasWatches), options)
  await Promise.all(players.map((player) => player.end()))
  const watches = await measureWatches(arena, all.filter(hasWatches), options)
  show(loads, [notified, ...watches])
}

function show({ speed, cpu }: LoadRows, watches: readonly ClientRow[]): void {
  const names = contestants.map(({ name }) => name)
  console.log(renderRows('Throughput', speed, names))
  console.log(renderRows('CPU of the client for one operation', cpu, names))
  const withWatches = names.filter((name) => name !== 'socket')
  console.log(renderRows('Watches', watches, withWatches))
  const short = speed.filter((row) => row.verdict !== 'yes')
  console.log(`${speed.length - short.length} of ${speed.length} targets met.`)
  for (const { name, ratioToNpm, isMissed } of short) {
    const what = isMissed ? 'missed' : 'as much as the server can'
    console.log(`- ${what}: ${name}, ${formatNumber(ratioToNpm)} times the better client from npm`)
  }
  if (short.some(({ isMissed }) => isMissed)) process.exitCode = 1
}

function describeRun(arena: Arena, { rounds, seconds }: ClientBenchOptions): string {
  const [cpu] = cpus()
  const machine = `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'})`
  const load = `load at the start ${formatNumber(loadavg()[0] ?? NaN)}`
  return [
    `${machine}; ${rounds} rounds of ${seconds} s; ${load}; server: ${arena.serverVersion}.`,
    '',
    ...contestants.map(({ name, version }) => `- ${name}: ${version}`),
    `- Node ${process.versions.node}`,
  ].join('\n')
}
