import type { ServerAddress } from '../host.ts'
import type { Connection, SessionSettings } from '../machine/session-machine.ts'
import type { SessionInfo } from '../state.ts'
import type { NodeHostOptions } from './node-host.ts'

/** What the worker is given when it starts. */
export interface WorkerTask {
  readonly settings: SessionSettings
  readonly servers: readonly ServerAddress[]
  readonly host: NodeHostOptions
}

/**
 * What the client tells its worker. It counts connections, because it may hear late that one is
 * lost: what was meant for that one must not be said on the next.
 */
export type ToWorker =
  | {
      readonly type: 'send'
      readonly connection: number
      readonly bytes: Uint8Array
      readonly frames: number
    }
  | { readonly type: 'leave'; readonly connection: number; readonly cause: Error }
  | { readonly type: 'servers'; readonly servers: readonly ServerAddress[] }
  | { readonly type: 'end' }

/** What the worker tells its client. Times are those of the clock that all threads share. */
export type FromWorker =
  | { readonly type: 'connected'; readonly connection: Connection; readonly facts: Facts }
  /** Whole frames, one after another. */
  | { readonly type: 'frames'; readonly bytes: Uint8Array; readonly facts: Facts }
  | { readonly type: 'facts'; readonly facts: Facts }
  | {
      readonly type: 'suspended'
      readonly session: SessionInfo
      readonly expiresAtMs: number
      readonly cause: Error
    }
  | {
      readonly type: 'attemptFailed'
      readonly server: ServerAddress
      readonly cause: Error
    }
  | { readonly type: 'expired'; readonly session: SessionInfo }

export interface Facts {
  readonly lastZxid: bigint
  readonly aliveUntilMs: number
}
