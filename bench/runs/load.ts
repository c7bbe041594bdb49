import { loadavg } from 'node:os'
import type { Bench } from '../bench.ts'
import type { Cluster } from '../cluster.ts'
import { measure, type Measurement } from '../measure.ts'
import type { Topology } from '../options.ts'
import { scenarios, type Scenario } from '../scenarios.ts'
import { formatNumber, median } from '../statistics.ts'
import { Series } from '../table.ts'
import { peakRssTargets } from '../targets.ts'
import { isSound, type LoadResult } from '../zkload.ts'

/** Every scenario on every server, in rounds A B A B; the servers run the whole time. */
export async function runLoads(bench: Bench, topology: Topology): Promise<void> {
  const { options, kinds } = bench
  if (options.scenarios.length === 0) return
  const clusters: Cluster[] = []
  try {
    for (const kind of kinds) {
      const cluster = await bench.createCluster(kind, topology, topology === 'ensemble' ? 3 : 1)
      clusters.push(cluster)
      const { servedMs } = await cluster.start()
      console.error(`${kind.label}: up after ${formatNumber(servedMs)} ms (${kind.version})`)
    }
    const report = new LoadReport(bench, topology)
    await bench.attempt(`load, ${topology}`, async () => {
      for (const name of options.scenarios) {
        const scenario = scenarios[name]
        if (scenario !== undefined) await runScenario(bench, clusters, name, scenario, report)
      }
    })
    report.print()
  } finally {
    for (const cluster of clusters) await bench.discard(cluster)
  }
}

async function runScenario(
  bench: Bench,
  clusters: readonly Cluster[],
  name: string,
  scenario: Scenario,
  report: LoadReport,
): Promise<void> {
  const { rounds, warmRounds, durationS, warmupS } = bench.options
  const args = [scenario.mode, ...scenario.load.split(' ')]
  if (!args.includes('--duration')) {
    args.push('--duration', String(durationS), '--warmup', String(warmupS))
  }
  report.begin(name, scenario)
  for (let round = -warmRounds; round < rounds; round++) {
    for (const cluster of clusters) {
      const { topology } = report
      const measurement = await measure(bench, cluster, args, { scenario: name, topology, round })
      if (round < 0) continue
      const value = report.add(cluster.kind.label, scenario, measurement, round)
      console.error(
        `  ${topology} ${name} #${round} ${cluster.kind.label}: ` +
          `${formatNumber(value)} ${scenario.unit}; ` +
          `server ${formatNumber(measurement.serverUsPerOp)} us/op, ` +
          `${formatNumber(measurement.serverCores)} cores; ` +
          `others ${formatNumber(measurement.otherCores)} cores, ` +
          `load ${formatNumber(loadavg()[0] ?? NaN)}`,
      )
    }
  }
}

/** Collects the rounds of all scenarios in the tables. */
class LoadReport {
  readonly topology: Topology
  readonly #bench: Bench
  readonly #figures: Series[] = []
  readonly #cpu: Series[] = []
  readonly #p99: Series[] = []
  readonly #rss: Series[] = []
  readonly #otherCores: number[] = []
  /** The highest memory of any scenario, by server and round. */
  readonly #highestRss = new Map<string, number[]>()

  constructor(bench: Bench, topology: Topology) {
    this.#bench = bench
    this.topology = topology
  }

  begin(name: string, { unit, target, ensembleTarget }: Scenario): void {
    const promised = this.topology === 'standalone' ? target : ensembleTarget
    this.#figures.push(new Series(name, unit, promised))
    this.#cpu.push(new Series(name, 'us/op'))
    this.#p99.push(new Series(name, 'us'))
    this.#rss.push(new Series(name, 'MB'))
  }

  add(label: string, scenario: Scenario, measurement: Measurement, round: number): number {
    const { load, serverUsPerOp, peakRssMb, otherCores } = measurement
    const sound = isSound(load)
    const value = (sound ? scenario.figure(load) : undefined) ?? NaN
    this.#figures.at(-1)?.add(label, value)
    this.#cpu.at(-1)?.add(label, sound ? serverUsPerOp : NaN)
    this.#p99.at(-1)?.add(label, sound ? p99Of(load) : NaN)
    this.#rss.at(-1)?.add(label, peakRssMb)
    this.#otherCores.push(otherCores)
    const highest = this.#highestRss.get(label) ?? []
    highest[round] = Math.max(highest[round] ?? 0, peakRssMb)
    this.#highestRss.set(label, highest)
    return value
  }

  print(): void {
    const { rounds } = this.#bench.options
    const highest = new Series('highest of all', 'MB', peakRssTargets[this.topology])
    for (const [label, values] of this.#highestRss) {
      for (const value of values) highest.add(label, value)
    }
    const spread = `median (min..max) of ${rounds} rounds`
    this.#bench.print(`Load, ${this.topology}: ${spread}`, this.#figures)
    this.#bench.print(`Server CPU for one operation, ${this.topology}`, this.#cpu)
    const timed = this.#p99.filter((series) => !series.isEmpty)
    this.#bench.print(`99th percentile, ${this.topology}`, timed)
    this.#bench.print(`Peak resident memory, ${this.topology}`, [...this.#rss, highest])
    const others = this.#otherCores.filter(Number.isFinite)
    console.log(
      `Other processes used ${formatNumber(median(others))} cores in the meantime (median), ` +
        `${formatNumber(Math.max(...others))} at most.\n`,
    )
  }
}

/** For a mixed load, that of the writes, which are slower. */
function p99Of({ write_us, delay_us, read_us, open_us }: LoadResult): number | undefined {
  return (write_us ?? delay_us ?? read_us ?? open_us)?.p99
}
