import type { ServerAddress } from './host.ts'

/** Whoever keeps a session alive for a client: in its own thread, or in another one. */
export interface SessionLink {
  readonly lastZxid: bigint
  /** One timeout after the last thing that the server surely heard. */
  readonly aliveUntilMs: number
  /** After which `drained` is told once there is room again. */
  readonly isFull: boolean
  start(): void
  /** `bytes` hold so many frames; answers whether their buffer may be reused at once. */
  send(bytes: Uint8Array, frames: number): boolean
  /** Leaves the present server for another one; the session stays. */
  leave(cause: Error): void
  /** Other servers from now on; the present one is left if it is not among them. */
  setServers(servers: readonly ServerAddress[]): void
  end(): void
}
