import { acl, noData, type Acl } from '@zabra/client'
import { storedKind, storedTtlMs } from '@zabra/protocol'
import { isWithin } from '../node/paths.ts'
import type { StoredNode } from '../offline/snapshots.ts'
import type { Tree, TreeNode } from './tree.ts'

/**
 * A tree of nodes as servers store them. They know what they do not tell clients: which nodes are
 * containers, and which have a TTL.
 */
export class StoredTree {
  private readonly nodes: { readonly node: TreeNode; readonly aclId: bigint }[] = []

  /** Copies the node. Internal nodes are left out. */
  add({ path, data, aclId, stat }: StoredNode): void {
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
    this.nodes.push({ node, aclId })
  }

  /** All of them, by path. */
  tree(acls: ReadonlyMap<bigint, readonly Acl[]>): Tree {
    // Servers store their nodes in any order.
    const sorted = this.nodes.toSorted((a, b) => (a.node.path < b.node.path ? -1 : 1))
    const tree = new Map<string, TreeNode>()
    // The open ACL is in no table.
    for (const { node, aclId } of sorted)
      tree.set(node.path, { ...node, acl: acls.get(aclId) ?? acl.open })
    return tree
  }
}
