import { errorCodes, pathProblem, permissions, type Acl, type SetAclTxn } from '@zabra/protocol'
import { fixAcl } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import { field } from '../state/tree/layout.ts'
import { noNode } from '../state/tree/tree.ts'
import { isVersionWrong, mayDo, type Preparation, type Prepared } from './preparation.ts'

export function prepareSetAcl(
  { path, acl, version }: { path: string | null; acl: readonly Acl[] | null; version: number },
  p: Preparation,
): Prepared {
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
  return { type: 7, body: { path, acl: fixed, version: newVersion } }
}

export function applySetAcl(db: Database, { path, acl, version }: SetAclTxn): number {
  const id = db.tree.find(path)
  if (id === noNode) return errorCodes.noNode
  const before = db.tree.aclId(id)
  const entry = db.acls.intern(acl ?? [])
  db.acls.acquire(entry.id)
  db.tree.setAcl(id, path, entry.id, version)
  db.acls.release(before)
  return errorCodes.ok
}
