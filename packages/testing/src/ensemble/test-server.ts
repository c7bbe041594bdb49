import { mkdirSync, rmSync } from 'node:fs'
import { setTimeout as pass } from 'node:timers/promises'
import type { Overrides } from '@zabra/server'
import type { FaultLink } from '../network/fault-link.ts'
import type { Role, SessionEnd } from './messages.ts'
import { ServerProcess } from './server-process.ts'

/** What a server of an ensemble needs of the others. */
export interface Surroundings {
  /** The settings of this server, for its next start. */
  config(): Overrides
  readonly directory: string
  /** Where clients reach it, whatever becomes of it. */
  readonly address: () => string
  /** It listens from now on, or not any more. */
  up(clientPort: number | undefined): Promise<void>
  /** All its connections: those of clients, and those with other servers. */
  links(): readonly FaultLink[]
  isolate(): void
  changed(): void
}

export interface StopOptions {
  /** End it at once, as `kill -9` does, instead of letting it stop in peace. */
  readonly kill?: boolean | undefined
}

/** Windows keeps files of a thread that has just ended for a moment. */
const removeOptions = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const

/** One server of an ensemble. */
export class TestServer {
  /** From 1. */
  readonly id: number
  private readonly surroundings: Surroundings
  private readonly lines: string[] = []
  private process: ServerProcess | undefined
  private isStarting = false

  constructor(id: number, surroundings: Surroundings) {
    this.id = id
    this.surroundings = surroundings
  }

  /** `host:port`: for clients that are to meet this server alone. It stays the same over restarts. */
  get connectString(): string {
    return this.surroundings.address()
  }

  /** URL of the admin port; undefined unless `admin.enableServer` is set. */
  get adminAddress(): string | undefined {
    return this.process?.adminAddress
  }

  get state(): 'running' | 'paused' | 'stopped' {
    const { process } = this
    if (process === undefined || process.isGone) return 'stopped'
    return process.isPaused ? 'paused' : 'running'
  }

  /** What it takes itself for; undefined while it is stopped or paused. */
  get role(): Role | undefined {
    return this.process?.status?.role
  }

  /** Whether it answers clients: it is on its own, leads with a quorum, or follows a leader. */
  get isServing(): boolean {
    return this.process?.status?.isServing === true
  }

  /** Of the newest transaction it has applied. */
  get epoch(): bigint {
    return this.process?.status?.epoch ?? -1n
  }

  /** Its data directory; logs and snapshots are in `version-2` below it. */
  get directory(): string {
    return this.surroundings.directory
  }

  /** What it has said, the last lines of it. */
  get log(): readonly string[] {
    return this.lines
  }

  /** Why it ended by itself, if it did: a full disk for example, or a bug. */
  get failure(): Error | undefined {
    return this.process?.failure
  }

  /**
   * Resolves once its client port is open; in an ensemble it may serve only later.
   *
   *     await server.stop()
   *     await server.start()
   */
  async start(): Promise<void> {
    if (this.isStarting || this.state !== 'stopped') return
    this.isStarting = true
    const { surroundings, lines } = this
    try {
      mkdirSync(surroundings.directory, { recursive: true })
      const process = await ServerProcess.start(surroundings.config(), lines, {
        changed: () => this.changed(),
      })
      this.process = process
      await surroundings.up(process.clientPort)
    } catch (error) {
      throw new Error(`server ${this.id} does not start: ${(error as Error).message}`, {
        cause: error,
      })
    } finally {
      this.isStarting = false
    }
    surroundings.changed()
  }

  /**
   * Stops in peace: what was acknowledged is on disk, connections are ended.
   *
   *     await server.stop() // refuses connections
   */
  async stop({ kill = false }: StopOptions = {}): Promise<void> {
    const { process } = this
    if (process === undefined || process.isGone) return
    if (kill) await process.kill()
    else await process.stop()
  }

  /**
   * As `kill -9`: ends at whatever it does. What it has written to files is there.
   *
   *     await server.kill() // as by kill -9
   */
  kill(): Promise<void> {
    return this.stop({ kill: true })
  }

  /**
   * Stops and starts, on the same directory and the same port.
   *
   *     await server.restart({ kill: true })
   */
  async restart(options?: StopOptions): Promise<void> {
    await this.stop(options)
    await this.start()
  }

  /**
   * Lets it stand still, as a long collection of garbage or SIGSTOP does: its connections stay open,
   * and nothing is answered. With `forMs` it goes on by itself. Resolves once it stands still.
   *
   *     await server.pause({ forMs: 5000 })
   */
  async pause({ forMs }: { readonly forMs?: number | undefined } = {}): Promise<void> {
    const { process } = this
    await process?.pause()
    if (forMs !== undefined)
      void pass(forMs, undefined, { ref: false }).then(() => process?.resume())
  }

  /**
   * It goes on as if no time had passed.
   *
   *     await server.pause()
   *     await server.resume()
   */
  async resume(): Promise<void> {
    await this.process?.resume()
  }

  /**
   * Everything to it and from it arrives so much later, until `heal` of the ensemble.
   *
   *     server.slow(100)
   */
  slow(ms: number, options?: { readonly jitterMs?: number | undefined }): void {
    for (const link of this.surroundings.links()) link.delay(ms, options)
  }

  /**
   * Cuts it off from the other servers; clients still reach it. Until `heal` of the ensemble.
   *
   *     server.isolate() // clients still reach it
   */
  isolate(): void {
    this.surroundings.isolate()
  }

  /**
   * Loses everything on its disk; it must be stopped. It comes back empty, and gets everything from its
   * leader. That is safe for one of three: a majority that loses its disks has lost data.
   *
   *     await server.stop()
   *     server.loseDisk()
   *     await server.start() // with everything from the leader
   */
  loseDisk(): void {
    if (this.state !== 'stopped' || this.isStarting)
      throw new Error(`server ${this.id} runs: stop or kill it before it loses its disk`)
    rmSync(this.directory, removeOptions)
  }

  /** @internal */
  endSession(id: bigint): Promise<SessionEnd> {
    return this.process?.endSession(id) ?? Promise.resolve('again')
  }

  private changed(): void {
    const { process, surroundings } = this
    if (process?.isGone === true) void surroundings.up(undefined)
    surroundings.changed()
  }
}
