import { setTimeout as delay } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { hostOf, stopProcess, type Cluster, type ClusterNode } from '../cluster.ts'
import { formatNumber } from '../statistics.ts'
import { Series } from '../table.ts'
import { probe, runZkload, type LoadResult } from '../zkload.ts'

const calmBeforeKillMs = 4000
const calmBetweenRoundsMs = 1500
const loadArgs = ['--conns', '12', '--duration', '20', '--session-timeout', '10000']
/** zkload does not list shorter gaps. */
const shortestGapMs = 50
const leaderAttemptsMax = 100

/** Kills the leader of three while twelve clients write. */
export async function runFailover(bench: Bench): Promise<void> {
  const { failover } = bench.options
  if (failover === 0) return
  const rows = new FailoverRows()
  const clusters: Cluster[] = []
  try {
    for (const kind of bench.kinds) {
      const cluster = await bench.createCluster(kind, 'failover', 3)
      clusters.push(cluster)
      await cluster.start()
    }
    for (let round = 0; round < failover; round++) {
      for (const cluster of clusters) await killLeader(bench, cluster, rows, round)
    }
  } finally {
    for (const cluster of clusters) await bench.discard(cluster)
  }
  const title = `Kill -9 of the leader of three: median (min..max) of ${failover} rounds`
  bench.print(title, [rows.gap, rows.slowest, rows.lost, rows.rejoin])
}

async function killLeader(
  bench: Bench,
  cluster: Cluster,
  rows: FailoverRows,
  round: number,
): Promise<void> {
  const { label } = cluster.kind
  const leader = await awaitLeader(cluster)
  if (leader === undefined) {
    bench.problem(`failover on ${label}: no leader`)
    return
  }
  await bench.quiet()
  let killedAtMs = 0
  const killed = delay(calmBeforeKillMs).then(async () => {
    killedAtMs = Date.now()
    await stopProcess(leader.process, 'SIGKILL')
  })
  const load = await runZkload(['failover', '--hosts', cluster.hosts, ...loadArgs])
  await killed
  bench.record({ scenario: 'failover', server: label, round, killedAtMs, ...load })
  const lost = (load.lost_acked ?? 0) + (load.expired ?? 0)
  if (lost > 0) bench.problem(`failover on ${label}: ${lost} acknowledged writes or sessions lost`)
  rows.gap.add(label, gapMs(load, killedAtMs))
  rows.slowest.add(label, load.client_gap_ms?.max)
  rows.lost.add(label, load.failed === undefined ? lost : NaN)
  const startedAtMs = Date.now()
  cluster.spawnNode(leader)
  rows.rejoin.add(label, (await probe(hostOf(leader), 120)) - startedAtMs)
  const gap = formatNumber(gapMs(load, killedAtMs))
  console.error(`  failover #${round} ${label}: no write for ${gap} ms`)
  await delay(calmBetweenRoundsMs)
}

/** The gap that the kill made: the longest that was open at the kill, or opened soon after it. */
function gapMs({ gaps = [], failed }: LoadResult, killedAtMs: number): number {
  if (failed !== undefined) return NaN
  const opened = gaps.filter(([at, ms]) => at + ms > killedAtMs && at < killedAtMs + 3000)
  return Math.max(shortestGapMs, ...opened.map(([, ms]) => ms))
}

async function awaitLeader(cluster: Cluster): Promise<ClusterNode | undefined> {
  for (let attempt = 0; attempt < leaderAttemptsMax; attempt++) {
    const leader = await cluster.leader()
    if (leader !== undefined) return leader
    await delay(100)
  }
  return undefined
}

class FailoverRows {
  readonly gap = new Series('no write succeeds for', 'ms')
  readonly slowest = new Series('the slowest client waits', 'ms')
  readonly lost = new Series('acknowledged writes and sessions lost', 'count')
  readonly rejoin = new Series('the killed server serves again', 'ms')
}
