import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from '../bench.ts'
import type { Cluster } from '../cluster.ts'
import { measure } from '../measure.ts'
import { usageOf } from '../proc.ts'
import { formatNumber } from '../statistics.ts'
import { Series } from '../table.ts'
import { filledRssTarget, restartTarget } from '../targets.ts'
import { isSound } from '../zkload.ts'

const restartLimitS = 300
const bytesPerMb = 1 << 20

/** How the servers are ended before each restart. */
const endings = ['SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGKILL'] as const

/** Many znodes: their cost in memory and on disk, and the time of a restart. */
export async function runFill(bench: Bench): Promise<void> {
  const { fill, fillSize } = bench.options
  if (fill === 0) return
  const rows = new FillRows()
  const clusters: Cluster[] = []
  for (const kind of bench.kinds) {
    const cluster = await bench.createCluster(kind, 'fill')
    clusters.push(cluster)
    await bench.attempt(`fill on ${kind.label}`, async () => {
      await cluster.start()
      await fillCluster(bench, cluster, rows)
      await cluster.stop(endings[0])
    })
  }
  await restartInTurn(bench, clusters, rows)
  for (const cluster of clusters) {
    await bench.attempt(`reads on ${cluster.kind.label}`, () => readAll(bench, cluster, rows))
    await bench.discard(cluster)
  }
  const title = `${fill.toLocaleString('en-US')} znodes of ${fillSize} bytes, standalone`
  bench.print(title, rows.measured())
}

async function fillCluster(bench: Bench, cluster: Cluster, rows: FillRows): Promise<void> {
  const { fill, fillSize } = bench.options
  const { label } = cluster.kind
  const heapBefore = liveHeapMb(cluster)
  const rssBefore = usageOf(cluster.pids).rssMb
  const args = ['fill', '--znodes', String(fill), '--size', String(fillSize)]
  const pace = ['--conns', '16', '--pipeline', '64']
  const { load, serverUsPerOp } = await measure(bench, cluster, [...args, ...pace], {
    scenario: 'fill',
  })
  const rss = usageOf(cluster.pids).rssMb
  const dataMb = sizeOfMb(join(cluster.servers[0]!.dir, 'data'))
  rows.creates.add(label, isSound(load) ? load.creates_per_s : NaN)
  rows.cpu.add(label, serverUsPerOp)
  rows.rss.add(label, rss)
  rows.rssPerZnode.add(label, ((rss - rssBefore) * bytesPerMb) / fill)
  rows.data.add(label, dataMb)
  const heap = liveHeapMb(cluster)
  rows.heap.add(label, heap)
  rows.heapPerZnode.add(label, ((heap - heapBefore) * bytesPerMb) / fill)
  bench.record({
    scenario: 'filled',
    server: label,
    fill,
    rssBefore,
    rss,
    heapBefore,
    heap,
    dataMb,
  })
  console.error(`  fill ${label}: ${formatNumber(rss)} MB resident`)
}

/** The servers take turns, so that a disturbance affects both. */
async function restartInTurn(
  bench: Bench,
  clusters: readonly Cluster[],
  rows: FillRows,
): Promise<void> {
  for (const [i, signal] of endings.entries()) {
    for (const cluster of clusters) {
      const { label } = cluster.kind
      const row = rows.restarts[signal]
      await bench.quiet()
      await bench.attempt(`${row.name} on ${label}`, async () => {
        const { servedMs, cpuMs } = await cluster.start(restartLimitS)
        row.add(label, servedMs)
        bench.record({ scenario: row.name, server: label, servedMs, cpuMs })
        console.error(`  ${row.name}, ${label}: ${formatNumber(servedMs)} ms`)
        await cluster.stop(endings[i + 1] ?? 'SIGKILL')
      })
    }
  }
}

/** Reads all data: a restart that was fast because it lost something would show here. */
async function readAll(bench: Bench, cluster: Cluster, rows: FillRows): Promise<void> {
  const { fill, fillSize } = bench.options
  await cluster.start(restartLimitS)
  rows.rssRestarted.add(cluster.kind.label, usageOf(cluster.pids).rssMb)
  const tree = ['--znodes', String(fill), '--size', String(fillSize), '--no-setup']
  const args = ['throughput', ...tree, '--mix', 'get', '--duration', '3']
  const { load } = await measure(bench, cluster, args, { scenario: 'read after restart' })
  rows.reads.add(cluster.kind.label, isSound(load) ? load.ops_per_s : NaN)
}

class FillRows {
  readonly creates = new Series('creates', 'op/s')
  readonly cpu = new Series('server CPU for one create', 'us')
  readonly rss = new Series('RSS when filled', 'MB', filledRssTarget)
  readonly rssPerZnode = new Series('RSS growth for one znode', 'bytes')
  readonly heap = new Series('live heap after a full collection', 'MB')
  readonly heapPerZnode = new Series('live heap for one znode', 'bytes')
  readonly data = new Series('data directory', 'MB')
  readonly restarts = {
    SIGTERM: new Series('restart after SIGTERM', 'ms', restartTarget),
    SIGKILL: new Series('restart after kill -9', 'ms', restartTarget),
  }
  readonly rssRestarted = new Series('RSS after the restarts', 'MB', filledRssTarget)
  readonly reads = new Series('reads over all of them', 'op/s')

  measured(): readonly Series[] {
    const { creates, cpu, rss, rssPerZnode, heap, heapPerZnode, data } = this
    const filled = [creates, cpu, rss, rssPerZnode, heap, heapPerZnode, data]
    const restarted = [...Object.values(this.restarts), this.rssRestarted, this.reads]
    return [...filled, ...restarted].filter((row) => row.target !== undefined || !row.isEmpty)
  }
}

function liveHeapMb({ kind, servers }: Cluster): number {
  const pid = servers[0]?.pid
  return (pid === undefined ? undefined : kind.liveHeapMb(pid)) ?? NaN
}

/** The apparent size: space that is allocated beyond the end of a file does not count. */
function sizeOfMb(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const bytes = files.map((file) => lstatSync(join(folder, file))).filter((file) => file.isFile())
  return bytes.reduce((sum, { size }) => sum + size, 0) / bytesPerMb
}
