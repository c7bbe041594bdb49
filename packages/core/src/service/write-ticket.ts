import type { Id } from '@zabra/protocol'
import type { ClientConnection } from './connection.ts'

/** A client's write from the moment it is read until it is applied and answered. */
export interface WriteTicket {
  readonly kind: 'write'
  /** Gets the reply, if it is still open. */
  readonly connection: ClientConnection
  readonly xid: number
  /** The operation that was asked for; the transaction may be of another type: an error. */
  readonly type: number
  readonly receivedMs: number
  /** The decoded request, until the write is prepared. */
  request: unknown
  /** Input for the audit log; undefined if there is none. */
  audited: { readonly request: Uint8Array; readonly identities: readonly Id[] } | undefined
  /** The body of a sync, whose path is only echoed. */
  readonly body?: Uint8Array
  /** The error to reply with if it fails, instead of the leader's. */
  refusal?: number
  /** Its length, if it counts against the bytes in flight. */
  weighedBytes?: number
}
