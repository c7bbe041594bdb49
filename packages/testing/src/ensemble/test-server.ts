import { mkdirSync, rmSync } from 'node:fs'
import { setTimeout as pass } from 'node:timers/promises'
import type { Overrides } from '@zabra/server'
import type { FaultLink } from '../network/fault-link.ts'
import type { Role, SessionEnd } from './messages.ts'
import { ServerProcess } from './server-process.ts'

/** The parts of its ensemble that a server needs. */
export interface Surroundings {
  /** The settings of this server, for its next start. */
  config(): Overrides
  readonly directory: string
  /** Where clients reach it, also after a restart. */
  readonly address: () => string
  /** Frees the ports of the server, which are kept from other processes while it does not run. */
  vacate(): Promise<void>
  /** The server has started to listen on this port, or has stopped listening. */
  up(clientPort: number | undefined): Promise<void>
  /** All its connections, with clients and with other servers. */
  links(): readonly FaultLink[]
  isolate(): void
  changed(): void
}

export interface StopOptions {
  /** End it at once, as `kill -9` does, instead of stopping it cleanly. */
  readonly kill?: boolean | undefined
}

/** On Windows, the files of a thread that has just ended stay locked for a moment. */
const removeOptions = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const

/** One server of an ensemble. */
export class TestServer {
  /** Counted from 1. */
  readonly id: number
  private readonly surroundings: Surroundings
  private readonly lines: string[] = []
  private process: ServerProcess | undefined
  private isStarting = false

  constructor(id: number, surroundings: Surroundings) {
    this.id = id
    this.surroundings = surroundings
  }

  /** `host:port`, for clients that should connect to this server only. It survives restarts. */
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

  /** The role that it believes to have; undefined while it is stopped or paused. */
  get role(): Role | undefined {
    return this.process?.status?.role
  }

  /** Whether it serves clients: it is standalone, leads with a quorum, or follows a leader. */
  get isServing(): boolean {
    return this.process?.status?.isServing === true
  }

  /** The epoch of the newest transaction it has applied. */
  get epoch(): bigint {
    return this.process?.status?.epoch ?? -1n
  }

  /** Its data directory; logs and snapshots are in `version-2` below it. */
  get directory(): string {
    return this.surroundings.directory
  }

  /** The last lines of its log. */
  get log(): readonly string[] {
    return this.lines
  }

  /** Why it ended by itself, if it did: for example, a full disk or a bug. */
  get failure(): Error | undefined {
    return this.process?.failure
  }

  /**
   * Resolves once its client port is open; in an ensemble it may serve clients only later.
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
      await surroundings.vacate()
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
   * Stops cleanly: everything acknowledged is on disk, and connections are closed.
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
   * Ends at once, like `kill -9`. Its files keep what it has written.
   *
   *     await server.kill()
   */
  kill(): Promise<void> {
    return this.stop({ kill: true })
  }

  /**
   * Stops and starts it, on the same directory and the same port.
   *
   *     await server.restart({ kill: true })
   */
  async restart(options?: StopOptions): Promise<void> {
    await this.stop(options)
    await this.start()
  }

  /**
   * Pauses it, as a long garbage collection or SIGSTOP does: its connections stay open, and it
   * answers nothing. With `forMs` it resumes by itself. Resolves once it is paused.
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
   * Continues as if no time had passed.
   *
   *     await server.pause()
   *     await server.resume()
   */
  async resume(): Promise<void> {
    await this.process?.resume()
  }

  /**
   * Delays all bytes to it and from it, until `heal` of the ensemble.
   *
   *     server.slow(100)
   */
  slow(ms: number, options?: { readonly jitterMs?: number | undefined }): void {
    for (const link of this.surroundings.links()) link.delay(ms, options)
  }

  /**
   * Cuts it off from the other servers, until `heal` of the ensemble; clients still reach it.
   *
   *     server.isolate()
   */
  isolate(): void {
    this.surroundings.isolate()
  }

  /**
   * Deletes everything on its disk; it must be stopped. It comes back empty, and gets everything
   * from its leader. That is safe for one of three servers: if a majority loses its disks, data is
   * lost.
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
    // While it starts again, its ports are about to be its own.
    if (process?.isGone === true && !this.isStarting) void surroundings.up(undefined)
    surroundings.changed()
  }
}
