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

/**
 * Every scenario on every server, in rounds A B A B. The servers of one pass run the whole time;
 * the next pass starts new ones, because two processes of the same server can differ by a third.
 */
export async function runLoads(bench: Bench, topology: Topology): Promise<void> {
  const { options } = bench
  if (options.scenarios.length === 0) return
  const report = new LoadReport(bench, topology)
  await bench.attempt(`load, ${topology}`, async () => {
    for (let pass = 0; pass < options.processes; pass++) await runPass(bench, report, pass)
  })
  report.print()
}

async function runPass(bench: Bench, report: LoadReport, pass: number): Promise<void> {
  const { topology } = report
  const clusters: Cluster[] = []
  try {
    for (const kind of inTurn(bench.kinds, pass)) {
      const cluster = await bench.createCluster(kind, topology, topology === 'ensemble' ? 3 : 1)
      clusters.push(cluster)
      const { servedMs } = await cluster.start()
      console.error(`${kind.label}: up after ${formatNumber(servedMs)} ms (${kind.version})`)
    }
    for (const name of bench.options.scenarios) {
      const scenario = scenarios[name]
      if (scenario !== undefined) await runScenario(bench, clusters, name, scenario, report, pass)
    }
  } finally {
    for (const cluster of clusters) await bench.discard(cluster)
  }
}

/** Each pass starts with another server, so that none is always the first of a round. */
function inTurn<Item>(items: readonly Item[], pass: number): readonly Item[] {
  const first = pass % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

async function runScenario(
  bench: Bench,
  clusters: readonly Cluster[],
  name: string,
  scenario: Scenario,
  report: LoadReport,
  pass: number,
): Promise<void> {
  const { rounds, warmRounds, durationS, warmupS } = bench.options
  const args = [scenario.mode, ...scenario.load.split(' ')]
  if (!args.includes('--duration')) {
    args.push('--duration', String(durationS), '--warmup', String(warmupS))
  }
  report.begin(name, scenario)
  for (let turn = -warmRounds; turn < rounds; turn++) {
    for (const cluster of clusters) {
      const { topology } = report
      const round = pass * rounds + turn
      const context = { scenario: name, topology, round: turn, process: pass }
      const measurement = await measure(bench, cluster, args, context)
      if (turn < 0) continue
      const value = report.add(name, cluster.kind.label, scenario, measurement, round)
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

/** The rows of one scenario, in each of the tables. */
interface ScenarioSeries {
  readonly figure: Series
  readonly cpu: Series
  readonly p99: Series
  readonly rss: Series
}

/** Collects the rounds of all scenarios in the tables. */
class LoadReport {
  readonly topology: Topology
  readonly #bench: Bench
  readonly #series = new Map<string, ScenarioSeries>()
  readonly #otherCores: number[] = []
  /** The highest memory of any scenario, by server and round. */
  readonly #highestRss = new Map<string, number[]>()

  constructor(bench: Bench, topology: Topology) {
    this.#bench = bench
    this.topology = topology
  }

  /** A later pass adds to the rows of the first. */
  begin(name: string, { unit, target, ensembleTarget }: Scenario): void {
    if (this.#series.has(name)) return
    const promised = this.topology === 'standalone' ? target : ensembleTarget
    this.#series.set(name, {
      figure: new Series(name, unit, promised),
      cpu: new Series(name, 'us/op'),
      p99: new Series(name, 'us'),
      rss: new Series(name, 'MB'),
    })
  }

  add(
    name: string,
    label: string,
    scenario: Scenario,
    measurement: Measurement,
    round: number,
  ): number {
    const { load, serverUsPerOp, peakRssMb, otherCores } = measurement
    const sound = isSound(load)
    const value = (sound ? scenario.figure(load) : undefined) ?? NaN
    const series = this.#series.get(name)
    series?.figure.add(label, value)
    series?.cpu.add(label, sound ? serverUsPerOp : NaN)
    series?.p99.add(label, sound ? p99Of(load) : NaN)
    series?.rss.add(label, peakRssMb)
    this.#otherCores.push(otherCores)
    const highest = this.#highestRss.get(label) ?? []
    highest[round] = Math.max(highest[round] ?? 0, peakRssMb)
    this.#highestRss.set(label, highest)
    return value
  }

  print(): void {
    const { rounds, processes } = this.#bench.options
    const highest = new Series('highest of all', 'MB', peakRssTargets[this.topology])
    for (const [label, values] of this.#highestRss) {
      for (const value of values) highest.add(label, value)
    }
    const each = processes === 1 ? '' : ` with each of ${processes} processes`
    const spread = `median (min..max) of ${rounds} rounds${each}`
    const rows = [...this.#series.values()]
    this.#bench.print(
      `Load, ${this.topology}: ${spread}`,
      rows.map(({ figure }) => figure),
    )
    this.#bench.print(
      `Server CPU for one operation, ${this.topology}`,
      rows.map(({ cpu }) => cpu),
    )
    const timed = rows.map(({ p99 }) => p99).filter((series) => !series.isEmpty)
    this.#bench.print(`99th percentile, ${this.topology}`, timed)
    this.#bench.print(`Peak resident memory, ${this.topology}`, [
      ...rows.map(({ rss }) => rss),
      highest,
    ])
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
