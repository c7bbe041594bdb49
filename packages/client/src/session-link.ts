import type { ServerAddress } from './host.ts'

/** Keeps a session alive for a client, in its own thread or in another one. */
export interface SessionLink {
  readonly lastZxid: bigint
  /** The time of the last message that the server certainly received, plus the timeout. */
  readonly aliveUntilMs: number
  /** Bytes after which `drained` is called once there is room again. */
  readonly isFull: boolean
  start(): void
  /** `bytes` contain this many frames; returns whether their buffer may be reused at once. */
  send(bytes: Uint8Array, frames: number): boolean
  /** Leaves the current server for another one; the session stays. */
  leave(cause: Error): void
  /** Replaces the servers; the client leaves its server if it is not among them. */
  setServers(servers: readonly ServerAddress[]): void
  end(): void
}
