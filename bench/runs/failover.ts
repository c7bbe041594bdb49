import { setTimeout as delay } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import type { EnsembleServer } from '../../interop/src/ensemble.ts'
import { hostOf, type Cluster } from '../cluster.ts'
import { formatNumber } from '../statistics.ts'
import { Series } from '../table.ts'
import { failoverTarget } from '../targets.ts'
import { probe, runZkload, type LoadResult } from '../zkload.ts'

type Signal = 'SIGKILL' | 'SIGTERM'

const calmBeforeKillMs = 3000
const calmBetweenRoundsMs = 1000
const loadArgs = ['--conns', '12', '--duration', '10', '--session-timeout', '10000']
/**
 * A gap that opens later than this after the loss of the leader has another cause. A killed leader
 * is gone at once; one that is asked to stop may take some time.
 */
const gapOpensMsMax = 100
const leaderAttemptsMax = 100

/** The leader of three servers is lost while twelve clients write: once killed, once stopped. */
export async function runFailover(bench: Bench): Promise<void> {
  const { failover } = bench.options
  if (failover === 0) return
  const tables = { SIGKILL: new FailoverRows(), SIGTERM: new FailoverRows() }
  const clusters: Cluster[] = []
  try {
    for (const kind of bench.kinds) {
      const cluster = await bench.createCluster(kind, 'failover', 3)
      clusters.push(cluster)
      await cluster.start()
    }
    for (let round = 0; round < failover; round++) {
      for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
        for (const cluster of clusters) {
          await loseLeader(bench, cluster, { round, signal, rows: tables[signal] })
        }
      }
    }
  } finally {
    for (const cluster of clusters) await bench.discard(cluster)
  }
  for (const [signal, { untilWrite, slowest, lost, rejoin }] of Object.entries(tables)) {
    const title = `${signal} of the leader of three: median (min..max) of ${failover} rounds`
    bench.print(title, [untilWrite, slowest, lost, rejoin])
  }
}

async function loseLeader(
  bench: Bench,
  cluster: Cluster,
  { round, signal, rows }: { round: number; signal: Signal; rows: FailoverRows },
): Promise<void> {
  const { label } = cluster.kind
  const leader = await awaitLeader(cluster)
  if (leader === undefined) {
    bench.problem(`failover on ${label}: no leader`)
    return
  }
  await bench.quiet()
  let lostAtMs = 0
  let stoppingMs = 0
  const gone = delay(calmBeforeKillMs).then(async () => {
    lostAtMs = performance.timeOrigin + performance.now()
    await leader.stop(signal)
    stoppingMs = performance.timeOrigin + performance.now() - lostAtMs
  })
  const load = await runZkload(['failover', ...cluster.loadArgs, ...loadArgs])
  await gone
  bench.record({
    scenario: 'failover',
    server: label,
    signal,
    round,
    lostAtMs,
    stoppingMs,
    ...load,
  })
  const lost = (load.lost_acked ?? 0) + (load.expired ?? 0)
  if (lost > 0) bench.problem(`failover on ${label}: ${lost} acknowledged writes or sessions lost`)
  const tookMs = untilWriteMs(load, lostAtMs, stoppingMs + gapOpensMsMax)
  rows.untilWrite.add(label, tookMs)
  rows.slowest.add(label, load.client_gap_ms?.max)
  rows.lost.add(label, load.failed === undefined ? lost : NaN)
  const startedAtMs = Date.now()
  await leader.launch()
  rows.rejoin.add(label, (await probe(hostOf(leader), 120)) - startedAtMs)
  console.error(`  ${signal} #${round} ${label}: a write after ${formatNumber(tookMs)} ms`)
  await delay(calmBetweenRoundsMs)
}

/**
 * The time from the signal to the end of the gap that it caused: the longest gap that was open then
 * or opened soon after. Writes that a stopping leader still confirms do not end it.
 */
export function untilWriteMs(
  { gaps = [], failed }: LoadResult,
  lostAtMs: number,
  opensMsMax: number,
): number {
  if (failed !== undefined) return NaN
  const opened = gaps.filter(([at, ms]) => at + ms > lostAtMs && at < lostAtMs + opensMsMax)
  const longest = opened.toSorted(([, one], [, other]) => other - one)[0]
  return longest === undefined ? NaN : longest[0] + longest[1] - lostAtMs
}

async function awaitLeader(cluster: Cluster): Promise<EnsembleServer | undefined> {
  for (let attempt = 0; attempt < leaderAttemptsMax; attempt++) {
    const leader = await cluster.leader()
    if (leader !== undefined) return leader
    await delay(100)
  }
  return undefined
}

class FailoverRows {
  readonly untilWrite = new Series('until the next write is acknowledged', 'ms', failoverTarget)
  readonly slowest = new Series('the slowest client waits', 'ms')
  readonly lost = new Series('acknowledged writes and sessions lost', 'count')
  readonly rejoin = new Series('the lost server serves again', 'ms')
}
