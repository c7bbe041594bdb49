import type { ServerAddress } from '../host.ts'
import type { Connection, SessionSettings } from '../machine/session-machine.ts'
import type { SessionInfo } from '../state.ts'
import type { NodeHostOptions } from './node-host.ts'

/** The initial data of the worker. */
export interface WorkerTask {
  readonly settings: SessionSettings
  readonly servers: readonly ServerAddress[]
  readonly host: NodeHostOptions
}

/**
 * Messages from the client to its worker. They count connections, because the client may learn late
 * that one is lost: a message for that one must not be sent on the next.
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

/** Messages from the worker to its client. Times use the clock that all threads share. */
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
