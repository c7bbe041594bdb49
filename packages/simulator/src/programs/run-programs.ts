import { Cluster } from '../cluster/cluster.ts'
import { drawShape } from '../cluster/shape.ts'
import { heal } from '../faults/inject.ts'
import type { ProgramMutant } from '../mutants/program-mutant.ts'
import type { RunOptions, RunResult } from '../run.ts'
import { Random } from '../world/random.ts'
import { ChangedMind, Program, tell } from './program.ts'
import { ProgramProcess } from '../host/program-process.ts'
import { drawAllFaults, healPrograms, injectAny, type AnyFault } from './program-faults.ts'
import { Stage } from './stage.ts'
import type { Workload } from './workload.ts'
import { weights, workloads, type WorkloadName } from './workloads.ts'

export interface ProgramRunOptions extends Pick<RunOptions, 'seed' | 'servers' | 'without'> {
  /** Random by default. */
  readonly workload?: string | undefined
  readonly mutant?: ProgramMutant | undefined
}

const setUpMsMax = 60_000
const progressMsMax = 120_000
const closeMsMax = 20_000
const violationsMax = 20
/** Containers that were never used are deleted after this time. */
const neverUsedMsMax = 5000
/**
 * With fewer transactions per epoch there would be little but hand-overs, and long work would never
 * end.
 */
const epochRoomMin = 70n
/** The maximum difference between the rates of clocks. */
const skew = 0.07

/** One run of programs that use the real client and recipes on real servers. */
export async function runPrograms(options: ProgramRunOptions): Promise<RunResult> {
  const run = new ProgramRun(options)
  const onRejection = (error: unknown): void => run.rejected(error)
  process.on('unhandledRejection', onRejection)
  try {
    return await run.play()
  } finally {
    process.off('unhandledRejection', onRejection)
  }
}

class ProgramRun {
  private readonly options: ProgramRunOptions
  private readonly cluster: Cluster
  private readonly stage: Stage
  private readonly workload: Workload
  private readonly name: WorkloadName
  private readonly programs: readonly Program[]
  private readonly faults: readonly AnyFault[]
  private readonly durationMs: number

  constructor(options: ProgramRunOptions) {
    this.options = options
    const seed = `programs/${options.seed}`
    const drawn = new Random(seed)
    const plan = drawn.fork('plan')
    const { mutant } = options
    const drawnServers = plan.pick([1, 1, 3, 3, 3, 5])
    const servers = options.servers ?? mutant?.servers ?? drawnServers
    const count = plan.between(2, 5)
    this.cluster = new Cluster({
      seed,
      servers,
      shape: drawShape(drawn.fork('shape')),
      // Some faults need a client that writes at a certain server.
      clients: 1,
      isChanging: false,
      neverUsedMsMax,
      epochRoomMin,
      zab: mutant?.zab,
      localSessions: mutant?.localSessions,
    })
    this.stage = new Stage(this.cluster, drawn.fork('stage'), count, mutant)
    const name = plan.weighted(weights)
    this.name = (options.workload as WorkloadName | undefined) ?? mutant?.workload ?? name
    this.workload = workloads[this.name](this.stage)
    this.programs = Array.from(
      { length: count },
      (_, i) => new Program(i, this.cluster, this.stage, this.workload),
    )
    this.durationMs = plan.between(2000, 15_000)
    const { durationMs } = this
    this.faults = drawAllFaults(drawn.fork('faults'), {
      durationMs,
      isEnsemble: servers > 1,
      programs: count,
    })
  }

  rejected(error: unknown): void {
    this.stage.violate(`a rejection that nobody handles: ${tell(error)}`)
  }

  async play(): Promise<RunResult> {
    const { recorder, history, world } = this.cluster
    recorder.trace(`programs with ${this.name}`)
    await this.setUp()
    if (this.violations.length === 0) {
      this.schedule()
      await this.live(this.durationMs)
      await this.recoverFromEverything()
      if (this.violations.length === 0) await this.leave()
      if (this.violations.length === 0) this.workload.check?.()
    }
    for (const complaint of history.complaints) this.stage.violate(complaint)
    if (world.isStorm) this.stage.violate('messages are the reason for each other, without end')
    this.count()
    return {
      seed: this.options.seed,
      violations: recorder.violations,
      counts: recorder.counts,
      steps: 0,
      faults: this.faults.length,
      transcript: recorder.transcript,
    }
  }

  private get violations(): readonly string[] {
    return this.cluster.recorder.violations
  }

  private live(ms: number, isDone: () => boolean = () => false): Promise<void> {
    const { world } = this.cluster
    return world.runUntil(
      world.nowMs + ms,
      () => isDone() || this.violations.length > violationsMax,
    )
  }

  private async setUp(): Promise<void> {
    const { cluster, workload, programs } = this
    for (const server of cluster.servers) void server.start()
    const [bystander] = cluster.clients
    bystander!.start()
    // The node that faults write to.
    const node = {
      op: 'create',
      kind: 'create',
      path: '/a',
      data: '',
      acl: 'open',
      flags: 0,
    } as const
    bystander!.ask(node)
    let isReady = false
    const prepare = async (): Promise<void> => {
      const process = this.extraProcess('first')
      const client = programs[0]!.connect(process)
      await client.connected()
      await workload.setUp?.(client)
      await client.close()
      isReady = true
    }
    prepare().catch((error: unknown) => this.stage.violate(`setting up fails: ${tell(error)}`))
    await this.live(setUpMsMax, () => isReady && bystander!.isIdle)
    if (!isReady) this.stage.violate('the programs got no answer at first')
  }

  private schedule(): void {
    const { cluster, programs, options } = this
    for (const program of programs) program.start()
    for (const [i, fault] of this.faults.entries()) {
      if (options.without?.faults.has(i) === true) continue
      cluster.world.after(fault.atMs, () => injectAny(cluster, programs, fault))
    }
    // A standalone server knows all active sessions; a follower may report them later.
    if (cluster.servers.length === 1)
      cluster.recorder.onExpired = (sessionId) => this.checkAlive(sessionId)
  }

  private checkAlive(sessionId: bigint): void {
    for (const { client, process, name } of this.programs) {
      if (client?.session?.id !== sessionId || process === undefined) continue
      const leftMs = client.aliveUntilMs - process.nowMs()
      if (leftMs > client.session.timeoutMs * skew + 5)
        this.stage.violate(`the session of ${name} has expired ${leftMs} ms before it could`)
    }
  }

  /**
   * Nothing fails any more: within bounded time every program must complete a turn, and all must be
   * quiet.
   */
  private async recoverFromEverything(): Promise<void> {
    const { cluster, programs, stage, workload } = this
    // Faults scheduled for later still happen before that.
    await this.live(7000)
    heal(cluster)
    healPrograms(programs)
    stage.isHealed = true
    const areDone = (): boolean => programs.every(({ isDone }) => isDone)
    await this.live(progressMsMax, areDone)
    stage.ending.abort(new ChangedMind('everybody is done'))
    const stuck = programs.filter(({ isDone }) => !isDone).map(({ name }) => name)
    if (stuck.length > 0) {
      stage.violate(`nothing is wrong any more, and still ${stuck.join()} had no turn`)
      return
    }
    const isRest = (): boolean => (workload.unrest?.() ?? undefined) === undefined
    await this.live(progressMsMax, isRest)
    if (!isRest()) stage.violate(`everybody had a turn, but ${workload.unrest?.()}`)
  }

  /** All programs leave, and none of their nodes may stay. */
  private async leave(): Promise<void> {
    const { cluster, programs, stage } = this
    let open = 0
    for (const { client } of programs) {
      if (client === undefined) continue
      open++
      client.close().then(
        () => open--,
        (error: unknown) => stage.violate(`closing fails: ${tell(error)}`),
      )
    }
    await this.live(closeMsMax, () => open === 0)
    if (open > 0) stage.violate(`${open} clients are not closed after ${closeMsMax} ms`)
    for (const client of cluster.clients) client.stop()
    // Containers are deleted one after the other, those of dead programs after their sessions.
    await this.live(progressMsMax, () => this.leftovers().length === 0)
    const left = this.leftovers()
    if (left.length > 0) stage.violate(`everybody has gone, and there is still ${left.join(', ')}`)
  }

  private leftovers(): string[] {
    const { stage, workload } = this
    const tree = stage.tree()
    if (tree === undefined) return ['no server']
    return [...tree.keys()].filter((path) => path !== '/a' && workload.mayStay?.(path) !== true)
  }

  /** The process of a client that does not belong to a program. */
  private extraProcess(name: string): ProgramProcess {
    const { world, network } = this.cluster
    return new ProgramProcess({
      name,
      world,
      network,
      random: this.stage.random.fork(name),
      rate: 1,
      backlogChance: 0,
      onUncaught: (error) => this.rejected(error),
    })
  }

  private count(): void {
    const { recorder, world, network } = this.cluster
    recorder.count('runs')
    recorder.count(`workload: ${this.name}`)
    recorder.count('connections reset', network.resets)
    recorder.count('events', world.events)
    recorder.count('virtual seconds', Math.round(world.nowMs / 1000))
  }
}
