import { errorCodes, permissions, type TxnHeader } from '@zabra/protocol'
import type { Database } from '../state/database.ts'
import type { ProjectedNode } from '../state/projection/projection.ts'
import { field, isTtlOwner, ttlOf } from '../state/tree/layout.ts'
import { writeZxid } from '../state/tree/stat.ts'
import { noNode } from '../state/tree/tree.ts'
import { hasParent, isVersionWrong, mayDo, type Preparation, type Prepared } from './preparation.ts'

const undeletable: ReadonlySet<string> = new Set([
  '/',
  '/zookeeper',
  '/zookeeper/quota',
  '/zookeeper/config',
])

export function prepareDelete(
  { path, version }: { path: string; version: number },
  p: Preparation,
): Prepared {
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
  return { type: 2, body: { path } }
}

/** Asked by the server itself for containers and TTL nodes that have had their day. */
export function prepareDeleteContainer(
  { path, neverUsedMsMax }: { path: string; neverUsedMsMax: number },
  p: Preparation,
): Prepared {
  const scanned = p.db.tree.scan(path)
  if (!hasParent(scanned) || undeletable.has(path)) return errorCodes.badArguments
  const parent = p.projection.loadParent(scanned)
  const node = p.projection.load(path)
  if (parent === undefined || node === undefined) return errorCodes.noNode
  if (node.childCount > 0) return errorCodes.notEmpty
  if (p.db.tree.sessionOf(node.owner) !== 0n || node.owner === 0n) return errorCodes.badVersion
  if (!isDue(node, p.time, BigInt(neverUsedMsMax))) return errorCodes.badVersion
  stageRemoval(p, node, parent)
  return { type: 20, body: { path } }
}

/** Since it was found it may have been written to, or made anew: then it has its time again. */
function isDue(node: ProjectedNode, time: bigint, neverUsedMsMax: bigint): boolean {
  const ageMs = time - node.view.getBigInt64(field.mtime)
  if (isTtlOwner(node.owner)) return ageMs > ttlOf(node.owner)
  return node.createCount > 0 || (neverUsedMsMax > 0n && ageMs > neverUsedMsMax)
}

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
