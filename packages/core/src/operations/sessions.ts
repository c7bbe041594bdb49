import {
  defaultPacketFieldBytesMax,
  encodeText,
  errorCodes,
  parentOf,
  type CloseSessionTxn,
  type CreateSessionTxn,
  type TxnHeader,
} from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import { applyDelete, stageRemoval } from './delete.ts'
import type { Preparation, Prepared } from './preparation.ts'

/** For what surrounds the list. */
const headRoomBytes = 1024

export function prepareCreateSession(timeoutMs: number): Prepared {
  return { type: -10, body: { timeOut: timeoutMs } }
}

/** All ephemerals of the session go in one transaction, those still being created included. */
export function prepareCloseSession(sessionId: bigint, p: Preparation): Prepared {
  const paths = p.projection.ephemeralsOf(sessionId)
  for (const path of paths) {
    const node = p.projection.load(path)
    const parent = p.projection.load(parentOf(path))
    if (node !== undefined && parent !== undefined) stageRemoval(p, node, parent)
  }
  const isListed = p.rules.closeSessionPaths && fits(paths, p.rules)
  return { type: -11, body: { paths2Delete: isListed ? paths : undefined } }
}

/** Without the list, whatever the session owns goes, and nobody has to read what is too long. */
function fits(paths: readonly string[], { txnBytesMax = defaultPacketFieldBytesMax }): boolean {
  let bytes = headRoomBytes
  for (const path of paths) bytes += 4 + encodeText(path).length
  return bytes <= txnBytesMax
}

export function applyCreateSession(db: Database, header: TxnHeader, txn: CreateSessionTxn): number {
  db.sessions.set(header.clientId, txn.timeOut)
  return errorCodes.ok
}

export function applyCloseSession(db: Database, header: TxnHeader, txn: CloseSessionTxn): number {
  db.sessions.delete(header.clientId)
  for (const path of txn.paths2Delete ?? []) applyDelete(db, header, path)
  const left = [...db.tree.ephemeralsOf(header.clientId)].map((id) => db.tree.pathOf(id))
  for (const path of left) applyDelete(db, header, path)
  return errorCodes.ok
}
