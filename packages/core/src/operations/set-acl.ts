import {
  codes,
  errorCodes,
  pathProblem,
  permissions,
  SetAclRequest,
  type TypeOf,
} from '@zabra/protocol'
import { fixAcl } from '../state/acl/permission.ts'
import { field } from '../state/tree/layout.ts'
import { noNode } from '../state/tree/tree.ts'
import type { WriteOperation } from './operation.ts'
import { isVersionWrong, mayDo } from './preparation.ts'

export const setAcl: WriteOperation<'setACL', TypeOf<typeof SetAclRequest>> = {
  decode: (body) => SetAclRequest.read(body),

  prepare({ path, acl, version }, p) {
    if (path === null || pathProblem(path) !== undefined) return errorCodes.badArguments
    const fixed = fixAcl(p.db.options.acl, acl, p.caller.identities, p.caller.growth)
    if (typeof fixed === 'number') return fixed
    const node = p.projection.load(path)
    if (node === undefined) return errorCodes.noNode
    if (!mayDo(p, node.acl, permissions.admin)) return errorCodes.noAuth
    if (isVersionWrong(version, node.aversion)) return errorCodes.badVersion
    const newVersion = (node.aversion + 1) | 0
    node.acl = p.db.acls.lookUp(fixed)
    node.view.setInt32(field.aversion, newVersion)
    p.projection.stage(node)
    return { type: codes.setACL, body: { path, acl: fixed, version: newVersion } }
  },

  apply(db, _header, { body: { path, acl, version } }) {
    const id = db.tree.find(path)
    if (id === noNode) return errorCodes.noNode
    const before = db.tree.aclId(id)
    const entry = db.acls.intern(acl ?? [])
    db.acls.acquire(entry.id)
    db.tree.setAcl(id, path, entry.id, version)
    db.acls.release(before)
    return errorCodes.ok
  },

  result: (tree, { body }, out) => tree.writeStat(tree.find(body.path), out),
}
