import { errorCodes, type TxnHeader } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import type { ProjectedNode } from '../state/projection/projection.ts'
import { field } from '../state/tree/layout.ts'
import { writeZxid } from '../state/tree/stat.ts'
import { noNode } from '../state/tree/tree.ts'
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
  const entry = db.aclOf(id)
  const dataLength = tree.dataLength(id)
  tree.remove(id)
  tree.raisePzxid(parent, path, zxid)
  db.acls.release(entry.id)
  if (!db.isLoading) db.quotas.deleted(path, dataLength)
  db.watches.deleted(path, zxid, entry, db.aclOf(parent))
  return errorCodes.ok
}
