import { AclList, errorCodes, permissions } from '@zabra/protocol'
import { allows, maskAcl } from '../state/acl/permission.ts'
import { noNode } from '../state/tree/tree.ts'
import type { ReadOperation } from './operation.ts'
import { findNode } from './reading.ts'

export const getAcl: ReadOperation = {
  answer(db, from, request, out) {
    const id = findNode(db, request)
    if (id === noNode) return errorCodes.noNode
    const entry = db.aclOf(id)
    const { read, admin } = permissions
    if (!allows(db.options.acl, entry, read | admin, from.identities)) return errorCodes.noAuth
    const isAdmin = allows(db.options.acl, entry, admin, from.identities)
    AclList.write(out, isAdmin ? [...entry.acl] : maskAcl(entry.acl))
    db.tree.writeStat(id, out)
    return errorCodes.ok
  },
}
