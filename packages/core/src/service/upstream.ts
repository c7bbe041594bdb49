import type { Reader, Txn, TxnHeader } from '@zabra/protocol'
import type { Session, SessionTracker } from './sessions/tracker.ts'
import type { ClientConnection } from './connection.ts'
import type { WriteTicket } from './write-ticket.ts'

/**
 * Where a pipeline's writes and sessions go: to the proposer of this very server, or through it
 * to that of the leader. What was taken comes back as committed transactions.
 */
export interface Upstream {
  /** False while nothing can be made durable: writes are refused, reads go on. */
  readonly acceptsWrites: boolean
  /** There is no quorum: only reads are served, and only to those who can do with them. */
  readonly isReadOnly?: boolean
  /** Where sessions begin without a transaction, known to this server alone: those that do. */
  readonly localSessions?: SessionTracker
  /** Takes the write whose body the reader stands at; a MalformedError says it cannot be read. */
  write(ticket: WriteTicket, body: Reader): void
  /** Nothing more is read for the moment: writes that wait to be decided together are decided. */
  decidePending?(): void
  /** All that has come is read: clients may be answered, and read from again. */
  readonly allRead?: (() => void) | undefined
  /** The connection's session id and timeout are those wanted. */
  createSession(ticket: WriteTicket): void
  closeSession(ticket: WriteTicket): void
  /** Where a sync must be asked of another server; the pipeline answers it as a read otherwise. */
  sync?(ticket: WriteTicket): void
  /** Somebody with the right password wants to go on: answered by `resumed`, now or later. */
  resumeSession(connection: ClientConnection, sessionId: bigint): void
  /** The session as known here, once it exists. */
  sessionOf(sessionId: bigint): Session | undefined
  /** A client was heard of. */
  touch(connection: ClientConnection): void
  /** A transaction was applied; its requester is answered right after this. */
  applied(header: TxnHeader, txn: Txn): void
  /** Time passed: sessions that this upstream decides about may expire. */
  tick?(): void
}
