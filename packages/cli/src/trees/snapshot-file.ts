import { basename, dirname } from 'node:path'
import { acl, noData } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { storedKind, storedTtlMs } from '@zabra/protocol'
import { isWithin } from '../node/paths.ts'
import { readSnapshot } from '../offline/snapshots.ts'
import type { FileTree } from './tree-file.ts'
import type { TreeNode } from './tree.ts'

/**
 * The nodes of a snapshot, of zabra's or Apache's server. A snapshot knows what servers do not tell
 * clients: which nodes are containers, and which have a TTL.
 */
export async function readSnapshotFile(file: string): Promise<FileTree> {
  const nodes: { readonly node: TreeNode; readonly aclId: bigint }[] = []
  const onNode: Parameters<typeof readSnapshot>[2] = ({ path, data, aclId, stat }) => {
    if (isWithin(path, '/zookeeper')) return
    const kind = storedKind(stat.ephemeralOwner)
    const node = {
      path,
      data: data === null ? noData : new Uint8Array(data),
      acl: undefined,
      kind,
      ttlMs: kind === 'ttl' ? storedTtlMs(stat.ephemeralOwner) : undefined,
      // As stored it counts the children that were made.
      counter: stat.cversion,
    }
    nodes.push({ node, aclId })
  }
  const { acls } = await readSnapshot(dirname(file), basename(file), onNode).catch(
    (error: unknown) => {
      if (!(error instanceof Error) || error.name !== 'SnapshotError') throw error
      throw new CommandError(error.message, { code: 'file', cause: error })
    },
  )
  // A snapshot has its nodes in any order.
  const sorted = nodes.toSorted((a, b) => (a.node.path < b.node.path ? -1 : 1))
  const tree = new Map<string, TreeNode>()
  // The open ACL is in no table.
  for (const { node, aclId } of sorted)
    tree.set(node.path, { ...node, acl: acls.get(aclId) ?? acl.open })
  return { head: { zabra: 'tree', version: 1, top: '/' }, tree }
}
