import {
  codes,
  defaultPacketFieldBytesMax,
  encodeText,
  errorCodes,
  parentOf,
} from '@zabra/protocol'
import { applyDelete, stageRemoval } from './deleting.ts'
import type { WriteOperation } from './operation.ts'

/** Bytes of a transaction that are not the list of paths. */
const headRoomBytes = 1024

/**
 * Ends a session. The server makes this transaction when a client closes its session or the session
 * expires.
 */
export const closeSession: WriteOperation<'closeSession', { readonly sessionId: bigint }> = {
  /**
   * Deletes all ephemerals of the session in one transaction, including those of pending proposals.
   */
  prepare({ sessionId }, p) {
    const paths = p.projection.ephemeralsOf(sessionId)
    for (const path of paths) {
      const node = p.projection.load(path)
      const parent = p.projection.load(parentOf(path))
      if (node !== undefined && parent !== undefined) stageRemoval(p, node, parent)
    }
    const isListed = p.rules.closeSessionPaths && fits(paths, p.rules)
    return { type: codes.closeSession, body: { paths2Delete: isListed ? paths : undefined } }
  },

  apply(db, header, { body }) {
    db.sessions.delete(header.clientId)
    for (const path of body.paths2Delete ?? []) applyDelete(db, header, path)
    const ids = [...db.tree.ephemeralsOf(header.clientId)]
    for (const id of ids) db.tree.keepForSnapshots(id)
    const left = ids.map((id) => db.tree.pathOf(id))
    for (const path of left) applyDelete(db, header, path)
    return errorCodes.ok
  },
}

/** Whether the list fits. Without it, each server deletes everything that the session owns. */
function fits(paths: readonly string[], { txnBytesMax = defaultPacketFieldBytesMax }): boolean {
  let bytes = headRoomBytes
  for (const path of paths) bytes += 4 + encodeText(path).length
  return bytes <= txnBytesMax
}
