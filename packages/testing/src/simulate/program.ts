import { Client, ZabraError, type SessionInfo, type State } from '@zabra/client'
import type { Channel, Host } from '@zabra/client/internal'
import { ProgramProcess, wallStartMs, type Cluster, type Random } from '@zabra/simulator'
import type { ProgramMain, ProgramTools, Settings } from './options.ts'
import { tell, type Problem } from './problem.ts'
import { runAs, type VirtualProcess } from './virtual/virtual-process.ts'

/** Reports of a program to its run. */
export interface ProgramEvents {
  trace(line: () => string): void
  /** The program has done something. */
  acted(): void
  violated(problem: Problem): void
}

/** The probability that the kernel does not accept a write at once. */
const backlogChances = [0, 0.1, 0.5]
/** The maximum drift of clocks, faster or slower. */
const rateSpread = 0.01
/** How long a supervisor waits before it starts a program again. */
const supervisorMs = 200
/**
 * Errors with which a program may end during faults. Its supervisor starts it again.
 */
const usualCodes: ReadonlySet<string> = new Set([
  'connectionLoss',
  'sessionExpired',
  'timeout',
  'closed',
  'lost',
])

/** A program of the user. It pauses, dies and restarts, until it returns. */
export class SimulatedProgram {
  readonly name: string
  /** The program has returned. */
  isDone = false
  /** The reason why the last failed life ended. */
  lastFailure: string | undefined
  private readonly parts: ProgramParts
  private readonly rate: number
  private life: Life | undefined
  private lives = 0
  private isEnding = false

  constructor(parts: ProgramParts) {
    this.parts = parts
    this.name = parts.name
    this.rate = 1 + (parts.random.fork('rate').next() * 2 - 1) * rateSpread
  }

  /** Whether faults can hit it. */
  get isRunning(): boolean {
    return this.life?.isOver === false && !this.isDone
  }

  get sessions(): readonly SessionInfo[] {
    return this.life?.openSessions ?? []
  }

  /** The last call that it waits for, if known. */
  get lastCall(): string | undefined {
    return this.life?.lastCall
  }

  start(): void {
    if (this.isDone || this.life?.isOver === false) return
    const number = ++this.lives
    this.parts.events.trace(() => `${this.name} starts${number === 1 ? '' : `, life ${number}`}`)
    this.life = new Life(this.parts, number, this.rate, {
      returned: () => {
        this.isDone = true
        this.parts.events.trace(() => `${this.name} ends`)
      },
      failed: (error) => this.failed(error),
    })
    if (this.isEnding) this.life.askToEnd()
  }

  pause(forMs: number): void {
    const { life } = this
    life?.process.pause()
    this.parts.cluster.world.after(forMs, () => this.resume(life))
  }

  resume(life = this.life): void {
    if (life?.isOver !== false || !life.process.isPaused) return
    this.parts.events.trace(() => `${this.name} continues`)
    life.process.resume()
  }

  crash(how: 'killed' | 'without power', forMs: number): void {
    this.life?.die(how)
    this.parts.cluster.world.after(forMs, () => this.start())
  }

  resetConnections(): void {
    this.life?.process.resetConnections()
  }

  tearConnections(): void {
    this.life?.process.tearConnections(() => true)
  }

  /** Aborts the signal of this life and of all later ones. */
  askToEnd(): void {
    this.isEnding = true
    this.life?.askToEnd()
  }

  /** The run is over. */
  end(): void {
    this.isDone = true
    this.life?.die('killed')
  }

  private failed(error: unknown): void {
    const { events } = this.parts
    const isUsual = error instanceof ZabraError && usualCodes.has(error.code)
    this.lastFailure = tell(error)
    events.trace(() => `${this.name} fails: ${tell(error)}`)
    if (isUsual) {
      this.crash('killed', supervisorMs)
      return
    }
    const message = `${this.name} rejects with ${tell(error)}`
    events.violated({ kind: 'program', name: this.name, message, cause: error })
  }
}

export interface ProgramParts {
  readonly name: string
  readonly index: number
  readonly main: ProgramMain
  readonly cluster: Cluster
  readonly random: Random
  readonly settings: Settings
  readonly connectString: string
  readonly events: ProgramEvents
}

interface LifeEvents {
  returned(): void
  failed(error: unknown): void
}

/** The reason with which the signal of a program aborts. */
class EndOfRun extends Error {
  override readonly name = 'EndOfRun'
}

/** One life of a program, as a process. */
class Life implements VirtualProcess {
  readonly name: string
  readonly process: ProgramProcess
  readonly host: Host
  lastCall: string | undefined
  private readonly parts: ProgramParts
  private readonly chance: Random
  private readonly controller = new AbortController()
  private readonly events: LifeEvents
  private readonly number: number
  private ownClient: Client | undefined
  private readonly sessions = new Map<bigint, SessionInfo>()

  constructor(parts: ProgramParts, number: number, rate: number, events: LifeEvents) {
    const { name, cluster } = parts
    const random = parts.random.fork(`life ${number}`)
    this.parts = parts
    this.name = name
    this.events = events
    this.number = number
    this.chance = random.fork('program')
    this.process = new ProgramProcess({
      name,
      world: cluster.world,
      network: cluster.network,
      random: random.fork('host'),
      rate,
      backlogChance: random.pick(backlogChances),
      onUncaught: (error) => this.violated(`throws ${tell(error)}, which nobody catches`, error),
      within: (work) => {
        parts.events.acted()
        runAs(this, work)
      },
    })
    this.host = this.makeHost()
    this.process.timer(0, () => void this.live())
  }

  get isOver(): boolean {
    return !this.process.isAlive
  }

  get openSessions(): readonly SessionInfo[] {
    return [...this.sessions.values()]
  }

  die(how: 'killed' | 'without power'): void {
    if (this.process.isAlive) this.process.die(how)
  }

  askToEnd(): void {
    this.process.timer(0, () => this.controller.abort(new EndOfRun('the run is about to end')))
  }

  private async live(): Promise<void> {
    try {
      await this.parts.main(this.tools())
    } catch (error) {
      if (!this.isAskedToEnd(error)) {
        this.events.failed(error)
        return
      }
    }
    try {
      await this.ownClient?.close()
    } finally {
      this.events.returned()
    }
  }

  /** Whether it ended as requested: with the reason of its signal, or an error caused by it. */
  private isAskedToEnd(error: unknown): boolean {
    const { signal } = this.controller
    if (!signal.aborted) return false
    return error === signal.reason || (error instanceof Error && error.name === 'AbortError')
  }

  private tools(): ProgramTools {
    const { parts, process } = this
    const { settings, connectString, cluster } = parts
    const makeClient = (): Client =>
      (this.ownClient ??= new Client({
        ...settings.client,
        servers: connectString,
        host: this.host,
      }))
    return {
      get client() {
        return makeClient()
      },
      connectString,
      sleep: (ms) => process.sleep(ms),
      now: () => cluster.world.nowMs,
      random: () => this.random(),
      signal: this.controller.signal,
      name: this.name,
      index: parts.index,
      life: this.number,
      log: (text) => this.say(text),
    }
  }

  // --- the interface of Node for its code --------------------------------------------------------

  nowMs(): number {
    return this.process.nowMs()
  }

  wallMs(): number {
    return Math.floor(wallStartMs + this.process.wallMs())
  }

  random(): number {
    return this.chance.next()
  }

  timer(ms: number, callback: () => void): () => void {
    return this.process.timer(ms, callback)
  }

  say(text: string): void {
    if (!this.isOver) this.parts.events.trace(() => `${this.name}: ${text}`)
  }

  refuse(what: string): Error {
    const message = `${what}, which no simulation has: pass the program a stand-in`
    const error = new Error(`${this.name} ${message}`)
    this.violated(message, error)
    return error
  }

  rejectedUnhandled(reason: unknown): void {
    this.violated(`leaves a rejection unhandled: ${tell(reason)}`, reason)
  }

  private violated(what: string, cause: unknown): void {
    const message = `${this.name} ${what}`
    this.parts.events.trace(() => message)
    this.parts.events.violated({ kind: 'program', name: this.name, message, cause })
  }

  // --- the host of its clients -------------------------------------------------------------------

  private makeHost(): Host {
    const { process, parts } = this
    const servers = new Set(parts.cluster.servers.map(({ name }) => name))
    return {
      nowMs: () => process.nowMs(),
      wallMs: () => this.wallMs(),
      random: () => process.random(),
      timer: (ms, callback) => process.timer(ms, callback),
      defer: (callback) => process.defer(callback),
      open: (server, events) => {
        if (!servers.has(server.host))
          throw this.refuse(`connects to ${server.host}, not to its connectString`)
        return process.open(server, events)
      },
      channel: (name) => this.channels[name] ?? silent,
      processName: this.name,
    }
  }

  /** Messages of clients on diagnostics channels, which become part of the trace. */
  private readonly channels: Readonly<Record<string, Channel>> = {
    'zabra:client:state': publishing((message) =>
      this.onState((message as { state: State }).state),
    ),
    'tracing:zabra:client:request:start': publishing((message) => {
      this.lastCall = describeCall(message as RequestMessage)
    }),
    'tracing:zabra:client:request:asyncEnd': publishing((message) => {
      this.parts.events.trace(() => `${this.name} > ${describeCall(message as RequestMessage)}`)
    }),
  }

  private onState(state: State): void {
    if (state.name === 'connected') this.sessions.set(state.session.id, state.session)
    if (state.name === 'expired') this.sessions.delete(state.session.id)
    this.parts.events.trace(() => `${this.name} is ${describeState(state)}`)
  }
}

const silent: Channel = { hasSubscribers: false, publish: () => {} }

function publishing(publish: (message: unknown) => void): Channel {
  return { hasSubscribers: true, publish }
}

/** Parts of a `RequestTrace` of the client. */
interface RequestMessage {
  readonly operation: string
  readonly path: string | undefined
  readonly durationMs?: number
  readonly result?: unknown
  readonly error?: unknown
}

function describeCall({ operation, path, durationMs, result, error }: RequestMessage): string {
  const call = `${operation}${path === undefined ? '' : ` ${path}`}`
  if (durationMs === undefined) return call
  if (error !== undefined)
    return `${call} fails: ${error instanceof ZabraError ? error.code : tell(error)}`
  const made = (result as { path?: unknown } | undefined)?.path
  return typeof made === 'string' && made !== path ? `${call} makes ${made}` : call
}

function describeState(state: State): string {
  switch (state.name) {
    case 'connected':
      return `connected to ${state.server}, ${state.resumed ? 'in the same' : 'with a new'} session`
    case 'suspended':
      return 'suspended: its connection is lost'
    case 'expired':
      return 'its session has expired'
    default:
      return state.name
  }
}
