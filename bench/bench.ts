import { appendFileSync, mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Cluster } from './cluster.ts'
import type { Options } from './options.ts'
import type { ServerKind } from './server-kinds.ts'
import { renderTable, ratioOf, type Row } from './table.ts'
import { isMet } from './targets.ts'

const quietLimitMs = 60_000

/** One run of the benchmark: its options, where results go, and its problems. */
export class Bench {
  readonly options: Options
  readonly kinds: readonly ServerKind[]
  readonly resultsFile: string
  /** Problems as sentences for the end of the report; each makes the run a failure. */
  readonly problems: string[] = []
  readonly #rows: Row[] = []

  constructor(options: Options, kinds: readonly ServerKind[]) {
    this.options = options
    this.kinds = kinds
    const startedAt = new Date().toISOString().replaceAll(/[:.]/g, '-')
    mkdirSync(options.workDir, { recursive: true })
    this.resultsFile = join(options.workDir, `results-${startedAt}.jsonl`)
  }

  get labels(): readonly string[] {
    return this.kinds.map(({ label }) => label)
  }

  async createCluster(kind: ServerKind, purpose: string, size = 1): Promise<Cluster> {
    const name = `${process.pid}-${kind.label.replace('#', '-')}-${purpose}`
    return Cluster.create(kind, join(this.options.workDir, name), size, this.options)
  }

  async discard(cluster: Cluster): Promise<void> {
    await cluster.stop('SIGKILL')
    if (!this.options.keep) cluster.remove()
  }

  /** Stores every single result, so that a table can be checked later. */
  record(result: object): void {
    const line = { at: new Date().toISOString(), load: loadavg()[0], ...result }
    appendFileSync(this.resultsFile, `${JSON.stringify(line)}\n`)
  }

  print(title: string, rows: readonly Row[]): void {
    if (rows.length === 0) return
    this.#rows.push(...rows)
    const style = { labels: this.labels, showTargets: this.options.targets }
    console.log(renderTable(title, rows, style))
  }

  problem(sentence: string): void {
    this.problems.push(sentence)
    console.error(`  PROBLEM: ${sentence}`)
  }

  /** Rows printed so far whose target is not met. */
  get targets(): { readonly met: readonly Row[]; readonly missed: readonly Row[] } {
    const [base = '', compared = ''] = this.labels
    const withTarget = this.#rows.filter((row) => row.target !== undefined)
    const met = withTarget.filter(
      (row) => row.target !== undefined && isMet(row.target, ratioOf(row, base, compared)),
    )
    return { met, missed: withTarget.filter((row) => !met.includes(row)) }
  }

  /** Runs a step; an error becomes a problem of the report, and the rest of the run continues. */
  async attempt(what: string, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.problem(`${what}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** Waits until other processes leave the machine alone, for a limited time. */
  async quiet(): Promise<void> {
    if (this.options.maxLoad === 0) return
    const deadlineMs = Date.now() + quietLimitMs
    while ((loadavg()[0] ?? 0) > this.options.maxLoad && Date.now() < deadlineMs) {
      await delay(1000)
    }
  }
}
