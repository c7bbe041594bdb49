import type { codes, Reader, Txn, TxnHeader, WriteName, Writer, writes } from '@zabra/protocol'
import type { ByteKeeper } from '../base/byte-keeper.ts'
import type { Database } from '../state/database.ts'
import type { Tree } from '../state/tree/tree.ts'
import type { Watcher } from '../state/watch/watches.ts'
import type { Preparation, PreparedTxn } from './preparation.ts'

/** The transaction of a write. */
export type TxnFor<Name extends WriteName> = Extract<
  PreparedTxn | Extract<Txn, { type: typeof codes.multi }>,
  { type: (typeof writes)[Name]['code'] }
>

/** An operation that becomes a transaction. `Request` is the decoded form of the request. */
export interface WriteOperation<Name extends WriteName, Request> {
  /**
   * Decodes a client's request from bytes that stay valid; a number is the error that refuses it.
   * Throws a MalformedError for bytes that are no such request. Operations without `decode` belong
   * to the server: no client may send them.
   */
  decode?(body: Reader, tree: Tree, keeper: ByteKeeper): Request | number
  /**
   * Makes the transaction from the projected state; runs only on the server that decides. A number
   * is the error that refuses the request.
   */
  prepare(request: Request, preparation: Preparation): TxnFor<Name> | number
  /**
   * Changes the database; runs on every server. A transaction carries results, so this neither
   * decides nor fails: an error that it returns was found in `prepare`, or is a harmless effect of
   * replaying what a fuzzy snapshot already contains.
   */
  apply(db: Database, header: TxnHeader, txn: TxnFor<Name>): number
  /** Writes the reply body, right after `apply`; absent for an empty body. */
  result?(tree: Tree, txn: TxnFor<Name>, out: Writer): void
}

/** A connection, as far as reads are concerned. */
export interface Requester extends Watcher {
  readonly sessionId: bigint
  /** The maximum size of the reply to one multiRead. */
  readonly multiReadBytesMax: number
}

/** An operation that a server answers from its own state. */
export interface ReadOperation {
  /** Writes the body of the reply to `out` and returns the error code. */
  answer(db: Database, from: Requester, request: Reader, out: Writer): number
  /** If true, the reply keeps its body when `answer` returns an error. */
  readonly keepsBodyOnError?: boolean
  /** If true, `answer` sends notifications, which leave before the reply. The reply has no body. */
  readonly notifiesFirst?: boolean
}
