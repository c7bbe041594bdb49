import { errorCodes, type Reader, type Txn, type TxnHeader } from '@zabra/protocol'
import type { ByteKeeper } from '../base/byte-keeper.ts'
import { isClientWrite } from '../operations/index.ts'
import type { Auditor } from '../ports.ts'
import type { Database } from '../state/database.ts'
import type { ClientConnection } from './connection.ts'
import type { WriteTicket } from './write-ticket.ts'

/** Passes every write, and every refused one, to the audit log. */
export class Auditing {
  private readonly auditor: Auditor
  private readonly db: Database
  private readonly keeper: ByteKeeper

  constructor(parts: { auditor: Auditor; db: Database; keeper: ByteKeeper }) {
    this.auditor = parts.auditor
    this.db = parts.db
    this.keeper = parts.keeper
  }

  /** Copies what the audit log needs from a write, before its body is read. */
  begin(connection: ClientConnection, request: Reader): WriteTicket['audited'] {
    return { request: this.restOf(request), identities: connection.identities }
  }

  /** A write was committed, or could not be read. */
  answered(ticket: WriteTicket, zxid: bigint, txn: Txn | undefined, error: number): void {
    const { connection, type, audited, refusal } = ticket
    const { sessionId, link } = connection
    this.auditor.answered({
      ...audited!,
      sessionId,
      address: link.address,
      type,
      error: error === errorCodes.ok ? error : (refusal ?? error),
      txn,
      zxid,
    })
  }

  /** A request was refused before it went upstream. */
  refused(connection: ClientConnection, type: number, error: number, body: Reader): void {
    if (!isClientWrite(type)) return
    const { identities, sessionId, link } = connection
    const { address } = link
    const request = this.restOf(body)
    const refused = { identities, sessionId, address, type, request, error }
    this.auditor.answered({ ...refused, txn: undefined, zxid: 0n })
  }

  /** A session is about to end, and its ephemeral nodes with it. */
  sessionEnds({ clientId, zxid }: TxnHeader): void {
    const { tree } = this.db
    const paths = [...tree.ephemeralsOf(clientId)].map((id) => tree.pathOf(id))
    if (paths.length > 0) this.auditor.ephemeralsDeleted(clientId, paths, zxid)
  }

  private restOf({ view, position, end }: Reader): Uint8Array {
    return this.keeper.keep(view, position, end)
  }
}
