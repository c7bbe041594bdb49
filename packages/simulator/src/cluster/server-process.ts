import {
  AssertionError,
  EnsemblePeer,
  Journal,
  loadDatabase,
  Peer,
  recordInto,
  type Authenticator,
  type BatchSource,
  type ClientConnection,
  type ClientLink,
  type Database,
  type Disk,
  type Host,
  type PeerPorts,
  type TraceEvent,
} from '@zabra/core'
import { codes, decodeText, Reader } from '@zabra/protocol'
import { plantQuota } from '../history/derived.ts'
import type { Mutant } from './mutant.ts'
import type { Network, StreamEnd } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import type { SimDisk } from '../world/sim-disk.ts'
import type { World } from '../world/world.ts'
import { writeSnapshotsAsApache } from './apache-snapshots.ts'
import { joinEnsemble, WatchedLog, WatchedTxnLog, type EnsembleEvents } from './join-ensemble.ts'
import { schemes, type ServerOptions } from './server-options.ts'
import type { SimPeerNetwork } from './sim-peer-network.ts'

/** Events that a process reports to its server. */
export interface ProcessEvents extends EnsembleEvents {
  /** It serves; the database is as recovery left it. */
  started(db: Database): void
  /** It ended by itself, or a disk fault kept it from starting. */
  ended(error: Error): void
  traced(event: TraceEvent | { readonly type: string }): void
  /** A session was expired after this silence by the server's own clock. */
  expired(sessionId: bigint, silentMs: number, timeoutMs: number): void
}

/** The clocks of one process: each runs at its own rate, and the wall clock may jump. */
export interface ProcessClock {
  readonly rate: number
  wallOffsetMs: number
}

/** The time of day when a world begins. */
export const wallStartMs = 1_700_000_000_000

/** One life of a server, until a crash ends it. It is driven as the real host drives it. */
export class ServerProcess {
  peer: Peer | EnsemblePeer | undefined
  journal: Journal | undefined
  isServing = false
  isStopping = false
  /** Its connections to the other servers of an ensemble. */
  peerNetwork: SimPeerNetwork | undefined
  /** How often it was resumed after a pause. */
  resumes = 0
  private readonly name: string
  private readonly network: Network
  private running: Promise<void> = Promise.resolve()
  private isAlive = true
  private isPaused = false
  private backlog: (() => void)[] = []
  private readonly world: World
  private readonly disk: Disk
  private readonly simDisk: SimDisk
  private readonly options: ServerOptions
  private readonly clock: ProcessClock
  private readonly random: Random
  private readonly events: ProcessEvents
  private readonly mutant: Mutant | undefined
  private readonly startedAtMs: number
  private readonly links = new Set<Link>()
  /** Connections that the kernel has accepted and a paused process has not processed yet. */
  private readonly accepted = new Set<StreamEnd>()
  private dirty: { flush(): void }[] = []
  private isTurnScheduled = false
  /** By the server's own clock. */
  private readonly lastHeardMs = new Map<bigint, number>()
  /** Sessions that were active here since the last report to the leader. */
  private heard = new Set<bigint>()
  /**
   * When its leadership began, by its own clock: a new leader restarts the timeout of each session.
   */
  private ledSinceMs = 30

  constructor(parts: {
    name: string
    network: Network
    world: World
    disk: SimDisk
    options: ServerOptions
    clock: ProcessClock
    random: Random
    events: ProcessEvents
    mutant: Mutant | undefined
  }) {
    this.name = parts.name
    this.network = parts.network
    this.world = parts.world
    this.simDisk = parts.disk
    this.options = parts.options
    this.clock = parts.clock
    this.random = parts.random
    this.events = parts.events
    this.mutant = parts.mutant
    this.startedAtMs = parts.world.nowMs
    const mounted = parts.disk.mount((work) => this.enter(work))
    this.disk = parts.mutant?.disk?.(mounted, parts.disk) ?? mounted
    this.boot().catch((error: unknown) => this.end(error as Error))
  }

  get alive(): boolean {
    return this.isAlive
  }

  get paused(): boolean {
    return this.isPaused
  }

  /** Runs work as part of the process: later if it is paused, never if it has ended. */
  enter(work: () => void): void {
    if (!this.isAlive) return
    if (this.isPaused) {
      this.backlog.push(work)
      return
    }
    try {
      work()
    } catch (error) {
      this.end(error as Error)
    }
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    if (this.isPaused) this.resumes++
    this.isPaused = false
    const { backlog } = this
    this.backlog = []
    for (const work of backlog) this.enter(work)
  }

  /** Ends the process at once; the kernel closes its sockets. */
  kill(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.isServing = false
    this.simDisk.kill()
    for (const stream of this.streams()) stream.close()
    this.peerNetwork?.die('close')
  }

  /** Ends the machine at once; no socket is closed. */
  losePower(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.isServing = false
    this.simDisk.losePower()
    for (const stream of this.streams()) stream.vanish()
    this.peerNetwork?.die('vanish')
  }

  /** Like the server's `stop`: everything acknowledged is on disk, then connections end. */
  async stop(): Promise<void> {
    if (this.isStopping || !this.isAlive) return
    this.isStopping = true
    this.isServing = false
    for (const link of this.links) link.pause()
    try {
      if (this.peer instanceof EnsemblePeer) {
        await this.peer.finish()
        this.peer.stop()
        this.flush()
      }
      await this.running
      await this.journal?.stop()
    } catch (error) {
      this.end(error as Error)
    }
    if (!this.isAlive) return
    for (const link of this.links) link.close()
    this.flush()
    this.kill()
  }

  private streams(): StreamEnd[] {
    return [...[...this.links].map(({ stream }) => stream), ...this.accepted]
  }

  accept(stream: StreamEnd, address: string): void {
    this.accepted.add(stream)
    this.enter(() => {
      this.accepted.delete(stream)
      const { peer } = this
      if (!this.isServing || peer === undefined) {
        stream.close()
        return
      }
      this.setTime()
      const link = new Link(this, stream, address)
      link.connection = peer.open(link)
      this.listen(link.connection)
      this.links.add(link)
      stream.onBytes = (bytes) => this.enter(() => this.receive(link, bytes))
      stream.onClosed = () =>
        this.enter(() => {
          this.setTime()
          this.links.delete(link)
          peer.closed(link.connection)
        })
      stream.resume()
    })
  }

  flushLater(flushable: { flush(): void }): void {
    this.dirty.push(flushable)
    this.scheduleTurn()
  }

  closedByUs(link: Link): void {
    this.links.delete(link)
  }

  private end(error: Error): void {
    if (!this.isAlive) return
    this.kill()
    this.events.ended(error)
  }

  private get monotonicMs(): number {
    // Like `performance.now()`: it starts with the process.
    return 30 + (this.world.nowMs - this.startedAtMs) * this.clock.rate
  }

  private get wallMs(): number {
    return Math.floor(wallStartMs + this.world.nowMs * this.clock.rate + this.clock.wallOffsetMs)
  }

  private setTime(): void {
    this.peer?.setTime(Math.floor(this.monotonicMs), this.wallMs)
  }

  private async boot(): Promise<void> {
    const { options, disk } = this
    const { snapshotDir, logDir } = options.journal
    const committedLog = new WatchedLog(options.ensemble?.commitLogCount ?? 0, (zxid, payload) =>
      this.events.applied(zxid, payload),
    )
    const recovery = {
      snapshotDir,
      logDir,
      trace: (event: { readonly type: string }) => this.events.traced(event),
    }
    const remember = options.ensemble === undefined ? undefined : recordInto(committedLog)
    const { db, recovered } = await loadDatabase(disk, recovery, options.database, remember)
    plantQuota(db, options.quota)
    if (options.writesAsApache) writeSnapshotsAsApache(db)
    this.mutant?.loaded?.(db)
    this.events.started(db)
    const log = new WatchedTxnLog(disk, {
      directory: logDir,
      preAllocBytes: options.preAllocBytes,
      forceSync: options.forceSync,
      lastZxid: db.lastZxid,
      extentDirectory: snapshotDir,
    })
    log.tell = (zxid, isReplaced) => this.events.logged(zxid, isReplaced)
    const ports = { authenticator, trace: (event: TraceEvent) => this.traced(event) }
    const makeJournal = (source: BatchSource): Journal =>
      new Journal(
        {
          source,
          log,
          disk,
          host: this.host(),
          trace: (event) => this.events.traced(event),
          turn: (work) => this.turn(work),
        },
        options.journal,
        (error) => this.end(error),
      )
    const peer =
      options.ensemble === undefined
        ? new Peer(db, options.peer, ports, this.clockNow())
        : await this.join({ db, recovery, disk, log, committedLog, ports, journal: makeJournal })
    const journal = peer instanceof EnsemblePeer ? peer.journal : makeJournal(peer)
    this.peer = peer
    this.journal = journal
    this.setTime()
    if (peer instanceof EnsemblePeer) {
      this.mutant?.joined?.(peer)
    } else {
      this.mutant?.serving?.({ peer, journal, log, db, disk })
      peer.dropOrphans()
    }
    this.scheduleTurn()
    if (recovered.recordsReplayed > options.journal.snapCount / 2) void journal.snapshot()
    this.isServing = true
    this.tickLater()
    if (!(peer instanceof EnsemblePeer)) return
    this.peerNetwork!.start()
    this.running = peer.run().catch((error: unknown) => this.end(error as Error))
  }

  private async join(
    parts: Pick<
      Parameters<typeof joinEnsemble>[0],
      'db' | 'recovery' | 'disk' | 'log' | 'committedLog' | 'journal'
    > & { ports: PeerPorts },
  ): Promise<EnsemblePeer> {
    const { options } = this
    const { peer, network } = await joinEnsemble(
      {
        ...parts,
        host: this.host(),
        network: this.network,
        peerHost: {
          name: this.name,
          turn: (work) => this.enter(() => this.turn(work)),
          nowMs: () => this.monotonicMs,
          flushLater: (wire) => this.flushLater(wire),
          tapped: {
            said: (...args) => this.events.said(...args),
            voted: (...args) => this.events.voted(...args),
            takeHeard: () => this.takeHeard(),
            told: (sessions) => {
              for (const id of sessions) {
                this.lastHeardMs.set(id, Math.floor(this.monotonicMs))
                // A follower with observers reports their sessions to its leader.
                this.heard.add(id)
              }
            },
          },
        },
        wake: () => this.scheduleTurn(),
        clock: () => this.clockNow(),
        events: {
          ...this.events,
          zab: (event) => {
            if (event.type === 'leading') this.ledSinceMs = Math.floor(this.monotonicMs)
            // The next leader knows only the sessions that are reported to it.
            if (event.type === 'looking' || event.type === 'appointed') this.heard.clear()
            this.events.zab(event)
          },
        },
      },
      options,
      options.ensemble!,
    )
    this.peerNetwork = network
    return peer
  }

  private takeHeard(): bigint[] {
    const heard = [...this.heard]
    this.heard = new Set()
    return heard
  }

  private clockNow(): { nowMs: number; wallMs: number } {
    return { nowMs: Math.floor(this.monotonicMs), wallMs: this.wallMs }
  }

  /** Like the real host: sets the time, does the work, and flushes the output. */
  private turn(work: () => void): void {
    this.setTime()
    work()
    this.flush()
  }

  private tickLater(): void {
    const { tickPeriodMs, electionTickPeriodMs } = this.options
    const { peer } = this
    const isElecting = peer instanceof EnsemblePeer && (!peer.isServing || peer.isReadOnly)
    this.world.after(isElecting ? electionTickPeriodMs : tickPeriodMs, () => {
      if (!this.isAlive || this.isStopping) return
      this.enter(() => {
        if (this.isStopping) return
        this.setTime()
        this.peer!.tick()
        if (this.peer!.hasBatch) this.scheduleTurn()
      })
      this.tickLater()
    })
  }

  private receive(link: Link, bytes: Uint8Array): void {
    const { peer } = this
    if (peer === undefined || link.isClosing) return
    this.setTime()
    peer.receive(link.connection, bytes, bytes.length)
    if (peer.hasBatch) this.scheduleTurn()
  }

  /** Records that a session was active; authentication does not count, nor what follows its end. */
  private listen(connection: ClientConnection): void {
    const read = connection.frame.bind(connection)
    connection.frame = (bytes, start, end) => {
      const { state, session, sessionId } = connection
      const isClosing = session?.isClosing === true
      const type = end - start < 8 ? 0 : new Reader(bytes, start + 4, end).int()
      const counts = !isClosing && type !== codes.auth && type !== codes.sasl
      if (state === 'open' && sessionId !== 0n && counts) {
        this.lastHeardMs.set(sessionId, Math.floor(this.monotonicMs))
        // A session that is still being created cannot be reported to the leader.
        if (this.peer?.db.sessions.has(sessionId) === true) this.heard.add(sessionId)
      }
      return read(bytes, start, end)
    }
  }

  private scheduleTurn(): void {
    if (this.isTurnScheduled) return
    this.isTurnScheduled = true
    this.world.after(0, () =>
      this.enter(() => {
        this.isTurnScheduled = false
        if (this.peer!.hasBatch) this.journal!.batchReady()
        this.flush()
      }),
    )
  }

  private flush(): void {
    const { dirty } = this
    this.dirty = []
    for (const link of dirty) link.flush()
  }

  /** The simulated kernel has accepted the output, so reads that waited for it continue. */
  drained(connection: ClientConnection): void {
    this.peer?.drained(connection)
    if (this.peer?.hasBatch === true) this.scheduleTurn()
  }

  private traced(event: TraceEvent): void {
    if (event.type === 'sessionExpired') {
      const heard = Math.max(this.lastHeardMs.get(event.sessionId) ?? 0, this.ledSinceMs)
      const silentMs = Math.floor(this.monotonicMs) - heard
      this.events.expired(event.sessionId, silentMs, event.timeoutMs)
    }
    this.events.traced(event)
  }

  private host(): Host {
    return {
      monotonicMs: () => this.monotonicMs,
      wallMs: () => this.wallMs,
      random: () => this.random.next(),
      delay: (ms) => {
        let cut!: () => void
        const done = new Promise<void>((resolve) => {
          const timer = this.world.after(ms, () => this.enter(resolve))
          cut = () => {
            timer.cancel()
            resolve()
          }
        })
        return { done, cut }
      },
    }
  }
}

/** The server's side of one connection. */
export class Link implements ClientLink {
  readonly address: string
  readonly stream: StreamEnd
  connection!: ClientConnection
  isClosing = false
  /** The simulated kernel accepts everything at once. */
  readonly unsentBytes = 0
  private readonly process: ServerProcess
  private isDirty = false

  constructor(process: ServerProcess, stream: StreamEnd, address: string) {
    this.process = process
    this.stream = stream
    this.address = address
  }

  flushSoon(): void {
    if (this.isDirty) return
    this.isDirty = true
    this.process.flushLater(this)
  }

  flushNow(): void {
    this.flushSoon()
  }

  close(): void {
    this.isClosing = true
    this.flushSoon()
  }

  pause(): void {
    this.stream.pause()
  }

  resume(): void {
    this.stream.resume()
  }

  flush(): void {
    this.isDirty = false
    const { out } = this.connection
    if (out.position > 0) {
      this.stream.send(out.written())
      out.reset()
      if (this.connection.isThrottled) this.process.drained(this.connection)
    }
    if (!this.isClosing) return
    this.stream.end()
    this.process.closedByUs(this)
  }
}

/** Accepts every identity: what is simulated is what follows from it. */
const authenticator: Authenticator = {
  schemes,
  authenticate: (scheme, token) => {
    if (scheme === 'super') return [{ scheme, id: '' }]
    return scheme === 'digest' && token !== null
      ? [{ scheme, id: digestOf(decodeText(token)) }]
      : undefined
  },
}

function digestOf(userAndPassword: string): string {
  return `${userAndPassword.split(':', 1)[0]}:hash`
}

/** Whether a fault of the disk explains the end of a server; anything else is a bug. */
export function isExcusable(error: Error): boolean {
  if (error instanceof AssertionError) return false
  return (
    ['LogFailedError', 'DiskFullError', 'RecoveryError'].includes(error.name) || 'code' in error
  )
}
