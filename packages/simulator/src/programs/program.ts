import {
  Client,
  ZabraError,
  type ClientOptions,
  type ResumableSession,
  type State,
} from '@zabra/client'
import type { Cluster } from '../cluster/cluster.ts'
import type { Random } from '../world/random.ts'
import { ProgramProcess } from '../host/program-process.ts'
import type { Stage } from './stage.ts'
import { StateWitness } from './state-witness.ts'
import type { Actor, Workload } from './workload.ts'

const restMsMax = 150
/** Errors that calls may legitimately fail with while faults are injected. */
const usualCodes: ReadonlySet<string> = new Set([
  'connectionLoss',
  'sessionExpired',
  'timeout',
  'closed',
  'lost',
  // The error of a server whose disk is full.
  'systemError',
])

/** The reason of signals that workloads abort. */
export class ChangedMind extends Error {
  override readonly name = 'ChangedMind'
}

/** A program that uses the client: it is paused, killed and restarted. */
export class Program {
  readonly name: string
  process: ProgramProcess | undefined
  /** It has completed a turn since everything was healed. */
  isDone = false
  client: Client | undefined
  private life = 0
  private readonly index: number
  private readonly cluster: Cluster
  private readonly stage: Stage
  private readonly workload: Workload
  private readonly random: Random
  private readonly rate: number
  private readonly options: Omit<ClientOptions, 'servers' | 'host'>

  constructor(index: number, cluster: Cluster, stage: Stage, workload: Workload) {
    this.index = index
    this.name = `program-${index + 1}`
    this.cluster = cluster
    this.stage = stage
    this.workload = workload
    this.random = stage.random.fork(this.name)
    const drawn = this.random.fork('options')
    this.rate = 0.97 + drawn.next() * 0.06
    // A timeout shorter than creating a session takes on this network would be useless.
    const { delayMsMax } = cluster.network.options
    const timeoutMsMin = 12 * delayMsMax
    // Drawn separately, so that other random choices stay the same.
    const deadline = drawn.fork('deadline')
    const callTimeoutMs = deadline.between(timeoutMsMin, 40 * delayMsMax)
    this.options = {
      ...(deadline.chance(0.25) && { callTimeoutMs }),
      sessionTimeoutMs: Math.max(timeoutMsMin, cluster.tickMs * drawn.between(2, 10)),
      onExpiry: drawn.chance(0.8) ? 'renew' : 'end',
      retry: { repeatsMax: drawn.pick([0, 2, 10, 10]) },
    }
  }

  start(): void {
    if (this.process?.isAlive === true) return
    const { cluster, stage, index, name } = this
    const life = ++this.life
    const random = this.random.fork(`life ${life}`)
    const { world, network } = cluster
    const process = new ProgramProcess({
      name,
      world,
      network,
      random: random.fork('host'),
      rate: this.rate,
      backlogChance: random.pick([0, 0.1, 0.5]),
      onUncaught: (error) => stage.violate(`${name} throws what nobody catches: ${tell(error)}`),
    })
    this.process = process
    stage.trace(`${name} starts, life ${life}`)
    const connect = (session?: ResumableSession): Client => this.connect(process, session)
    const actor = { index, life, name, process, chance: process.chance, connect }
    void this.live(actor, process)
  }

  die(how: 'killed' | 'without power'): void {
    if (this.process?.isAlive !== true) return
    this.stage.trace(`${this.name} dies, ${how}`)
    this.process.die(how)
    this.client = undefined
  }

  /** A separate client in this program. */
  connect(process: ProgramProcess, session?: ResumableSession): Client {
    const servers = this.cluster.servers.map(({ name }) => `${name}:2181`)
    const client = new Client({ ...this.options, servers, host: process, session })
    this.stage.mutant?.client?.(client)
    // Its first state follows that of another client.
    if (session !== undefined) return client
    const witness = new StateWitness(this.name, this.stage, this.cluster, process, client.state)
    client.onState((state: State, before: State) => witness.told(state, before))
    return client
  }

  private async live(parts: Omit<Actor, 'client'>, process: ProgramProcess): Promise<void> {
    const { stage, workload } = this
    for (;;) {
      const client = this.connect(process)
      this.client = client
      const actor: Actor = { ...parts, client }
      workload.begin?.(actor)
      while (client.state.name !== 'closed') {
        const isLast = stage.isHealed
        try {
          await workload.turn(actor)
          stage.count('turns')
          if (isLast) this.isDone = true
          if (this.isDone && workload.needsAll !== true) return
        } catch (error) {
          this.failed(error)
        }
        if (stage.ending.signal.aborted) return
        await process.sleep(process.chance.next() * restMsMax)
      }
    }
  }

  private failed(error: unknown): void {
    const { stage, name } = this
    const isUsual = error instanceof ZabraError && usualCodes.has(error.code)
    if (!isUsual && !(error instanceof ChangedMind)) {
      stage.violate(`a turn of ${name} fails unexpectedly: ${tell(error)}`)
      return
    }
    const code = error instanceof ZabraError ? error.code : error.name
    stage.count(`failed: ${code}`)
    stage.trace(`${name} gives up a turn: ${error.message}`)
  }
}

export function tell(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
