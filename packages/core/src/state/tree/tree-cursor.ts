import { Writer } from '@zabra/protocol'
import { noNode, root, type NodeId } from './layout.ts'
import { PathAbove } from './tree-snapshot.ts'
import type { Tree } from './tree.ts'

/** A position in a walk over the tree that stays valid when nodes are removed. */
export class TreeCursor {
  private readonly tree: Tree
  private readonly onRelease: () => void
  /**
   * Nodes that are newer than the walk. The log has them; a node that was written, deleted and
   * created again would otherwise be in the snapshot twice.
   */
  private readonly born = new Set<NodeId>()
  /** The ephemeral nodes that are already written. */
  private readonly ephemerals = new Set<NodeId>()
  /**
   * Nodes that were deleted before the walk reached them and must be in the snapshot nevertheless.
   */
  private readonly kept = new Writer()
  private node: NodeId = root

  constructor(tree: Tree, onRelease: () => void) {
    this.tree = tree
    this.onRelease = onRelease
  }

  /** Writes nodes until about `bytesMax` more bytes are written; false after the last node. */
  writeNodes(writer: Writer, bytesMax: number): boolean {
    const limit = writer.position + bytesMax
    writer.raw(this.kept.written())
    this.kept.reset()
    // No node moves during this call.
    const above = new PathAbove()
    while (this.node !== noNode && writer.position < limit) {
      const id = this.node
      if (this.born.has(id)) {
        this.node = this.tree.successorSkipping(id)
      } else {
        this.tree.writeNode(id, writer, above)
        if (this.tree.isOwned(id)) this.ephemerals.add(id)
        this.node = this.tree.successor(id)
      }
    }
    return this.node !== noNode
  }

  /** Visits about `countMax` more nodes; false after the last node. */
  visitNodes(visit: (id: NodeId) => void, countMax: number): boolean {
    for (let left = countMax; left > 0 && this.node !== noNode; left--) {
      visit(this.node)
      this.node = this.tree.successor(this.node)
    }
    return this.node !== noNode
  }

  /** @internal A node was created. */
  nodeCreated(id: NodeId): void {
    if (this.node !== noNode) this.born.add(id)
  }

  /**
   * @internal A node is about to be deleted with its session, and the log will not describe it. If
   * the snapshot holds the previous state of its parent, it must hold the node as well; otherwise
   * replay would not change the parent.
   */
  keep(id: NodeId, parent: NodeId): void {
    const isPending = !this.born.has(id) && !this.ephemerals.has(id)
    // Needed only if the walk is between the parent and the end of its subtree.
    if (!isPending || !this.tree.isBelow(this.node, parent)) return
    this.tree.writeNode(id, this.kept, new PathAbove())
  }

  /** @internal A node is about to be removed: the walk continues with its successor. */
  nodeRemoved(id: NodeId): void {
    if (this.node === id) this.node = this.tree.successorSkipping(id)
    this.born.delete(id)
    this.ephemerals.delete(id)
  }

  release(): void {
    this.node = noNode
    this.born.clear()
    this.ephemerals.clear()
    this.onRelease()
  }
}
