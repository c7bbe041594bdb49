import { Writer } from '@zabra/protocol'
import { noNode, root, type NodeId } from './layout.ts'
import { PathAbove } from './tree-snapshot.ts'
import type { Tree } from './tree.ts'

/** A place in the tree that stays valid whatever is removed. */
export class TreeCursor {
  private readonly tree: Tree
  private readonly onRelease: () => void
  /**
   * Nodes younger than the walk, which are left to the log: one that was written, deleted and
   * made anew would stand twice in a snapshot.
   */
  private readonly born = new Set<NodeId>()
  /** Those that were written, of the nodes that belong to sessions. */
  private readonly ephemerals = new Set<NodeId>()
  /** Nodes that went before their turn came, as the snapshot is to hold them all the same. */
  private readonly kept = new Writer()
  private node: NodeId = root

  constructor(tree: Tree, onRelease: () => void) {
    this.tree = tree
    this.onRelease = onRelease
  }

  /** Writes nodes until about `bytesMax` more are written; false when the last one was. */
  writeNodes(writer: Writer, bytesMax: number): boolean {
    const limit = writer.position + bytesMax
    writer.raw(this.kept.written())
    this.kept.reset()
    // Until the end of this call no node changes its place.
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

  /** Visits about `countMax` nodes more; false when the last one was visited. */
  visitNodes(visit: (id: NodeId) => void, countMax: number): boolean {
    for (let left = countMax; left > 0 && this.node !== noNode; left--) {
      visit(this.node)
      this.node = this.tree.successor(this.node)
    }
    return this.node !== noNode
  }

  /** @internal The tree has a new node. */
  nodeCreated(id: NodeId): void {
    if (this.node !== noNode) this.born.add(id)
  }

  /**
   * @internal A node is about to go with its session, of which the log will not say what it had. If
   * the snapshot holds its parent as it was before, it must hold the node, too: else the parent
   * would not change in replay.
   */
  keep(id: NodeId, parent: NodeId): void {
    const isPending = !this.born.has(id) && !this.ephemerals.has(id)
    // Only then the parent is written and not all that is below it.
    if (!isPending || !this.tree.isBelow(this.node, parent)) return
    this.tree.writeNode(id, this.kept, new PathAbove())
  }

  /** @internal A node is about to be removed: the walk continues with the one after it. */
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
