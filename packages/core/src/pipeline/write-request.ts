import type { Txn, TxnHeader } from '@zabra/protocol'
import type { ClientConnection } from './connection.ts'

/** A write from the moment it is prepared until it is applied and answered. */
export interface WriteRequest {
  readonly kind: 'write'
  /** Who gets the reply; undefined for what the server asks of itself. */
  readonly connection: ClientConnection | undefined
  readonly xid: number
  /** The operation that was asked for; the transaction may be of another type: an error. */
  readonly type: number
  readonly header: TxnHeader
  readonly txn: Txn
  readonly receivedMs: number
  /** The digest the tree must have afterwards. */
  readonly digestHigh: number
  readonly digestLow: number
}
