import { guarded } from './guarded.ts'
import type { Host } from './host.ts'
import { formatZxid } from './stat.ts'
import type { SessionInfo, State } from './state.ts'

/** Receives messages for operators: `console`, or a logger with such methods. */
export interface Logger {
  info?(message: string): void
  warn(message: string): void
}

const checkEveryMs = 1000
/**
 * The event loop counts as blocked if a timer is this late, or late by a tenth of the session
 * timeout.
 */
const blockedMsMax = 1000
const clockJumpMs = 1000
/** Slow requests come in bursts: one line per second, with the number of the others. */
const slowEveryMs = 1000

type Facts = Readonly<Record<string, string | number | bigint | undefined>>

/** Turns events of a session into log lines: a sentence, then `key=value`. */
export class OperatorLog {
  private readonly logger: Logger
  private readonly host: Host
  private readonly blockedMs: number
  /** Why each server could not be reached since the last connection. */
  private readonly problems = new Map<string, string>()
  private attempts = 0
  private rounds = 0
  private suspended: { readonly atMs: number; readonly server: string } | undefined
  private lastSlowAtMs = -Infinity
  private unsaidSlow = 0
  private stopChecking: (() => void) | undefined

  constructor(logger: Logger, host: Host, sessionTimeoutMs: number) {
    this.logger = logger
    this.host = host
    this.blockedMs = Math.min(blockedMsMax, sessionTimeoutMs / 10)
  }

  start(): void {
    this.check(this.host.nowMs() + checkEveryMs, this.clockOffsetMs())
  }

  stop(): void {
    this.stopChecking?.()
  }

  attemptFailed(server: string, serverCount: number, error: Error): void {
    this.problems.set(server, reasonOf(error))
    this.attempts++
    if (this.attempts % serverCount !== 0) return
    this.rounds++
    // After 1, 2, 4, 8... rounds, so that a service that is down overnight does not fill the disk.
    if ((this.rounds & (this.rounds - 1)) !== 0) return
    for (const [at, reason] of this.problems)
      this.warn('cannot connect to server', { server: at, rounds: this.rounds, reason })
  }

  state(state: State, cause: Error | undefined): void {
    switch (state.name) {
      case 'connected':
        this.connected(state)
        break
      case 'suspended': {
        const { session, expiresAtMs } = state
        this.suspended = { atMs: this.host.nowMs(), server: this.lastServer }
        const expiresInMs = Math.round(expiresAtMs - this.host.nowMs())
        const reason = cause === undefined ? undefined : reasonOf(cause)
        const server = this.lastServer
        this.warn('session suspended: connection lost', {
          ...factsOf(session),
          server,
          expiresInMs,
          reason,
        })
        break
      }
      case 'expired':
        this.suspended = undefined
        this.warn('session expired: ephemeral nodes and watches are gone', factsOf(state.session))
        break
      case 'closed':
        this.say('client closed', {})
        break
      case 'connecting':
        break
    }
  }

  private lastServer = ''

  private connected({ session, resumed, readOnly, server }: State & { name: 'connected' }): void {
    const before = this.suspended
    this.suspended = undefined
    this.problems.clear()
    this.attempts = this.rounds = 0
    this.lastServer = server
    const facts = { ...factsOf(session), server }
    if (resumed && before !== undefined) {
      const afterMs = Math.round(this.host.nowMs() - before.atMs)
      const hasMoved = before.server !== server
      if (hasMoved) this.warn('session moved', { ...facts, from: before.server, afterMs })
      else this.warn('session resumed', { ...facts, afterMs })
    } else this.say(resumed ? 'session taken over' : 'session established', facts)
    if (readOnly) this.warn('server has no quorum: read-only', facts)
  }

  slow(operation: string, path: string | undefined, ms: number): void {
    const nowMs = this.host.nowMs()
    if (nowMs - this.lastSlowAtMs < slowEveryMs) {
      this.unsaidSlow++
      return
    }
    const others = this.unsaidSlow === 0 ? undefined : this.unsaidSlow
    this.lastSlowAtMs = nowMs
    this.unsaidSlow = 0
    this.warn('slow request', { operation, path, durationMs: Math.round(ms), others })
  }

  authRefused(scheme: string, server: string, error: Error): void {
    this.warn('server refused identity', { scheme, server, reason: reasonOf(error) })
  }

  private check(dueMs: number, offsetMs: number | undefined): void {
    this.stopChecking = this.host.timer(checkEveryMs, () => {
      const nowMs = this.host.nowMs()
      const lateMs = nowMs - dueMs
      if (lateMs >= this.blockedMs)
        this.warn('event loop blocked: heartbeats wait', { blockedMs: Math.round(lateMs) })
      const nowOffsetMs = this.clockOffsetMs()
      const jumpMs =
        offsetMs === undefined || nowOffsetMs === undefined ? 0 : nowOffsetMs - offsetMs
      if (Math.abs(jumpMs) >= clockJumpMs)
        this.warn('system clock jumped', { jumpMs: Math.round(jumpMs) })
      this.check(nowMs + checkEveryMs, nowOffsetMs)
    })
  }

  /** Compares the wall clock with the monotonic one. */
  private clockOffsetMs(): number | undefined {
    const wallMs = this.host.wallMs?.()
    return wallMs === undefined ? undefined : wallMs - this.host.nowMs()
  }

  private warn(what: string, facts: Facts): void {
    this.write('warn', what, facts)
  }

  private say(what: string, facts: Facts): void {
    this.write('info', what, facts)
  }

  /** An error of the logger must not stop the session. */
  private write(level: 'info' | 'warn', what: string, facts: Facts): void {
    const told = Object.entries(facts).flatMap(([key, value]) =>
      value === undefined ? [] : [` ${key}=${quoted(value)}`],
    )
    const { logger, host } = this
    guarded(host, () => logger[level]?.(`zabra client: ${what}${told.join('')}`))
  }
}

function factsOf({ id, timeoutMs }: SessionInfo): Facts {
  return { session: formatZxid(id), sessionTimeoutMs: timeoutMs }
}

function quoted(value: string | number | bigint): string {
  const told = String(value)
  return /[\s"=]/.test(told) ? JSON.stringify(told) : told
}

/** Node joins the failures of several addresses under an empty message. */
export function reasonOf(error: Error): string {
  // OpenSSL's messages are lines of its source; its reason is for people.
  const { library, reason } = error as { readonly library?: string; readonly reason?: string }
  if (library === 'SSL routines' && reason !== undefined) return `TLS: ${reason}`
  if (error.message !== '') return error.message
  const causes = 'errors' in error && Array.isArray(error.errors) ? (error.errors as Error[]) : []
  const told = causes.map(({ message }) => message).join('; ')
  return told === '' ? String(Reflect.get(error, 'code') ?? error.name) : told
}
