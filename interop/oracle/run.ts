/** The loop over programs: play, confirm a difference, shrink it, report it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Comparison, type Verdict } from './compare.ts'
import { Coverage } from './coverage.ts'
import { describe, kindOf, type Difference } from './difference.ts'
import type { Options } from './options.ts'
import { requestCount, type Program } from './program/program.ts'
import { since38, since38InApache } from './releases/index.ts'
import { hasKind, shrink } from './shrink.ts'
import type { Side } from './side.ts'

type Outcome =
  | 'agrees'
  | 'diverges'
  | 'unsteady'
  | 'broken'
  | 'candidateEnded'
  | 'referenceEnded'
  | 'stopped'

const failures = new Set<Outcome>(['diverges', 'unsteady', 'broken', 'candidateEnded', 'stopped'])
const shrinkLimits = { triesMax: 250, timeMs: 40_000 }
const settleMs = 30

export class Run {
  readonly #reference: Side
  readonly #candidate: Side
  readonly #options: Options
  readonly #comparison: Comparison
  readonly #coverage = new Coverage()
  readonly #outcomes: Outcome[] = []
  readonly #kinds = new Map<string, number>()
  readonly #expected = new Map<string, number>()
  readonly #print: (line: string) => void
  readonly #startMs = Date.now()
  #steps = 0
  #requests = 0

  constructor(
    reference: Side,
    candidate: Side,
    options: Options,
    print: (line: string) => void = console.log,
  ) {
    this.#print = print
    this.#reference = reference
    this.#candidate = candidate
    this.#options = options
    const several = reference.addresses.length > 1 || options.ensemble > 1
    const barrier = several ? 'catchup' : 'ping'
    const { zxid, exactOrder } = options
    this.#comparison = new Comparison(reference, candidate, {
      zxid,
      exactOrder,
      barrier,
      releaseDifferences: differencesFor(options),
    })
    mkdirSync(options.outDir, { recursive: true })
  }

  /** Plays one program and reports the result. */
  async play(program: Program): Promise<void> {
    this.#steps += program.steps.length
    this.#requests += requestCount(program)
    const verdict = await this.#comparison.judge(program)
    for (const name of verdict.expected) {
      this.#expected.set(name, (this.#expected.get(name) ?? 0) + 1)
    }
    const outcome = await this.#outcomeOf(program, verdict)
    this.#outcomes.push(outcome)
    if (outcome !== 'agrees') await this.startFresh()
  }

  async startFresh(): Promise<void> {
    await this.#comparison.startFresh()
  }

  get enough(): boolean {
    return this.#count('diverges') >= this.#options.stopAt
  }

  /** A server could not be started: the remaining programs are not played. */
  stopped(reason: string): void {
    this.#outcomes.push('stopped')
    this.#print(`STOPPED before all programs were played: ${reason}`)
  }

  get passed(): number {
    return this.#count('agrees')
  }

  get failed(): number {
    return this.#outcomes.filter((outcome) => failures.has(outcome)).length
  }

  summary(): string {
    const seconds = ((Date.now() - this.#startMs) / 1000).toFixed(0)
    const unsteady = this.#count('unsteady')
    const skipped = this.#count('referenceEnded')
    return [
      ...(this.#options.stats ? this.#coverage.lines() : []),
      '',
      `reference ${this.#reference.name}, candidate ${this.#candidate.name}`,
      `${this.#steps} steps, ${this.#requests} requests in ${seconds} s;` +
        ` ${this.#coverage.skippedSteps} steps found their session closed`,
      `${this.#kinds.size} kinds of divergence in ${this.#count('diverges')} programs`,
      ...[...this.#kinds].map(([kind, count]) => `  ${count} x ${kind}`),
      ...[...this.#expected].map(([name, count]) => `expected, ${count} times: ${name}`),
      ...(unsteady > 0 ? [`${unsteady} divergences did not come again`] : []),
      ...(skipped > 0 ? [`NOT COMPARED: ${skipped} programs ended the reference itself`] : []),
      `${this.passed} passed, ${this.failed} failed`,
    ].join('\n')
  }

  async #outcomeOf(program: Program, verdict: Verdict): Promise<Outcome> {
    const title = `seed ${program.seed} (${program.profile})`
    const { difference, broken, ended } = verdict
    if (ended.candidate) {
      const also = ended.reference ? ', and so did the reference' : ''
      this.#print(`${title}: THE CANDIDATE ENDED ITSELF${also}\n${this.#candidate.logs()}`)
      this.#save(`seed-${program.seed}.killer.json`, toJson(program))
      return 'candidateEnded'
    }
    if (ended.reference) {
      // Nothing to compare with from here on.
      this.#print(`${title}: the reference ended itself`)
      this.#save(`seed-${program.seed}.killer.json`, toJson(program))
      return 'referenceEnded'
    }
    if (broken !== undefined) {
      this.#print(`${title}: COULD NOT BE PLAYED: ${broken.slice(0, 600)}`)
      return 'broken'
    }
    if (difference === undefined) {
      this.#tellAgreement(title, verdict)
      return 'agrees'
    }
    return this.#confirm(title, program, difference)
  }

  #tellAgreement(title: string, { program, reference }: Verdict): void {
    this.#coverage.add(program, reference)
    if (this.#options.verbose) this.#print(`${title}: ${program.steps.length} steps agree`)
    if (!this.#options.dump) return
    for (const [at, result] of reference.entries()) {
      this.#print(`${at} ${JSON.stringify(program.steps[at])}\n     ${JSON.stringify(result)}`)
    }
  }

  /** Plays again on fresh servers, with time for notifications to arrive. */
  async #confirm(title: string, program: Program, first: Difference): Promise<Outcome> {
    await this.startFresh()
    const again = (await this.#comparison.judge(program)).difference
    if (again === undefined) {
      this.#print(`${title}: a divergence at step ${first.at} did not come again: ${kindOf(first)}`)
      this.#save(`seed-${program.seed}.unsteady.txt`, describe(first, 400))
      return 'unsteady'
    }
    const settled = (await this.#comparison.judge(program, settleMs)).difference
    const difference = settled ?? again
    const kind = kindOf(difference)
    const count = (this.#kinds.get(kind) ?? 0) + 1
    this.#kinds.set(kind, count)
    if (count > 1) {
      this.#print(`${title}: again ${kind}`)
      return 'diverges'
    }
    const order = settled === undefined ? ' (only without settling time: order of delivery)' : ''
    this.#print(`\nDIVERGENCE ${title} step ${difference.at}${order}: ${kind}`)
    const smallest = await this.#shrink(difference, kind)
    const file = this.#save(`seed-${program.seed}.json`, toJson(smallest.program))
    this.#print(`  ${smallest.program.steps.length} steps are enough; again with --replay ${file}`)
    this.#print(describe(smallest))
    return 'diverges'
  }

  async #shrink(difference: Difference, kind: string): Promise<Difference> {
    if (!this.#options.shrink) return difference
    const program = await shrink(this.#comparison, difference.program, kind, shrinkLimits)
    const verdict = await this.#comparison.judge(program)
    return hasKind(verdict, kind) && verdict.difference !== undefined
      ? verdict.difference
      : difference
  }

  #save(name: string, text: string): string {
    const file = join(this.#options.outDir, name)
    writeFileSync(file, text)
    return file
  }

  #count(wanted: Outcome): number {
    return this.#outcomes.filter((outcome) => outcome === wanted).length
  }
}

function differencesFor({ refRelease, refAddresses, candidate }: Options) {
  if (refRelease !== '3.8' || refAddresses !== undefined) return []
  return candidate === 'apache-3.9' ? since38InApache : since38
}

function toJson(program: Program): string {
  return `${JSON.stringify(program, null, 1)}\n`
}
