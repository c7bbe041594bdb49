import type { Reader, Txn, TxnHeader } from '@zabra/protocol'
import type { Session, SessionTracker } from './sessions/tracker.ts'
import type { ClientConnection } from './connection.ts'
import type { WriteTicket } from './write-ticket.ts'

/**
 * Takes a pipeline's writes and sessions: the proposer of this server, or a connection to that of the
 * leader. What it takes comes back as committed transactions.
 */
export interface Upstream {
  /** False while nothing can be made durable: writes are refused, reads are served. */
  readonly acceptsWrites: boolean
  /** There is no quorum: only read-only clients are served. */
  readonly isReadOnly?: boolean
  /** The sessions that only this server knows, if sessions begin without a transaction. */
  readonly localSessions?: SessionTracker
  /** Takes the write whose body the reader is at. Throws a MalformedError if it cannot be read. */
  write(ticket: WriteTicket, body: Reader): void
  /** Nothing more is read for the moment: writes that wait to be decided together are decided. */
  decidePending?(): void
  /** Everything that has arrived is read: clients may be answered, and read from again. */
  readonly allRead?: (() => void) | undefined
  /** Creates a session with the connection's session id and timeout. */
  createSession(ticket: WriteTicket): void
  closeSession(ticket: WriteTicket): void
  /** Forwards a sync to the leader. Without this the pipeline answers it as a read. */
  sync?(ticket: WriteTicket): void
  /** A client with the right password resumes a session; answered by `resumed`, now or later. */
  resumeSession(connection: ClientConnection, sessionId: bigint): void
  /** The session, once it exists here. */
  sessionOf(sessionId: bigint): Session | undefined
  /** A client has sent something. */
  touch(connection: ClientConnection): void
  /** A transaction was applied; its requester is answered right after this. */
  applied(header: TxnHeader, txn: Txn): void
  /** Time passed: sessions that this upstream decides about may expire. */
  tick?(): void
}
