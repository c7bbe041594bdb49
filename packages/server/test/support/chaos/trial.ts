/**
 * An ensemble of real processes under load and random faults. After each round of faults the
 * ensemble is healed and checked: what was acknowledged exists, and all servers are equal.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../random.ts'
import { RawClient } from '../raw-client.ts'
import { EnsembleProcesses } from './ensemble-processes.ts'
import { drawFaults, lonelyLeader, lostDisk, staleLeader, type Fault } from './faults.ts'
import { HotClient } from './hot-client.ts'
import { LastingWriter } from './lasting-writer.ts'
import { Ledger } from './ledger.ts'
import { Life } from './life.ts'
import { places } from './places.ts'
import { reckon } from './reckoning.ts'

export interface ChaosOptions {
  readonly dir: string
  readonly seed: number
  readonly servers: number
  /** How long faults are injected; the last round is completed after that. */
  readonly faultsMs: number
  readonly burstsPerRound: number
  readonly say?: (line: string) => void
}

export interface ChaosResult {
  readonly counts: Ledger['counts']
  readonly bursts: number
  readonly rounds: number
  /** The time after each burst until a write was acknowledged on every server. */
  readonly recoveriesMs: readonly number[]
  readonly synchronisations: EnsembleProcesses['synchronisations']
  readonly problems: readonly string[]
}

/** Short ticks and small files, so that minutes cover what usually takes days. */
const chaosCfg = `
tickTime=200
initLimit=25
syncLimit=8
minSessionTimeout=400
maxSessionTimeout=60000
snapCount=500
preAllocSize=64
4lw.commands.whitelist=*
`
/** The time in which a healed ensemble must serve again on all servers. */
const recoveryMsMax = 30_000
const settleMsMax = 20_000
const lastingCount = 3
const fleetingCount = 2
const hotCount = 3

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { dir, servers, seed } = options
  // With little history in memory learners load snapshots; with much they replay.
  const cfg = `${chaosCfg}commitLogCount=${new Random(seed).pick([40, 500])}\n`
  const ensemble = await EnsembleProcesses.open({ dir, servers, cfg, isProxied: true })
  const trial = new Trial(options, ensemble)
  try {
    await trial.run()
  } catch (error) {
    trial.ledger.problem(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  await ensemble.close(trial.ledger.problems.length > 0)
  return trial.result()
}

class Trial {
  readonly ledger = new Ledger()
  private readonly options: ChaosOptions
  private readonly random: Random
  private readonly ensemble: EnsembleProcesses
  private readonly writers: LastingWriter[]
  private readonly hot: HotClient[]
  private lives: Life[] = []
  private livesBegun = 0
  private isPausing = false
  private bursts = 0
  private rounds = 0
  private readonly recoveriesMs: number[] = []

  constructor(options: ChaosOptions, ensemble: EnsembleProcesses) {
    const { ledger } = this
    this.options = options
    this.ensemble = ensemble
    this.random = new Random(options.seed)
    const seed = (kind: number, i: number): number => options.seed * 1009 + kind * 101 + 2 * i
    this.writers = Array.from(
      { length: lastingCount },
      (_, i) => new LastingWriter(i, ensemble, ledger, seed(1, i)),
    )
    this.hot = Array.from(
      { length: hotCount },
      (_, i) => new HotClient(i, ensemble, ledger, seed(2, i)),
    )
  }

  result(): ChaosResult {
    const { ledger, bursts, rounds, recoveriesMs, ensemble } = this
    const { synchronisations, crashes } = ensemble
    const problems = [...ledger.problems, ...crashes]
    return { counts: ledger.counts, bursts, rounds, recoveriesMs, synchronisations, problems }
  }

  async run(): Promise<void> {
    const { ensemble, options } = this
    await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
    await this.setUp()
    const endMs = performance.now() + options.faultsMs
    while (performance.now() < endMs && !this.isBroken) await this.round(endMs)
  }

  private get isBroken(): boolean {
    return this.ledger.problems.length > 0 || this.ensemble.crashes.length > 0
  }

  private say(line: string): void {
    this.options.say?.(line)
  }

  private async setUp(): Promise<void> {
    const client = await this.observer(this.random.pick(this.ensemble.ids))
    const { shared, barriers, lives, registers } = places
    for (const path of [shared, barriers, lives, ...registers]) await client.create(path)
    for (const { root } of this.writers) {
      await client.create(root)
      await client.create(`${barriers}${root}`)
    }
    await client.close()
  }

  /** Connects to one server, within the time limit of a recovery. */
  private async observer(server: number): Promise<RawClient> {
    const untilMs = performance.now() + recoveryMsMax
    while (performance.now() < untilMs) {
      const port = this.ensemble.clientPort(server)
      const options = { timeoutMs: 30_000, patienceMs: 1500 }
      const client = await RawClient.connect(port, options).catch(() => undefined)
      if (client !== undefined) return client
      await delay(20)
    }
    throw new Error(`server ${server} served nobody within ${recoveryMsMax} ms`)
  }

  // --- a round ---------------------------------------------------------------------------------

  private async round(endMs: number): Promise<void> {
    this.rounds++
    this.isPausing = false
    const working = [
      ...this.writers.map((writer) => this.report(writer.run())),
      ...this.hot.map((client) => this.report(client.run())),
      ...Array.from({ length: fleetingCount }, () => this.report(this.liveOneAfterTheOther())),
    ]
    for (let i = 0; i < this.options.burstsPerRound; i++) {
      if (this.isBroken || performance.now() > endMs) break
      await this.burst()
    }
    this.isPausing = true
    for (const each of [...this.writers, ...this.hot, ...this.lives]) each.stop()
    await Promise.all(working)
    if (this.isBroken) return
    await this.settle()
    if (this.isBroken) return
    const { ensemble, ledger } = this
    const sessions = new Set([...this.writers, ...this.hot].map(({ session }) => session.sessionId))
    await reckon(ensemble, ledger, sessions, (id) => this.observer(id))
    const { acknowledged, reads } = ledger.counts
    this.say(`round ${this.rounds}: ${acknowledged} writes acknowledged, ${reads} reads so far`)
  }

  private async report(work: Promise<void>): Promise<void> {
    await work.catch((error: Error) => this.ledger.problem(error.message))
  }

  private async liveOneAfterTheOther(): Promise<void> {
    while (!this.isPausing) {
      const number = this.livesBegun++
      const seed = this.options.seed * 7919 + 2 * number
      const life = new Life(`/life-${number}`, this.ensemble, this.ledger, seed)
      this.lives.push(life)
      const isOver = (): boolean => this.isPausing
      if (!(await life.live(isOver))) this.lives = this.lives.filter((each) => each !== life)
    }
  }

  private async burst(): Promise<void> {
    const { ensemble } = this
    const leader = await ensemble.leader()
    const faults = this.draw(leader)
    this.bursts++
    this.say(`burst ${this.bursts}: ${faults.map(({ text }) => text).join('; ')}`)
    await Promise.all(faults.map(({ run }) => run()))
    await ensemble.heal()
    const healedMs = performance.now()
    await this.recover()
    const tookMs = Math.round(performance.now() - healedMs)
    this.recoveriesMs.push(tookMs)
    this.say(`  every server acknowledged a write ${tookMs} ms later`)
  }

  private draw(leader: number | undefined): Fault[] {
    const { ensemble, random } = this
    const dice = random.int(100)
    if (dice < 12) return [lostDisk(ensemble, random.pick(ensemble.ids))]
    if (dice < 45 && leader !== undefined) return [lonelyLeader(ensemble, random, leader)]
    if (dice < 60 && leader !== undefined) return [staleLeader(ensemble, random, leader)]
    return drawFaults(ensemble, random, leader)
  }

  /** Waits for progress: a write is acknowledged on every server, so all of them are up to date. */
  private async recover(): Promise<void> {
    const untilMs = performance.now() + recoveryMsMax
    await Promise.all(
      this.ensemble.ids.map(async (id) => {
        for (;;) {
          const client = await this.observer(id)
          const path = places.barriers
          const impatience = setTimeout(() => client.socket.destroy(), 3000)
          const written = await client
            .call('setData', { path, data: null, version: -1 })
            .catch(() => undefined)
          clearTimeout(impatience)
          await client.close()
          if (written?.err === 0) return
          if (performance.now() > untilMs) throw new Error(`no write on server ${id} in time`)
        }
      }),
    )
  }

  private async settle(): Promise<void> {
    const untilMs = performance.now() + settleMsMax
    const isOver = (): boolean => performance.now() > untilMs
    await Promise.all(this.writers.map((writer) => writer.settleFinally(isOver)))
    const observer = await this.observer(this.random.pick(this.ensemble.ids))
    await observer.must('sync', { path: '/' })
    for (const life of this.lives) await life.mustBeGone(observer)
    for (const life of this.lives) {
      await this.untilGone(observer, life.marker, untilMs)
      if (this.isBroken) break
      await life.judge(observer)
    }
    this.lives = []
    await this.untilNobodyLives(observer, untilMs)
    await observer.close()
  }

  /** Includes sessions that may or may not have been created: after this, nothing may change. */
  private async untilNobodyLives(observer: RawClient, untilMs: number): Promise<void> {
    const path = places.lives
    const { children } = await observer.must('getChildren', { path, watch: false })
    for (const name of children) {
      await this.untilGone(observer, `${path}/${name}`, untilMs)
    }
  }

  private async untilGone(observer: RawClient, path: string, untilMs: number): Promise<void> {
    for (;;) {
      const { err } = await observer.call('exists', { path, watch: false })
      if (err !== 0) return
      if (performance.now() > untilMs) {
        this.ledger.problem(`${path} outlived its session`)
        return
      }
      await delay(50)
    }
  }
}
