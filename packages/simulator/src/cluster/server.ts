import {
  EnsemblePeer,
  type Database,
  type Epochs,
  type Membership,
  type TraceEvent,
  type ZabEvent,
} from '@zabra/core'
import type { Damage } from '../faults/rot.ts'
import { hasWrongTree } from '../faults/wrong-tree.ts'
import type { Recorder, Recovery } from '../history/recorder.ts'
import type { Mutant } from './mutant.ts'
import type { Network, StreamEnd } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import { crashAtKind, SimDisk, takeoverLost } from '../world/sim-disk.ts'
import type { World } from '../world/world.ts'
import type { ServerOptions } from './server-options.ts'
import { writeConfig } from './config-file.ts'
import { isExcusable, ServerProcess, type ProcessClock } from './server-process.ts'

const slowSnapshots = 1000
/** A learner that is to lose its leader during synchronization loses it within this time. */
const takeoverMsMax = 60

/** A server: a disk that survives, and processes that come and go. */
export class SimServer {
  readonly name: string
  readonly disk: SimDisk
  readonly clock: ProcessClock
  readonly options: ServerOptions
  process: ServerProcess | undefined
  life = 0
  private faultsBefore = 0
  private epochs: Epochs | undefined
  /** The state that its next start finds. */
  private damage: Damage | undefined
  /** It has no configuration file yet, and is to be started with these members. */
  private firstMembers: Membership | undefined
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
    const { ensemble } = parts.options
    if (ensemble?.isChanging === true) this.firstMembers = ensemble.membership
    this.recorder = parts.recorder
    this.mutant = parts.mutant
    this.clock = parts.clock
    this.disk = new SimDisk(parts.world, parts.random.fork(`disk of ${name}`))
    // Some write snapshots slowly, so that much happens in the meantime.
    const isSlow = parts.random.fork(`snapshots of ${name}`).chance(0.3)
    this.disk.condition.snapshotSlowness = isSlow ? slowSnapshots : 1
    this.disk.onRemove = async (path) => {
      await this.countTruncation(path)
      await this.recorder.fileRemoved(this, path)
    }
    this.disk.onDone = (call, path) => {
      if (call === 'rename') void this.recorder.ensemble?.snapshots.finished(this, path)
      if (!path.includes('Epoch') && call !== 'syncDirectory') return
      this.recorder.ensemble?.promises.epochFilesTouched(this)
    }
    this.disk.onCrashPoint = (call, path) => {
      // The call never returns; the process ends before anything else happens.
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

  /** Whether it serves clients, and not only reads without a quorum. */
  get takesPart(): boolean {
    const peer = this.process?.alive === true ? this.process.peer : undefined
    return peer?.isServing === true && !peer.isReadOnly
  }

  get phase(): string {
    if (this.process === undefined || !this.process.alive) return 'nothing'
    if (this.process.isStopping) return 'stopping'
    if (!this.process.isServing) return 'starting'
    const { peer } = this.process
    if (!(peer instanceof EnsemblePeer)) return 'serving'
    return peer.isServing || peer.state === 'looking' ? peer.state : `joining, ${peer.state}`
  }

  /** Before each start, a copy of the disk is recovered and compared. */
  async start(): Promise<void> {
    if (this.process?.alive === true) return
    const life = ++this.life
    this.faultsBefore = this.disk.faults
    this.recorder.trace(`${this.name} starts, life ${life}`)
    const { firstMembers } = this
    this.firstMembers = undefined
    if (firstMembers !== undefined) await writeConfig(this.disk.files, firstMembers)
    // A damaged disk must not give another state than the sound one did.
    const expected = this.damage?.expected ?? (await this.recorder.beforeStart(this))
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
        started: (db: Database) => this.started(db, expected),
        ended: (error) => this.ended(error),
        traced: (event) => this.traced(event),
        expired: (...args) => this.recorder.sessionExpired(...args),
        epochs: (epochs, lastZxid) => {
          this.epochs = epochs
          this.recorder.ensemble?.epochs(this.name, epochs, lastZxid)
        },
        applied: (zxid, payload) => this.applied(zxid, payload),
        zab: (event) => this.zab(event),
        logged: (...args) => this.recorder.ensemble?.logged(this.name, ...args),
        voted: (...args) => this.recorder.ensemble?.promises.voted(this, ...args),
        said: (...args) => this.recorder.ensemble?.promises.said(this, ...args),
      },
    })
    this.process = process
    const accept = (end: StreamEnd, from: string): void => {
      end.acceptedInLife = life
      process.accept(end, from)
    }
    this.network.listen(this.name, { accept })
  }

  startLater(delayMs: number): void {
    this.world.after(delayMs, () => void this.start())
  }

  crash(wanted: 'power fails' | 'is killed'): void {
    const { process } = this
    if (process === undefined || !process.alive) return
    // Without syncs nothing is guaranteed to survive a power failure.
    const how = this.options.forceSync ? wanted : 'is killed'
    this.recorder.trace(`${this.name} ${how} while ${this.phase}`)
    this.recorder.count(how === 'is killed' ? 'kills' : 'power failures')
    this.network.unlisten(this.name)
    if (how === 'is killed') process.kill()
    else process.losePower()
  }

  /** The disk was damaged while no process was running. */
  suffer(damage: Damage): void {
    this.recorder.trace(`${this.name}: ${damage.kind} in ${damage.path}`)
    this.recorder.count(`damage: ${damage.kind}`)
    this.damage = damage
  }

  /** Allowed only while no process runs. If members change, it starts with these next time. */
  loseDisk(members?: Membership): void {
    this.recorder.trace(`${this.name} gets an empty disk`)
    this.disk.replace()
    this.damage = undefined
    this.firstMembers = members
    this.recorder.ensemble?.forget(this)
  }

  async stop(): Promise<void> {
    const { process } = this
    if (process === undefined || !process.isServing || process.paused) return
    this.recorder.trace(`${this.name} stops`)
    this.recorder.count('clean stops')
    this.network.unlisten(this.name)
    await process.stop()
  }

  private started(db: Database, expected: Recovery | undefined): void {
    if (this.damage !== undefined) this.recorder.count('damage: no harm')
    this.damage = undefined
    this.recorder.started(this, db, expected)
  }

  private applied(zxid: bigint, payload: Uint8Array): void {
    const { ensemble } = this.recorder
    ensemble?.applied(zxid, payload)
    // Everything it applies while it leads or follows is committed.
    const peer = this.process?.alive === true ? this.process.peer : undefined
    if (ensemble === undefined || peer === undefined || !this.takesPart) return
    const { db } = peer
    const counts = !ensemble.treesMayDiffer || !hasWrongTree(db)
    ensemble.deliver(this.name, zxid, counts ? db.tree.digest.value : undefined)
  }

  private zab(event: ZabEvent): void {
    const lastZxid = this.process?.peer?.lastZxid ?? 0n
    this.recorder.trace(() => `${this.name} at ${lastZxid.toString(16)}: ${describeZab(event)}`)
    this.recorder.count(`zab: ${event.type}${howOf(event)}`)
    const { ensemble } = this.recorder
    ensemble?.zab(this.name, event, lastZxid, this.epochs?.current ?? 0n)
    this.goesBy(event)
    if (event.type === 'takingOver') this.crashIfDue()
    const db = this.process?.peer?.db
    if (
      event.type === 'synchronizing' &&
      event.plan === 'snap' &&
      ensemble?.treesMayDiffer === true
    )
      ensemble.wrongTreeWasSent ||= db !== undefined && hasWrongTree(db)
    if (event.type === 'looking' && db !== undefined && this.epochs !== undefined) {
      void ensemble?.promises.votes(this, db, this.epochs.current)
    }
  }

  private crashIfDue(): void {
    const { condition } = this.disk
    const { crashesInTakeover } = condition
    if (crashesInTakeover === undefined) return
    condition.crashesInTakeover = undefined
    if (crashesInTakeover < takeoverLost) {
      crashAtKind(condition, crashesInTakeover)
      return
    }
    const afterMs = ((crashesInTakeover - takeoverLost) % 1) * takeoverMsMax
    this.world.after(afterMs, () => {
      for (const stream of this.process?.peerNetwork?.streams() ?? []) stream.reset()
    })
  }

  private goesBy(event: ZabEvent): void {
    const { peer } = this.process ?? {}
    if (!(peer instanceof EnsemblePeer)) return
    const { ensemble } = this.recorder
    if (event.type === 'reconfigured') ensemble?.activated(this.name, peer.config)
    if (event.type === 'leading') ensemble?.leadsBy(this.name, event.epoch, peer.config)
  }

  /** Only a truncation on the leader's order cuts records from the end. */
  private async countTruncation(path: string): Promise<void> {
    if (this.recorder.ensemble?.planFor(this.name) !== 'trunc') return
    const { directory, kind, zxid } =
      /^(?<directory>.*)\/(?<kind>log|snapshot)\.(?<zxid>\w+)$/.exec(path)?.groups ?? {}
    if (directory === undefined) return
    const entries = await this.disk.files.list(directory)
    const later = entries.filter(({ name }) => {
      const [itsKind, itsZxid] = name.split('.')
      return itsKind === kind && parseInt(itsZxid!, 16) > parseInt(zxid!, 16)
    })
    if (later.length === 0) this.recorder.count(`zab: a whole ${kind} was cut off`)
  }

  private ended(error: Error): void {
    this.recorder.trace(`${this.name} ends: ${error.name}: ${error.message}`)
    this.recorder.count(`ended by ${error.name}`)
    this.network.unlisten(this.name)
    const { damage } = this
    if (damage !== undefined && error.name === 'RecoveryError') {
      this.damage = undefined
      this.recorder.count('damage: refused')
      void damage.mend().then(() => this.startLater(this.random.between(50, 1000)))
      return
    }
    // Only a fault that occurred in this life excuses its end.
    if (this.disk.faults === this.faultsBefore || !isExcusable(error)) {
      this.recorder.violation(`${this.name} stopped by itself: ${error.stack ?? error.message}`)
    }
    this.startLater(this.random.between(50, 1000))
  }

  private traced(event: TraceEvent | { readonly type: string }): void {
    this.recorder.count(`server: ${event.type}`)
    // Predictions of a leader with a wrong tree stay in all logs.
    if (event.type === 'digestMismatch' && this.recorder.ensemble?.treesMayDiffer !== true) {
      this.recorder.violation(`${this.name} found that its tree has not the digest it must have`)
    }
  }
}

function howOf(event: ZabEvent): string {
  if (event.type !== 'synchronizing') return ''
  return ` (${event.plan}${event.fromDisk ? ' from disk' : ''})`
}

function describeZab({ type, ...rest }: ZabEvent): string {
  const details = Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`)
  return [type, ...details].join(', ')
}

/** The kind of a file, for statistics. */
function kindOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return /^(new\.)?(log|snapshot)|Epoch/.exec(name)?.[0] ?? 'directory'
}
