import { Writer } from '@zabra/protocol'
import { noNode, root, type NodeId } from './layout.ts'
import type { Tree } from './tree.ts'

/** The path of a parent with its slash, while one child after another is written. */
export class PathAbove {
  parent: NodeId = noNode
  readonly path = new Writer()
}

/** A place in the tree that stays valid whatever is removed. */
export class TreeCursor {
  private readonly tree: Tree
  private readonly onRelease: () => void
  /**
   * Nodes younger than the walk, which are left to the log: one that was written, deleted and
   * made anew would stand twice in a snapshot.
   */
  private readonly born = new Set<NodeId>()
  private node: NodeId = root

  constructor(tree: Tree, onRelease: () => void) {
    this.tree = tree
    this.onRelease = onRelease
  }

  /** Writes nodes until about `bytesMax` more are written; false when the last one was. */
  writeNodes(writer: Writer, bytesMax: number): boolean {
    const limit = writer.position + bytesMax
    // Until the end of this call no node changes its place.
    const above = new PathAbove()
    while (this.node !== noNode && writer.position < limit) {
      const id = this.node
      if (this.born.has(id)) {
        this.node = this.tree.successorSkipping(id)
      } else {
        this.tree.writeNode(id, writer, above)
        this.node = this.tree.successor(id)
      }
    }
    return this.node !== noNode
  }

  /** @internal A node was made since the walk began. */
  meet(id: NodeId): void {
    if (this.node !== noNode) this.born.add(id)
  }

  /** @internal A node is about to go: stand on the one after it instead. */
  leave(id: NodeId): void {
    if (this.node === id) this.node = this.tree.successorSkipping(id)
    this.born.delete(id)
  }

  release(): void {
    this.node = noNode
    this.born.clear()
    this.onRelease()
  }
}
