/**
 * Clients beside one another on one server, in alternating rounds; see ../README.md.
 *
 *     npm run bench:clients -- [--rounds 5] [--duration 1] [--window 256] [--server zabra|apache]
 *         [--clients zabra,java,...] [--watches 10000] [--notifications 100]
 */
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from '@zabra/client'
import { askFourLetters } from '../../interop/src/servers.ts'
import { findApacheServer } from '../apache.ts'
import { Cluster } from '../cluster.ts'
import { formatNumber, median } from '../statistics.ts'
import { findZabra } from '../zabra.ts'
import { buildZkload } from '../zkload.ts'
import {
  contestantNames,
  prepareContestant,
  type Contestant,
  type ContestantName,
} from './contestants.ts'
import { Player, type Load, type LoadFigures, type Operation } from './player.ts'
import { ClientRow, pipelinedTarget, renderRows, sequentialTarget } from './rows.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    duration: { type: 'string', default: '1' },
    window: { type: 'string', default: '256' },
    server: { type: 'string', default: 'zabra' },
    clients: { type: 'string', default: contestantNames.join(',') },
    watches: { type: 'string', default: '10000' },
    notifications: { type: 'string', default: '100' },
  },
})
const rounds = numberOf('rounds')
const seconds = numberOf('duration')
const window = numberOf('window')
const watchCount = numberOf('watches')
const notificationCount = numberOf('notifications')
const dataBytes = 100
const warmSeconds = 0.5
const operations: readonly Operation[] = ['get', 'set', 'create']

// Exiting, rather than dying of the signal, lets the server be stopped.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

const missing: string[] = []
const contestants = await prepareAll()
buildZkload()
const cluster = await startServer()
const hand = new Client({ servers: cluster.hosts })
try {
  await measureAll()
} finally {
  await hand.close()
  await cluster.stop('SIGKILL')
  cluster.remove()
}

async function measureAll(): Promise<void> {
  const names = contestants.map(({ name }) => name)
  console.log(`${describeRun()}\n`)
  const players = await Promise.all(contestants.map((contestant) => startPlayer(contestant)))
  const { speed, cpu } = await measureLoads(players)
  await hand.create('/watched')
  const notified = await measureNotifications(players.filter(({ name }) => name !== 'socket'))
  await Promise.all(players.map((player) => player.end()))
  const memory = await measureWatches()
  console.log(renderRows('Throughput', speed, names))
  console.log(renderRows('CPU of the client for one operation', cpu, names))
  const withWatches = names.filter((name) => name !== 'socket')
  console.log(renderRows('Watches', [notified, ...memory], withWatches))
  const missed = speed.filter((row) => row.isMissed)
  console.log(`${speed.length - missed.length} of ${speed.length} targets met.`)
  for (const { name, ratioToNpm } of missed) {
    console.log(`- missed: ${name}, ${formatNumber(ratioToNpm)} times the better client from npm`)
  }
  if (missing.length > 0) console.log(`\n!!! NOT MEASURED:\n${missing.join('\n')}`)
  if (missed.length > 0 || missing.length > 0) process.exitCode = 1
}

/** Every client in turn in every round, so that a disturbance meets all of them. */
async function measureLoads(players: readonly Player[]) {
  const speed: ClientRow[] = []
  const cpu: ClientRow[] = []
  for (const depth of [1, window]) {
    for (const operation of operations) {
      const isSequential = depth === 1
      const name = `${operation}, ${isSequential ? 'one by one' : `${depth} at a time`}`
      const target = isSequential ? sequentialTarget : pipelinedTarget
      const speedRow = new ClientRow(name, 'op/s', true, target)
      const cpuRow = new ClientRow(name, 'us/op', false)
      // A bare socket says how fast one can be asked for one thing after another, and no more.
      const measured = players.filter(({ name: who }) => isSequential || who !== 'socket')
      for (let round = 0; round <= rounds; round++) {
        for (const player of measured) {
          const isWarming = round === 0
          const load = {
            operation,
            window: depth,
            seconds: isWarming ? warmSeconds : seconds,
            round: `${depth}-${round}`,
          }
          const figures = await counted(player, load)
          if (isWarming) continue
          speedRow.add(player.name, figures.opsPerS)
          cpuRow.add(player.name, figures.cpuUsPerOp)
        }
      }
      console.error(`  ${name}: ${formatNumber(speedRow.ratioToNpm)} times the better from npm`)
      speed.push(speedRow)
      cpu.push(cpuRow)
    }
  }
  return { speed, cpu }
}

/** A client may not claim more than the server has seen of it. */
async function counted(player: Player, load: Load): Promise<LoadFigures> {
  const before = await requestsReceived()
  const figures = await player.load(load)
  const received = (await requestsReceived()) - before
  if (!(received >= figures.ops))
    throw new Error(`${player.name} claims ${figures.ops} requests, the server saw ${received}`)
  return figures
}

async function requestsReceived(): Promise<number> {
  const [host = '', port] = cluster.hosts.split(':')
  const answer = await askFourLetters(host, Number(port), 'srvr')
  return Number(/^Received: (\d+)$/m.exec(answer)?.[1])
}

/** From the moment another process asks for a change until a watch is called with it. */
async function measureNotifications(players: readonly Player[]): Promise<ClientRow> {
  const row = new ClientRow('notification, median', 'us', false)
  for (let round = 1; round <= rounds; round++) {
    for (const player of players) {
      const latencies: number[] = []
      for (let i = 0; i < notificationCount; i++) latencies.push(await notify(player))
      row.add(player.name, median(latencies))
    }
  }
  return row
}

async function notify(player: Player): Promise<number> {
  await player.arm('/watched')
  const askedAtNs = process.hrtime.bigint()
  const [firedAtNs] = await Promise.all([player.firedAtNs(), hand.set('/watched', '')])
  return Number(firedAtNs - askedAtNs) / 1000
}

/**
 * In fresh processes: the first notification, before anything is compiled; then what it takes to
 * hold many watches, and to hear of all of them.
 */
async function measureWatches(): Promise<readonly ClientRow[]> {
  const first = new ClientRow('first notification of a process', 'us', false)
  const grown = new ClientRow(`resident memory for ${watchCount} watches`, 'MB', false)
  const live = new ClientRow('of it alive, as the run-time says', 'MB', false)
  const total = new ClientRow('resident memory in all', 'MB', false)
  const fired = new ClientRow('all of them changed and told', 'ms', false)
  const paths = Array.from({ length: watchCount }, (_, i) => `/many/${i}`)
  await hand.create('/many')
  await Promise.all(paths.map((path) => hand.create(path)))
  for (let round = 1; round <= rounds; round++) {
    for (const contestant of contestants.filter(({ name }) => name !== 'socket')) {
      const player = await startPlayer(contestant)
      first.add(player.name, await notify(player))
      const before = await player.memory()
      await player.watchChildren('/many', watchCount)
      const after = await player.memory()
      const askedAtNs = process.hrtime.bigint()
      const changes = paths.map((path) => hand.set(path, ''))
      const [firedAtNs] = await Promise.all([player.firedAtNs(), ...changes])
      grown.add(player.name, after.residentMb - before.residentMb)
      live.add(player.name, after.liveMb - before.liveMb)
      total.add(player.name, after.residentMb)
      fired.add(player.name, Number(firedAtNs - askedAtNs) / 1e6)
      await player.end()
    }
  }
  return [first, grown, live, total, fired]
}

/** Each client has a tree of its own. */
async function startPlayer(contestant: Contestant): Promise<Player> {
  const root = `/bench-${contestant.name}`
  if ((await hand.exists(root)) === undefined) {
    await hand.create(root)
    await hand.create(`${root}/data`, new Uint8Array(dataBytes))
  }
  return Player.start(contestant, cluster.hosts, root)
}

async function prepareAll(): Promise<readonly Contestant[]> {
  const found: Contestant[] = []
  for (const name of values.clients.split(',')) {
    if (!isContestant(name))
      throw new Error(`no client ${name}; there are ${contestantNames.join(', ')}`)
    const prepared = await prepareContestant(name)
    if (prepared.ok) found.push(prepared)
    else missing.push(`- ${name}: ${prepared.reason}`)
  }
  return found
}

/** Without waiting for the disk, which would be most of what a write takes, for all alike. */
async function startServer(): Promise<Cluster> {
  const { server } = values
  if (server !== 'zabra' && server !== 'apache') throw new Error(`no such server: ${server}`)
  const kind = server === 'zabra' ? findZabra() : await findApacheServer('3.9', ['-Xmx1000m'])
  const dir = join(tmpdir(), `zabra-bench-clients-${process.pid}`)
  const started = await Cluster.create(kind, dir, 1, ['forceSync=no'])
  await started.start()
  return started
}

function describeRun(): string {
  const [cpu] = cpus()
  const machine = `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'})`
  const load = `load at the start ${formatNumber(loadavg()[0] ?? NaN)}`
  return [
    `${machine}; ${rounds} rounds of ${seconds} s; ${load}; server: ${cluster.kind.version}.`,
    '',
    ...contestants.map(({ name, version }) => `- ${name}: ${version}`),
    `- Node ${process.versions.node}`,
  ].join('\n')
}

function isContestant(name: string): name is ContestantName {
  return contestantNames.some((one) => one === name)
}

function numberOf(name: 'rounds' | 'duration' | 'window' | 'watches' | 'notifications'): number {
  const value = Number(values[name])
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} takes a positive number`)
  return value
}
