import type { ServerAddress } from '../host.ts'
import { isSameServer } from './server-list.ts'

/**
 * Pause between two servers of one round, so that not all clients of a lost server arrive at once.
 */
const stepJitterMs = 20
const firstBackoffMs = 100
const backoffMsMax = 2000
/**
 * A connection that ends sooner is followed by a pause; otherwise two clients of one session would
 * take it from each other without end.
 */
const steadyMs = 1000

/** Chooses the next server, and the pause before connecting to it. */
export class ServerRotation {
  private servers: ServerAddress[]
  private readonly random: () => number
  private readonly backoffMsMax: number
  private position = -1
  private asideOffset = 0
  private failures = 0
  private connectedAtMs = 0

  constructor(servers: readonly ServerAddress[], random: () => number, sessionTimeoutMs: number) {
    this.servers = shuffled(servers, random)
    this.random = random
    // A session must not expire only because of a pause.
    this.backoffMsMax = Math.max(firstBackoffMs, Math.min(backoffMsMax, sessionTimeoutMs / 10))
  }

  get count(): number {
    return this.servers.length
  }

  has(server: ServerAddress): boolean {
    return this.servers.some((one) => isSameServer(one, server))
  }

  /**
   * Replaces the servers; the next one is the one after `present`, if it is in the new list.
   * Failures are forgotten. Returns whether the list changed.
   */
  replace(servers: readonly ServerAddress[], present: ServerAddress | undefined): boolean {
    const isNamed = (server: ServerAddress): boolean =>
      servers.some((one) => isSameServer(one, server))
    if (servers.every((one) => this.has(one)) && this.servers.every(isNamed)) return false
    this.servers = shuffled(servers, this.random)
    this.position = this.servers.findIndex(
      (one) => present !== undefined && isSameServer(one, present),
    )
    this.asideOffset = 0
    this.failures = 0
    return true
  }

  /** How often all servers were tried without success. */
  get rounds(): number {
    return Math.floor(this.failures / this.count)
  }

  /** The first attempt is immediate; after each round without success the pause grows. */
  next(): { readonly server: ServerAddress; readonly delayMs: number } {
    this.position = (this.position + 1) % this.count
    return { server: this.servers[this.position]!, delayMs: this.delayMs() }
  }

  failed(): void {
    this.failures++
  }

  /** A server answered, even if only that it does not know our session. */
  answered(): void {
    this.failures = 0
  }

  /** The server after the current one, to query it separately. */
  peek(): ServerAddress {
    this.asideOffset = (this.asideOffset % this.count) + 1
    return this.servers[(this.position + this.asideOffset) % this.count]!
  }

  /** Makes this server the next one, without a pause. */
  prefer(server: ServerAddress): void {
    this.failures = 0
    const index = this.servers.findIndex((one) => isSameServer(one, server))
    if (index >= 0) this.position = (index + this.count - 1) % this.count
  }

  connected(nowMs: number): void {
    this.connectedAtMs = nowMs
  }

  /** The pauses grow only if a connection was useless, that is, if nothing was answered on it. */
  lost(nowMs: number, wasUseful: boolean): void {
    if (nowMs - this.connectedAtMs >= steadyMs) this.failures = 0
    else if (wasUseful) this.failures = 1
    else this.failures++
  }

  private delayMs(): number {
    if (this.failures === 0) return 0
    if (this.failures % this.count !== 0) return this.random() * stepJitterMs
    const round = this.failures / this.count
    const ms = Math.min(this.backoffMsMax, firstBackoffMs * 2 ** Math.min(round - 1, 10))
    return ms * (0.5 + this.random() / 2)
  }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[result[i], result[j]] = [result[j]!, result[i]!]
  }
  return result
}
