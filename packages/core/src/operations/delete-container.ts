import { codes, errorCodes } from '@zabra/protocol'
import type { ProjectedNode } from '../state/projection/projection.ts'
import { field, isTtlOwner, ttlOf } from '../state/tree/layout.ts'
import { applyDelete, stageRemoval, undeletable } from './deleting.ts'
import type { WriteOperation } from './operation.ts'
import { hasParent } from './preparation.ts'

interface Reclaimed {
  readonly path: string
  readonly neverUsedMsMax: number
}

/** Deletes a container or TTL node that is due. The server itself makes this request. */
export const deleteContainer: WriteOperation<'deleteContainer', Reclaimed> = {
  // Apache allows this request to every client, without checking permissions.
  decode: () => errorCodes.badArguments,

  prepare({ path, neverUsedMsMax }, p) {
    const scanned = p.db.tree.scan(path)
    if (!hasParent(scanned) || undeletable.has(path)) return errorCodes.badArguments
    const parent = p.projection.loadParent(scanned)
    const node = p.projection.load(path)
    if (parent === undefined || node === undefined) return errorCodes.noNode
    if (node.childCount > 0) return errorCodes.notEmpty
    if (p.db.tree.sessionOf(node.owner) !== 0n || node.owner === 0n) return errorCodes.badVersion
    if (!isDue(node, p.time, BigInt(neverUsedMsMax))) return errorCodes.badVersion
    stageRemoval(p, node, parent)
    return { type: codes.deleteContainer, body: { path } }
  },

  apply: (db, header, txn) => applyDelete(db, header, txn.body.path),
}

/** A node that was changed, or deleted and created again, since the scan found it is not due. */
function isDue(node: ProjectedNode, time: bigint, neverUsedMsMax: bigint): boolean {
  const ageMs = time - node.view.getBigInt64(field.mtime)
  if (isTtlOwner(node.owner)) return ageMs > ttlOf(node.owner)
  return node.createCount > 0 || (neverUsedMsMax > 0n && ageMs > neverUsedMsMax)
}
