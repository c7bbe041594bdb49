import type { Bench } from '../bench.ts'
import type { Topology } from '../options.ts'
import { formatNumber } from '../statistics.ts'
import { Series } from '../table.ts'
import { startupTargets } from '../targets.ts'

/**
 * Measures the time from the start of the process to the first answered request, with empty data.
 */
export async function runStartup(bench: Bench): Promise<void> {
  const { startup, topologies } = bench.options
  if (startup === 0) return
  const rows: Series[] = []
  for (const topology of topologies) rows.push(...(await startRepeatedly(bench, topology)))
  bench.print(`Start-up on empty data: median (min..max) of ${startup} starts`, rows)
}

async function startRepeatedly(bench: Bench, topology: Topology): Promise<readonly Series[]> {
  const target = startupTargets[topology]
  const served = new Series(`first reply of every server, ${topology}`, 'ms', target)
  const cpu = new Series(`CPU until then, ${topology}`, 'ms')
  for (let round = 0; round < bench.options.startup; round++) {
    for (const kind of bench.kinds) {
      const size = topology === 'ensemble' ? 3 : 1
      const cluster = await bench.createCluster(kind, `start-${topology}`, size)
      await bench.attempt(`start of ${kind.label}`, async () => {
        await bench.quiet()
        const { servedMs, cpuMs } = await cluster.start()
        served.add(kind.label, servedMs)
        cpu.add(kind.label, cpuMs)
        bench.record({ scenario: 'startup', server: kind.label, topology, round, servedMs, cpuMs })
        console.error(`  start ${topology} #${round} ${kind.label}: ${formatNumber(servedMs)} ms`)
      })
      await bench.discard(cluster)
    }
  }
  return [served, cpu]
}
