import { Client, type SessionInfo } from '@zabra/client'
import {
  afterMacrotask,
  Cluster,
  heal,
  ProgramProcess,
  Random,
  type ServerOptions,
} from '@zabra/simulator'
import { inject, planFaults, type PlannedFault } from './faults.ts'
import type { FaultName, ProgramTools, Scenario, Settings } from './options.ts'
import { tell, type Problem } from './problem.ts'
import { SimulatedProgram } from './program.ts'

/** The outcome of a run. */
export interface Outcome {
  readonly seed: number
  readonly problem: Problem | undefined
  /** The faults that happened, by their numbers in the plan of the seed. */
  readonly faults: readonly number[]
  readonly counts: ReadonlyMap<FaultName, number>
  readonly virtualMs: number
  /** The trace for readers. */
  readonly trace: readonly string[]
  /** The complete trace, with servers. Every run of the seed has the same. */
  readonly fullTrace: readonly string[]
}

export type ScenarioOf = (scenario: Scenario) => void

const setUpMsMax = 60_000
const atEndMsMax = 60_000
/** Settings of every server. Session timeouts range from two ticks to 60 s. */
const tickMs = 500
const sessionTimeoutMsMax = 60_000
/** Large enough that no epoch runs out. */
const epochRoomMin = 1_000_000n

/** One run of a scenario under one seed, without the given faults. */
export function runOnce(
  scenario: ScenarioOf,
  settings: Settings,
  seed: number,
  without: ReadonlySet<number> = new Set(),
): Promise<Outcome> {
  return new Run(scenario, settings, seed, without).play()
}

interface Check {
  readonly name: string
  readonly holds: () => unknown
}

interface FinalCheck {
  readonly name: string
  readonly holds: Parameters<Scenario['atEnd']>[1]
}

class Run {
  private readonly settings: Settings
  private readonly seed: number
  private readonly without: ReadonlySet<number>
  private readonly cluster: Cluster
  private readonly connectString: string
  private readonly random: Random
  private readonly programs: SimulatedProgram[] = []
  private readonly checks: Check[] = []
  private readonly finalChecks: FinalCheck[] = []
  private readonly plan: readonly PlannedFault[]
  private readonly happened: number[] = []
  private readonly counts = new Map<FaultName, number>()
  /** The host of clients that belong to no program. */
  private readonly operator: ProgramProcess
  private problem: Problem | undefined
  private hasActed = false

  constructor(
    scenario: ScenarioOf,
    settings: Settings,
    seed: number,
    without: ReadonlySet<number>,
  ) {
    this.settings = settings
    this.seed = seed
    this.without = without
    this.random = new Random(`simulate/${seed}`)
    this.cluster = new Cluster({
      seed: `simulate/${seed}`,
      servers: settings.servers,
      shape: 'plain',
      clients: 0,
      isChanging: false,
      epochRoomMin,
      adjust: asUsual,
      wait: afterMacrotask,
    })
    const { world, network, servers } = this.cluster
    this.connectString = servers.map(({ name }) => `${name}:2181`).join()
    this.operator = new ProgramProcess({
      name: 'operator',
      world,
      network,
      random: this.random.fork('operator'),
      rate: 1,
      backlogChance: 0,
      onUncaught: (error) => this.violated(bugOf(tell(error), error)),
    })
    this.plan = planFaults(this.random.fork('faults'), settings)
    this.setScene(scenario)
  }

  async play(): Promise<Outcome> {
    const { cluster, programs } = this
    try {
      for (const phase of [
        () => this.startServers(),
        () => this.disturb(),
        () => this.calm(),
        () => this.finish(),
        () => this.checkAtEnd(),
      ])
        if (this.problem === undefined) await phase()
    } finally {
      for (const program of programs) program.end()
      this.operator.die('killed')
    }
    const [violation] = cluster.recorder.violations
    if (violation !== undefined) this.violated(bugOf(violation))
    const fullTrace = cluster.recorder.transcript.lines
    return {
      seed: this.seed,
      problem: this.problem,
      faults: this.happened,
      counts: this.counts,
      virtualMs: cluster.world.nowMs,
      trace: fullTrace.filter(isReadable).map(inWords),
      fullTrace,
    }
  }

  private async disturb(): Promise<void> {
    for (const program of this.programs) program.start()
    this.scheduleFaults()
    await this.live(this.settings.durationMs, () => this.areDone)
  }

  private async calm(): Promise<void> {
    const { cluster, programs } = this
    heal(cluster)
    cluster.network.slowness = 1
    for (const program of programs) {
      program.resume()
      program.start()
    }
    await this.live(this.settings.calmMs, () => this.areDone)
  }

  private async finish(): Promise<void> {
    if (!this.areDone) this.trace('programs are asked to end')
    for (const program of this.programs) program.askToEnd()
    await this.live(this.settings.finishMs, () => this.areDone)
    this.reportUnfinished()
  }

  private setScene(scenario: ScenarioOf): void {
    let isOpen = true
    const mustBeOpen = (): void => {
      if (!isOpen) throw new Error('programs and checks are given before the run begins')
    }
    scenario({
      program: (countOrName, main) => {
        mustBeOpen()
        if (typeof countOrName === 'string') this.add(countOrName, main)
        else for (let i = 0; i < countOrName; i++) this.add(undefined, main)
      },
      check: (name, holds) => {
        mustBeOpen()
        this.checks.push({ name, holds })
      },
      atEnd: (name, holds) => {
        mustBeOpen()
        this.finalChecks.push({ name, holds })
      },
    })
    isOpen = false
    if (this.programs.length === 0) throw new Error('the scenario has no program')
  }

  private add(given: string | undefined, main: (tools: ProgramTools) => unknown): void {
    const { cluster, settings, connectString, programs, random } = this
    const index = programs.length
    const name = given ?? `program-${index + 1}`
    if (programs.some((other) => other.name === name))
      throw new Error(`there are two programs named ${name}`)
    const events = {
      trace: (line: () => string) => cluster.recorder.trace(line()),
      acted: () => {
        this.hasActed = true
      },
      violated: (problem: Problem) => this.violated(problem),
    }
    const parts = { name, index, main, cluster, settings, connectString, events }
    programs.push(new SimulatedProgram({ ...parts, random: random.fork(name) }))
  }

  private get areDone(): boolean {
    return this.programs.every(({ isDone }) => isDone)
  }

  /** Advances the time, until it is over, something is wrong, or `isDone` returns true. */
  private async live(ms: number, isDone: () => boolean): Promise<void> {
    const { world } = this.cluster
    await world.runUntil(world.nowMs + ms, () => {
      if (this.hasActed) this.checkNow()
      return this.problem !== undefined || isDone()
    })
    if (world.isStorm && this.problem === undefined) {
      const names = this.programs.filter((each) => !each.isDone).map(({ name }) => name)
      const message = `${names.join(' or ')} never pauses, for example in a loop without an await`
      this.violated({ kind: 'unfinished', name: names.join(), message })
    }
  }

  private async startServers(): Promise<void> {
    for (const server of this.cluster.servers) void server.start()
    const client = this.makeClient()
    let isReady = false
    const prepare = async (): Promise<void> => {
      await client.connected({ timeoutMs: Infinity })
      await client.close()
      isReady = true
    }
    prepare().catch((error: unknown) => this.violated(bugOf(tell(error), error)))
    await this.live(setUpMsMax, () => isReady)
    if (!isReady) this.violated(bugOf('the servers do not start'))
  }

  private scheduleFaults(): void {
    const { world } = this.cluster
    for (const [i, fault] of this.plan.entries()) {
      if (this.without.has(i)) continue
      world.after(fault.atMs, () => this.inject(i, fault))
    }
  }

  private inject(number: number, fault: PlannedFault): void {
    const { cluster, programs } = this
    // All programs may have ended early.
    if (cluster.isHealed) return
    const expire = (program: SimulatedProgram, whom: number): string | undefined => {
      const session = program.sessions[Math.floor(whom * program.sessions.length)]
      if (session === undefined) return undefined
      void this.endSession(session)
      return `the servers end the session of ${program.name}`
    }
    const what = inject({ cluster, programs, expire }, fault)
    if (what === undefined) return
    this.happened.push(number)
    this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1)
    this.trace(`fault: ${what}`)
  }

  /** Works like an operator: a client takes over the session and closes it. */
  private async endSession({ id, password, timeoutMs }: SessionInfo): Promise<void> {
    const session = { id, password }
    const client = this.makeClient({ session, sessionTimeoutMs: timeoutMs, onExpiry: 'end' })
    // By then, the session or the servers may be gone.
    await client.connected({ timeoutMs: 5000 }).catch(() => {})
    await client.close().catch(() => {})
  }

  private makeClient(options: Settings['client'] = {}): Client {
    return new Client({ ...options, servers: this.connectString, host: this.operator })
  }

  private checkNow(): void {
    this.hasActed = false
    for (const { name, holds } of this.checks) {
      if (this.problem !== undefined) return
      try {
        this.judge(name, holds())
      } catch (error) {
        this.violated(failedCheck(name, error))
      }
    }
  }

  private judge(name: string, value: unknown): void {
    if (value instanceof Promise) {
      value.catch(() => {})
      throw new TypeError('check() takes a synchronous function; use atEnd() for others')
    }
    if (value === false) this.violated(failedCheck(name))
  }

  private reportUnfinished(): void {
    if (this.problem !== undefined) return
    const { finishMs } = this.settings
    const open = this.programs.filter(({ isDone }) => !isDone)
    if (open.length === 0) return
    const messages = open.map(({ name, lastCall, lastFailure }) =>
      [
        `${name} has not ended ${finishMs} ms after its signal aborted, although all faults are healed`,
        ...(lastCall === undefined ? [] : [`its last call was ${lastCall}`]),
        ...(lastFailure === undefined ? [] : [`its last failure was ${lastFailure}`]),
      ].join('; '),
    )
    const name = open.map((each) => each.name).join()
    this.violated({ kind: 'unfinished', name, message: messages.join('\n') })
  }

  private async checkAtEnd(): Promise<void> {
    this.checkNow()
    for (const { name, holds } of this.finalChecks) {
      if (this.problem !== undefined) return
      await this.checkFinally(name, holds)
    }
  }

  private async checkFinally(name: string, holds: FinalCheck['holds']): Promise<void> {
    let client: Client | undefined
    let isDone = false
    const makeClient = (): Client => (client ??= this.makeClient())
    const tools = {
      get client() {
        return makeClient()
      },
      sleep: (ms: number) => this.operator.sleep(ms),
      now: () => this.cluster.world.nowMs,
    }
    const decide = async (): Promise<void> => {
      try {
        if ((await holds(tools)) === false) this.violated(failedCheck(name))
      } catch (error) {
        this.violated(failedCheck(name, error))
      }
      await client?.close()
      isDone = true
    }
    void decide()
    await this.live(atEndMsMax, () => isDone)
    if (!isDone && this.problem === undefined)
      this.violated(failedCheck(name, new Error(`no answer after ${atEndMsMax} ms`)))
  }

  private violated(problem: Problem): void {
    if (this.problem !== undefined) return
    this.problem = problem
    this.trace(`WRONG: ${problem.message}`)
  }

  private trace(line: string): void {
    this.cluster.recorder.trace(line)
  }
}

/** The usual configuration of servers. Zabra's own simulations use smaller limits, to find bugs. */
function asUsual(drawn: ServerOptions): ServerOptions {
  return {
    ...drawn,
    peer: {
      ...drawn.peer,
      limits: {},
      tickMs,
      sessionTimeoutMsMin: 2 * tickMs,
      sessionTimeoutMsMax,
      outstandingMax: 1000,
      sessionlessTimeoutMs: 5 * tickMs,
    },
    journal: { ...drawn.journal, snapCount: 1000, snapBytes: undefined, logBytesMax: undefined },
    quota: '/zookeeper/nowhere',
    forceSync: true,
    tickPeriodMs: Math.floor(tickMs / 4),
  }
}

function failedCheck(name: string, error?: unknown): Problem {
  const reason = error === undefined ? '' : `: ${tell(error)}`
  return { kind: 'check', name, message: `the check "${name}" fails${reason}`, cause: error }
}

function bugOf(what: string, cause?: unknown): Problem {
  const message = `a bug of zabra, not of the program; please report it: ${what}`
  return { kind: 'zabra', name: 'zabra', message, cause }
}

const lineStart = /^\s*[\d.]+ {2}/

/** Whether a line is a request or a message of a program. */
export function isOfProgram(line: string): boolean {
  return /^(?!fault:|WRONG:)\S+(?: >|:) /.test(line.replace(lineStart, ''))
}

export function isFault(line: string): boolean {
  return line.replace(lineStart, '').startsWith('fault: ')
}

function inWords(line: string): string {
  return line.replace(/ at [0-9a-f]+: leading, .*/, ' leads')
}

/** Whether programs can notice this event of a server. */
function isReadable(line: string): boolean {
  const text = line.slice(12)
  if (/^server-\d+ at /.test(text)) return / leading, /.test(text)
  return !/^server-\d+ (has recovered|ends)|^session -?\d+ expires|^server-\d+ (is killed|power fails) while/.test(
    text,
  )
}
