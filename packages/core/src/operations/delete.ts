import { codes, DeleteRequest, errorCodes, permissions, type TypeOf } from '@zabra/protocol'
import { applyDelete, stageRemoval, undeletable } from './deleting.ts'
import type { WriteOperation } from './operation.ts'
import { hasParent, isVersionWrong, mayDo } from './preparation.ts'

export const deleteNode: WriteOperation<'delete', TypeOf<typeof DeleteRequest>> = {
  decode: (body) => DeleteRequest.read(body),

  prepare({ path, version }, p) {
    const scanned = p.db.tree.scan(path)
    if (!hasParent(scanned) || undeletable.has(path)) return errorCodes.badArguments
    const parent = p.projection.loadParent(scanned)
    if (parent === undefined) return errorCodes.noNode
    if (!mayDo(p, parent.acl, permissions.delete)) return errorCodes.noAuth
    const node = p.projection.load(path)
    if (node === undefined) return errorCodes.noNode
    if (isVersionWrong(version, node.version)) return errorCodes.badVersion
    if (node.childCount > 0) return errorCodes.notEmpty
    stageRemoval(p, node, parent)
    return { type: codes.delete, body: { path } }
  },

  apply: (db, header, txn) => applyDelete(db, header, txn.body.path),
}
