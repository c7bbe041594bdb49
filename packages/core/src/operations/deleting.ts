import { errorCodes, type TxnHeader } from '@zabra/protocol'
import type { AclEntry } from '../state/acl/acl-table.ts'
import type { Database } from '../state/database.ts'
import type { ProjectedNode } from '../state/projection/projection.ts'
import { field } from '../state/tree/layout.ts'
import { writeZxid } from '../state/tree/stat.ts'
import { noNode, type NodeId } from '../state/tree/tree.ts'
import type { Preparation } from './preparation.ts'

export const undeletable: ReadonlySet<string> = new Set([
  '/',
  '/zookeeper',
  '/zookeeper/quota',
  '/zookeeper/config',
])

export function stageRemoval(
  { projection, zxid }: Preparation,
  node: ProjectedNode,
  parent: ProjectedNode,
): void {
  parent.view.setInt32(field.numChildren, parent.childCount - 1)
  writeZxid(parent.view, field.pzxid, zxid)
  node.exists = false
  projection.stage(parent)
  projection.stage(node)
}

export function applyDelete(db: Database, { zxid }: TxnHeader, path: string): number {
  const { tree } = db
  const scanned = tree.scan(path)
  const parent = tree.findParent(scanned)
  if (parent === noNode) return errorCodes.noNode
  const id = tree.findChild(parent, scanned)
  if (id === noNode) {
    tree.raisePzxid(parent, path, zxid)
    return errorCodes.noNode
  }
  const entry = removeWithDescendants(db, id, path)
  tree.raisePzxid(parent, path, zxid)
  db.watches.deleted(path, zxid, entry, db.aclOf(parent))
  return errorCodes.ok
}

/**
 * Removes a node and returns its ACL. It has children only in replay, if a fuzzy snapshot contains
 * a later node of the same name; the transactions that created them are replayed later.
 */
export function removeWithDescendants(db: Database, id: NodeId, path: string): AclEntry {
  const { tree } = db
  while (tree.childCount(id) > 0) {
    const leaf = tree.firstLeafBelow(id)
    removeLeaf(db, leaf, tree.pathOf(leaf))
  }
  return removeLeaf(db, id, path)
}

function removeLeaf(db: Database, id: NodeId, path: string): AclEntry {
  const entry = db.aclOf(id)
  const aclId = db.tree.aclId(id)
  const dataLength = db.tree.dataLength(id)
  db.tree.remove(id)
  db.acls.release(aclId)
  if (!db.isLoading) db.quotas.deleted(path, dataLength)
  return entry
}
