import type { Database, TraceEvent, ZabEvent } from '@zabra/core'
import type { Recorder } from '../history/recorder.ts'
import type { Mutant } from '../mutants/mutant.ts'
import type { Network, StreamEnd } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import { SimDisk } from '../world/sim-disk.ts'
import type { World } from '../world/world.ts'
import type { ServerOptions } from './server-options.ts'
import { isExcusable, ServerProcess, type ProcessClock } from './server-process.ts'

/** A server: a disk that survives, and processes that come and go. */
export class SimServer {
  readonly name: string
  readonly disk: SimDisk
  readonly clock: ProcessClock
  readonly options: ServerOptions
  process: ServerProcess | undefined
  life = 0
  private faultsBefore = 0
  private readonly world: World
  private readonly network: Network
  private readonly random: Random
  private readonly recorder: Recorder
  private readonly mutant: Mutant | undefined

  constructor(
    name: string,
    parts: {
      world: World
      network: Network
      random: Random
      options: ServerOptions
      recorder: Recorder
      mutant: Mutant | undefined
      clock: ProcessClock
    },
  ) {
    this.name = name
    this.world = parts.world
    this.network = parts.network
    this.random = parts.random
    this.options = parts.options
    this.recorder = parts.recorder
    this.mutant = parts.mutant
    this.clock = parts.clock
    this.disk = new SimDisk(parts.world, parts.random.fork(`disk of ${name}`))
    this.disk.onRemove = (path) => this.recorder.fileRemoved(this, path)
    this.disk.onCrashPoint = (call, path) => {
      // The call never returns; the process learns of its end before anything else happens.
      this.world.after(0, () => {
        this.recorder.count(`crash in ${this.phase} at ${call} of ${kindOf(path)}`)
        this.crash(this.random.chance(0.5) ? 'power fails' : 'is killed')
        this.startLater(this.random.between(10, 1500))
      })
    }
  }

  get isServing(): boolean {
    return this.process?.isServing === true && !this.process.paused
  }

  get phase(): string {
    if (this.process === undefined || !this.process.alive) return 'nothing'
    if (this.process.isStopping) return 'stopping'
    return this.process.isServing ? 'serving' : 'starting'
  }

  /** Before each start, what the disk holds is recovered aside and compared. */
  async start(): Promise<void> {
    if (this.process?.alive === true) return
    const life = ++this.life
    this.faultsBefore = this.disk.faults
    this.recorder.trace(`${this.name} starts, life ${life}`)
    const expected = await this.recorder.beforeStart(this)
    if (this.life !== life) return
    const process = new ServerProcess({
      name: this.name,
      network: this.network,
      world: this.world,
      disk: this.disk,
      options: this.options,
      clock: this.clock,
      random: this.random.fork(`life ${life} of ${this.name}`),
      mutant: this.mutant,
      events: {
        started: (db: Database) => this.recorder.started(this, db, expected),
        ended: (error) => this.ended(error),
        traced: (event) => this.traced(event),
        expired: (...args) => this.recorder.sessionExpired(...args),
        epochs: (epochs, lastZxid) => this.recorder.ensemble?.epochs(this.name, epochs, lastZxid),
        applied: (zxid, payload) =>
          this.recorder.ensemble?.applied(this.name, this.isInEnsemble, zxid, payload),
        zab: (event) => this.zab(event),
      },
    })
    this.process = process
    const accept = (end: StreamEnd, from: string): void => {
      end.acceptedInLife = life
      process.accept(end, from)
    }
    this.network.acceptors.set(this.name, { accept })
  }

  startLater(delayMs: number): void {
    this.world.after(delayMs, () => void this.start())
  }

  crash(how: 'power fails' | 'is killed'): void {
    const { process } = this
    if (process === undefined || !process.alive) return
    this.recorder.trace(`${this.name} ${how} while ${this.phase}`)
    this.recorder.count(how === 'is killed' ? 'kills' : 'power failures')
    this.network.acceptors.delete(this.name)
    if (how === 'is killed') process.kill()
    else process.losePower()
  }

  async stop(): Promise<void> {
    const { process } = this
    if (process === undefined || !process.isServing || process.paused) return
    this.recorder.trace(`${this.name} stops`)
    this.recorder.count('clean stops')
    this.network.acceptors.delete(this.name)
    await process.stop()
  }

  /** It leads or follows: what it applies now is committed. */
  private get isInEnsemble(): boolean {
    return this.process?.alive === true && this.process.peer?.isServing === true
  }

  private zab(event: ZabEvent): void {
    const lastZxid = this.process?.peer?.lastZxid ?? 0n
    this.recorder.trace(`${this.name} at ${lastZxid.toString(16)}: ${describeZab(event)}`)
    const how = event.type === 'synchronising' ? ` (${event.plan})` : ''
    this.recorder.count(`zab: ${event.type}${how}`)
    this.recorder.ensemble?.zab(this.name, event, lastZxid)
  }

  private ended(error: Error): void {
    this.recorder.trace(`${this.name} ends: ${error.name}: ${error.message}`)
    this.recorder.count(`ended by ${error.name}`)
    this.network.acceptors.delete(this.name)
    // Only a fault that this life really met excuses its end.
    if (this.disk.faults === this.faultsBefore || !isExcusable(error)) {
      this.recorder.violation(`${this.name} stopped by itself: ${error.stack ?? error.message}`)
    }
    this.startLater(this.random.between(50, 1000))
  }

  private traced(event: TraceEvent | { readonly type: string }): void {
    this.recorder.count(`server: ${event.type}`)
    if (event.type === 'digestMismatch') {
      this.recorder.violation(`${this.name} found that its tree has not the digest it must have`)
    }
  }
}

function describeZab({ type, ...rest }: ZabEvent): string {
  const details = Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`)
  return [type, ...details].join(', ')
}

/** What a file is, for counting. */
function kindOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return /^(new\.)?(log|snapshot)/.exec(name)?.[0] ?? 'directory'
}
