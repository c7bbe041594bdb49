import { onAbort } from './abort-signals.ts'
import { throwLater } from './guarded.ts'
import { Listeners } from './listeners.ts'
import { checkOptions } from './check-options.ts'
import { checkTimeout } from './calls/arguments.ts'
import { DefaultDeadlines } from './calls/deadlines.ts'
import { lateError, limit } from './calls/limit.ts'
import * as kinds from './calls/kinds.ts'
import { ClosedError, SessionExpiredError, TimeoutError } from './errors.ts'
import { withHiddenPassword } from './hidden.ts'
import { ambientHost, type Host, type ServerAddress } from './host.ts'
import { Call } from './machine/call.ts'
import {
  authKind,
  Conversation,
  type Credentials,
  type IdentityRefusal,
} from './machine/conversation.ts'
import { formatServer, parseOtherServers, parseServers } from './machine/server-list.ts'
import { ServerRotation } from './machine/server-rotation.ts'
import type { SessionEvents, SessionSettings } from './machine/session-machine.ts'
import { WatchRegistry } from './machine/watch-registry.ts'
import { digestMd5 } from './node-host/digest-md5.ts'
import { nodeHost } from './node-host/node-host.ts'
import { WorkerLink } from './node-host/worker-link.ts'
import { OperatorLog, reasonOf } from './operator-log.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { Paths } from './paths.ts'
import { RequestStats, type ClientStats } from './request-stats.ts'
import { SessionDriver } from './session-driver.ts'
import type { SessionLink } from './session-link.ts'
import type { SessionInfo, State } from './state.ts'
import { Traces, type AuthRefusal } from './traces.ts'

export type StateListener = (state: State, before: State) => void
export type AuthListener = (refusal: AuthRefusal) => void

const defaultSessionTimeoutMs = 30_000
/** The largest value that the protocol can represent. */
const sessionTimeoutMsMax = 0x7fffffff
const defaultRepeatsMax = 10
const defaultCallTimeoutMs = 30_000
const defaultConnectTimeoutMs = 15_000
const defaultSlowRequestMs = 5000
/** The default `jute.maxbuffer` of servers. */
const defaultRequestBytesMax = 0xfffff
/**
 * How long closing a session may take on a connection, and how long to look for a server to close
 * it on.
 */
const closeMsMax = 5000
const closeSuspendedMsMax = 1000

/** A client without its operations: its session, its state, and its pending calls. */
export class LiveSession {
  readonly host: Host
  readonly paths: Paths
  readonly watches: WatchRegistry
  readonly conversation: Conversation
  private readonly link: SessionLink
  private readonly renews: boolean
  private readonly stateListeners: Listeners<Parameters<StateListener>>
  private readonly closingListeners: Listeners<[]>
  private readonly authListeners: Listeners<Parameters<AuthListener>>
  private readonly traces: Traces
  private readonly log: OperatorLog | undefined
  private readonly stats = new RequestStats()
  private readonly counts = { connections: 0, failedAttempts: 0, suspensions: 0, expiries: 0 }
  private readonly connectTimeoutMs: number
  private readonly deadlines: DefaultDeadlines | undefined
  private readonly hasCallerStacks: boolean
  private current: State = { name: 'connecting' }
  private closing: Promise<void> | undefined
  /** The session of an earlier client, which is not resumed yet. */
  private hasSessionToResume: boolean
  private readonly untold: { readonly state: State; readonly before: State }[] = []
  private isTelling = false
  /** Why the last attempt to connect failed. */
  private lastProblem: Error | undefined
  /** Why there is no connection now. */
  private readonly problem = (): Error | undefined =>
    this.current.name === 'connected' ? undefined : this.lastProblem
  /** Why each server could not be reached since the last connection. */
  private readonly problems = new Map<string, Error>()
  private serverNames: string
  private serverCount: number
  /** The server of the current connection or the last one. */
  private serverName = ''
  /** Why the client is closed, unless the program closed it. */
  private failure: unknown

  constructor(options: ClientOptions) {
    const { servers, chroot } = parseServers(options.servers)
    const { sasl } = options
    checkOptions(options)
    this.serverNames = namesOf(servers)
    this.serverCount = servers.length
    this.hasCallerStacks = options.callerStacks ?? false
    this.connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs
    this.hasSessionToResume = options.session !== undefined
    const simulated = options.host === undefined ? ambientHost() : undefined
    this.host = options.host ?? simulated ?? nodeHost(options)
    this.stateListeners = new Listeners(this.host)
    this.closingListeners = new Listeners(this.host)
    this.authListeners = new Listeners(this.host)
    this.paths = new Paths(chroot)
    this.traces = new Traces(this.host)
    this.renews = (options.onExpiry ?? 'renew') === 'renew'
    this.watches = new WatchRegistry(this.paths.fromServer, (error) => throwLater(this.host, error))
    const { logger, callTimeoutMs = defaultCallTimeoutMs } = options
    const timeoutMs = Math.min(
      options.sessionTimeoutMs ?? defaultSessionTimeoutMs,
      sessionTimeoutMsMax,
    )
    this.log = logger && new OperatorLog(logger, this.host, timeoutMs)
    this.deadlines =
      callTimeoutMs === Infinity
        ? undefined
        : new DefaultDeadlines(this.host, callTimeoutMs, (tick) =>
            this.conversation.expire(tick, (call) =>
              lateError(call, callTimeoutMs, this.problem()),
            ),
          )
    // A simulated program has one thread.
    const linked = simulated === undefined ? options : { ...options, keepAlive: 'loop' as const }
    this.link = this.makeLink(linked, servers, {
      timeoutMs,
      readOnly: options.readOnly ?? false,
      renews: this.renews,
      resume: options.session,
      connectMs: options.connectTimeoutMs,
    })
    const flush = (): void => this.conversation.flush()
    this.conversation = new Conversation(this.link, () => this.host.defer(flush), this.watches, {
      repeatsMax: options.retry?.repeatsMax ?? defaultRepeatsMax,
      requestBytesMax: options.requestBytesMax ?? defaultRequestBytesMax,
      nowMs: () => this.host.nowMs(),
      stats: this.stats,
      slowMs: logger === undefined ? Infinity : (options.slowRequestMs ?? defaultSlowRequestMs),
      onSlow: ({ kind, path }, ms) => this.log?.slow(kind.name, path, ms),
      sasl: sasl === undefined ? undefined : () => digestMd5(sasl),
      onRejected: (error) => this.finish(error),
      onIdentityRefused: (refusal) => this.onIdentityRefused(refusal),
    })
  }

  start(): void {
    this.log?.start()
    this.link.start()
  }

  /** The deadline of calls that set none; undefined if there is none. */
  get callTimeoutMs(): number | undefined {
    return this.deadlines?.timeoutMs
  }

  /** The printed form of a client, without its secrets. */
  get description(): { readonly servers: string; readonly state: string; readonly server: string } {
    const { serverNames: servers, serverName: server, current } = this
    return { servers, state: current.name, server }
  }

  get statistics(): ClientStats {
    const { stats, counts, conversation, watches } = this
    const { repeats, unanswered, bytesSent, bytesReceived, notifications } = stats
    return {
      operations: stats.operations(),
      latency: stats.latency(),
      ...conversation.load,
      repeats,
      unanswered,
      bytesSent,
      bytesReceived,
      watches: watches.size,
      notifications,
      ...counts,
    }
  }

  get state(): State {
    return this.current
  }

  /** The current session, connected or suspended. */
  get session(): SessionInfo | undefined {
    const { current } = this
    return current.name === 'connected' || current.name === 'suspended'
      ? current.session
      : undefined
  }

  get lastZxid(): bigint {
    return this.link.lastZxid
  }

  /** How many sessions have expired so far. */
  get expiries(): number {
    return this.counts.expiries
  }

  get aliveUntilMs(): number {
    return this.link.aliveUntilMs
  }

  get isClosed(): boolean {
    return this.closing !== undefined || this.current.name === 'closed'
  }

  closedError(path?: string): unknown {
    return this.failure ?? new ClosedError({ path })
  }

  onState(listener: StateListener): () => void {
    return this.stateListeners.add(listener)
  }

  onClosing(listener: () => void): () => void {
    return this.closingListeners.add(listener)
  }

  onAuthRefused(listener: AuthListener): () => void {
    return this.authListeners.add(listener)
  }

  /** `hasDefault`: a call without a deadline gets that of the client. */
  connected(options: CallOptions, hasDefault: boolean): Promise<void> {
    const { signal } = options
    const timeoutMs = options.timeoutMs ?? (hasDefault ? this.connectTimeoutMs : undefined)
    checkTimeout(timeoutMs)
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    if (this.current.name === 'connected') return Promise.resolve()
    if (this.current.name === 'closed') return Promise.reject(this.closedError())
    return new Promise((resolve, reject) => {
      const stop: (() => void)[] = []
      const settle = (act: () => void): void => {
        for (const undo of stop) undo()
        act()
      }
      stop.push(
        this.onState(({ name }) => {
          if (name === 'connected') settle(resolve)
          if (name === 'closed') settle(() => reject(this.closedError()))
        }),
      )
      if (signal !== undefined)
        stop.push(onAbort(signal, () => settle(() => reject(signal.reason))))
      if (timeoutMs === undefined) return
      const late = (): void => {
        const { lastProblem: cause, serverNames } = this
        const what = `no connection to ${this.reasons() || serverNames}`
        settle(() => reject(new TimeoutError(timeoutMs, false, { cause }, what)))
      }
      stop.push(this.host.timer(timeoutMs, late))
    })
  }

  /** Which servers could not be reached, and why. */
  private reasons(): string {
    const told = [...this.problems].map(([server, error]) => `${server} (${reasonOf(error)})`)
    return told.join(', ')
  }

  /**
   * Sends a call, now or once there is a connection. `hasDefault` is for calls without a deadline.
   */
  issue<Request, Result>(
    call: Call<Request, Result>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    hasDefault: boolean,
  ): Promise<Result> {
    if (this.hasCallerStacks) captureCaller(call)
    if (this.isClosed) return Promise.reject(this.closedError(call.path))
    if (signal !== undefined || timeoutMs !== undefined) {
      checkTimeout(timeoutMs)
      if (signal?.aborted === true) return Promise.reject(signal.reason)
      limit(call, { signal, timeoutMs }, this.host, this.problem)
    }
    if (hasDefault && timeoutMs === undefined && this.deadlines !== undefined)
      call.deadlineTick = this.deadlines.next()
    if (!this.traces.wantsRequests) return this.conversation.submit(call)
    const place = { server: this.serverName, sessionId: this.session?.id }
    return this.traces.request(call, place, () => this.conversation.submit(call))
  }

  /** Whether anything is watched on this path, or is about to be. */
  watchesAnything(serverPath: string): boolean {
    return this.watches.has(serverPath) || this.conversation.isToWatch(serverPath)
  }

  /** Presents an identity. Giving up waiting does not withdraw it. */
  authenticate(identity: Credentials, { signal, timeoutMs }: CallOptions): Promise<void> {
    checkTimeout(timeoutMs)
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    const call = new Call(authKind, identity)
    if (signal !== undefined || timeoutMs !== undefined)
      limit(call, { signal, timeoutMs }, this.host, this.problem)
    return this.conversation.authenticate(call)
  }

  setServers(text: string | readonly string[]): void {
    const servers = parseOtherServers(text, this.paths.chroot)
    if (this.current.name === 'closed') return
    this.serverNames = namesOf(servers)
    this.serverCount = servers.length
    this.problems.clear()
    this.link.setServers(servers)
  }

  close(): Promise<void> {
    if (this.closing !== undefined) return this.closing
    let said!: (goodbye: Promise<void>) => void
    this.closing = new Promise((resolve) => (said = resolve))
    this.tellClosing()
    said(this.sayGoodbye())
    return this.closing
  }

  /**
   * Ends the client without ending the session, once its sent requests are answered. Undefined if
   * there is no session.
   */
  async detach({ signal, timeoutMs = closeMsMax }: CallOptions): Promise<SessionInfo | undefined> {
    checkTimeout(timeoutMs)
    signal?.throwIfAborted()
    if (this.isClosed) throw this.closedError()
    let said!: (goodbye: Promise<void>) => void
    this.closing = new Promise((resolve) => (said = resolve))
    this.tellClosing()
    const detached = this.answered(timeoutMs, signal).then(() => {
      const { session } = this
      this.finish(undefined)
      return session
    })
    said(detached.then(() => {}))
    return detached
  }

  /** Resolves when no sent request awaits its reply, or when time is up. */
  private answered(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const stop: (() => void)[] = []
      const end = (): void => {
        for (const undo of stop) undo()
        resolve()
      }
      if (this.current.name !== 'connected') return end()
      // Replies come in order, so the reply to the last request is the last one.
      const last = new Call(kinds.exists, { path: '/', watch: false })
      this.conversation.submit(last).then(end, end)
      stop.push(this.host.timer(timeoutMs, end))
      if (signal !== undefined) stop.push(onAbort(signal, end))
    })
  }

  /** Called before the server gives away what this session holds. */
  private tellClosing(): void {
    this.closingListeners.call()
  }

  private onIdentityRefused({ scheme, error, isTold }: IdentityRefusal): void {
    const refusal: AuthRefusal = { scheme, server: this.serverName, error }
    this.traces.authRefused(refusal)
    this.log?.authRefused(scheme, this.serverName, error)
    if (isTold) return
    this.authListeners.call(refusal)
  }

  /** Ends everything at once, with this reason if there is one. */
  finish(failure: unknown): void {
    if (this.current.name === 'closed') return
    this.failure = failure
    this.link.end()
    this.log?.stop()
    this.deadlines?.stop()
    this.change({ name: 'closed' })
    this.conversation.abandon(({ path }) => this.closedError(path))
    this.watches.clear(this.closedError())
  }

  private makeLink(
    options: ClientOptions,
    servers: readonly ServerAddress[],
    settings: SessionSettings,
  ): SessionLink {
    const events = this.sessionEvents()
    if (options.keepAlive === 'worker') {
      const { unref, tls, answerPollMicros } = options
      const task = { settings, servers, host: { unref, tls, answerPollMicros } }
      return new WorkerLink(task, events, (cause) => this.finish(new ClosedError({ cause })))
    }
    const random = (): number => this.host.random()
    const rotation = new ServerRotation(servers, random, settings.timeoutMs)
    const onDrained = (): void => this.conversation.drained()
    return new SessionDriver(this.host, settings, rotation, events, onDrained)
  }

  private sessionEvents(): SessionEvents {
    return {
      connected: ({ session: granted, resumed, readOnly, server: address }) => {
        const session = withHiddenPassword(granted)
        this.counts.connections++
        this.problems.clear()
        const server = formatServer(address)
        const state: State = { name: 'connected', session, resumed, readOnly, server }
        this.hasSessionToResume = false
        this.serverName = server
        this.change(state)
        // A listener may have left the server, or closed the client.
        if (this.current === state) this.conversation.connected()
      },
      frame: (bytes, start, end) => this.conversation.frame(bytes, start, end),
      received: () => this.conversation.received(),
      suspended: (session, expiresAtMs, cause) => {
        this.counts.suspensions++
        this.lastProblem = cause
        this.conversation.lost(cause)
        this.change({ name: 'suspended', session: withHiddenPassword(session), expiresAtMs })
      },
      attemptFailed: (address, error) => {
        const server = formatServer(address)
        this.counts.failedAttempts++
        this.lastProblem = error
        this.problems.set(server, error)
        this.traces.attemptFailed(server, error)
        this.log?.attemptFailed(server, this.serverCount, error)
      },
      expired: (session) => this.onExpired(withHiddenPassword(session)),
    }
  }

  private onExpired(session: SessionInfo): void {
    this.counts.expiries++
    this.hasSessionToResume = false
    const errorFor = ({ path, wasSent, kind }: Call): SessionExpiredError =>
      new SessionExpiredError(wasSent && !kind.isRead, { path })
    this.conversation.abandon(errorFor)
    this.change({ name: 'expired', session })
    // A listener may have closed it.
    if (this.state.name === 'closed') return
    if (!this.renews) {
      this.finish(new SessionExpiredError(false))
      return
    }
    this.change({ name: 'connecting' })
    this.watches.clear(new SessionExpiredError(false))
  }

  private change(state: State): void {
    this.untold.push({ state, before: this.current })
    this.current = state
    if (this.isTelling) return
    this.isTelling = true
    for (let news = this.untold.shift(); news !== undefined; news = this.untold.shift())
      this.tell(news.state, news.before)
    this.isTelling = false
  }

  private tell(state: State, before: State): void {
    this.traces.state(state, before)
    this.log?.state(state, this.lastProblem)
    this.stateListeners.call(state, before)
  }

  private async sayGoodbye(): Promise<void> {
    const { name } = this.current
    const isAwaited = this.conversation.hasWaiting || this.hasSessionToResume
    if (name === 'connected' || name === 'suspended' || (name === 'connecting' && isAwaited)) {
      const call = new Call(kinds.closeSession, {})
      const patienceMs = name === 'connected' ? closeMsMax : closeSuspendedMsMax
      const cancel = this.host.timer(patienceMs, () => call.succeed(undefined))
      await this.conversation.submit(call).catch(() => {})
      cancel()
    }
    this.finish(undefined)
  }
}

/** Hides the stack frames of the client itself. */
function captureCaller<Request, Result>(call: Call<Request, Result>): void {
  const origin: { stack?: string } = {}
  Error.captureStackTrace(origin)
  call.origin = origin
}

function namesOf(servers: readonly ServerAddress[]): string {
  return servers.map(formatServer).join(', ')
}
