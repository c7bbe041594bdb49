import { copyWords } from '@zabra/protocol'
import type { AclEntry } from '../acl/acl-table.ts'
import { assert } from '../../base/assert.ts'
import type { Database } from '../database.ts'
import { Fifo } from '../../base/fifo.ts'
import { crc32, crc32OfView } from '../../base/checksum.ts'
import { TreeDigest } from '../tree/digest.ts'
import { field, statWireBytes } from '../tree/layout.ts'
import type { RequestBytes } from '../tree/request-bytes.ts'
import type { ScannedPath } from '../tree/scanned-path.ts'
import { raiseChildCounter, statChecksum } from '../tree/stat.ts'
import { isDigested, noNode, type NodeId } from '../tree/tree.ts'
import { PendingNodes } from './pending-nodes.ts'

const spareMax = 4096

/** A znode as it will be once all proposals are applied. */
export class ProjectedNode {
  path = ''
  /** The hash of the path, as in the tree. */
  hash = 0
  exists = true
  acl!: AclEntry
  /**
   * The number of pending transactions that change it. While it is not 0, the node is in the table.
   */
  pending = 0
  pathChecksum = 0
  /** The checksum of path and data. The digest continues from it, so the data need not be kept. */
  contentChecksum = 0
  /** The node whose data has not been summed yet, because that may not be needed; else `noNode`. */
  unsummed: NodeId = noNode
  digest = 0
  /** The previous projected node of this path, in case an attempt is taken back. */
  previous: ProjectedNode | undefined
  /** The next node in the same bucket of `PendingNodes`. */
  next: ProjectedNode | undefined
  /** The stored stat, in wire order. */
  readonly view = new DataView(new ArrayBuffer(statWireBytes))

  get version(): number {
    return this.view.getInt32(field.version)
  }
  get aversion(): number {
    return this.view.getInt32(field.aversion)
  }
  get createCount(): number {
    return this.view.getInt32(field.cversion)
  }
  get childCount(): number {
    return this.view.getInt32(field.numChildren)
  }
  get dataLength(): number {
    return this.view.getInt32(field.dataLength)
  }
  get isOwned(): boolean {
    return this.view.getInt32(field.owner) !== 0 || this.view.getInt32(field.owner + 4) !== 0
  }
  get owner(): bigint {
    return this.view.getBigInt64(field.owner)
  }
}

/**
 * The state that the next request will see: the applied state plus all proposals that are not
 * applied yet. Requests are prepared against it, so that pipelined writes see each other.
 */
export class Projection {
  /** The digest that the tree will have once all proposals are applied. */
  readonly digest = new TreeDigest()
  private readonly db: Database
  private readonly newest = new PendingNodes()
  /** The pending nodes, oldest first; each appears once per transaction that changes it. */
  private readonly staged = new Fifo<ProjectedNode>()
  /** The number of staged nodes since the last `countStaged`. */
  private uncounted = 0
  /** The pending nodes that are ephemeral, by their session. */
  private readonly owned = new Map<bigint, Set<ProjectedNode>>()
  private mayRollBack = false
  private readonly spare: ProjectedNode[] = []

  constructor(db: Database) {
    this.db = db
    this.digest.set(db.tree.digest)
  }

  get isEmpty(): boolean {
    return this.newest.size === 0
  }

  has(scanned: ScannedPath): boolean {
    const pending = this.newest.get(scanned.text, scanned.hash)
    if (pending !== undefined) return pending.exists
    return this.db.tree.findScanned(scanned) !== noNode
  }

  /**
   * The node at a path. The caller may change it only if it stages the node at once, because the
   * projection may own the object.
   */
  load(path: string): ProjectedNode | undefined {
    const { tree } = this.db
    const scanned = tree.scan(path)
    const { hash } = scanned
    const key = scanned.isRoot ? '/' : path
    const pending = this.newest.get(key, hash)
    if (pending !== undefined) return this.ofPending(pending)
    const id = tree.findScanned(scanned)
    return id === noNode ? undefined : this.ofTree(id, key, hash)
  }

  /** Like `load`, for the parent of a path that may or may not exist. */
  loadParent(scanned: ScannedPath): ProjectedNode | undefined {
    const { text, isBelowRoot, parentLength, parentHash } = scanned
    const pending = isBelowRoot
      ? this.newest.get('/', parentHash)
      : this.newest.getPrefix(text, parentLength, parentHash)
    if (pending !== undefined) return this.ofPending(pending)
    const id = this.db.tree.findParent(scanned)
    if (id === noNode) return undefined
    return this.ofTree(id, isBelowRoot ? '/' : text.slice(0, parentLength), parentHash)
  }

  private ofPending(pending: ProjectedNode): ProjectedNode | undefined {
    if (!pending.exists) return undefined
    return this.mayRollBack ? this.copy(pending) : pending
  }

  private ofTree(id: NodeId, path: string, hash: number): ProjectedNode {
    const { tree } = this.db
    const node = this.take(path, hash)
    tree.copyStat(id, node.view)
    node.acl = this.db.aclOf(id)
    node.digest = tree.nodeDigest(id)
    node.pathChecksum = tree.pathChecksum(id)
    node.contentChecksum = node.pathChecksum
    // Most nodes are about to get new data or to be deleted; only those that keep their data are
    // summed.
    if (node.dataLength > 0) node.unsummed = id
    return node
  }

  /** Creates a node that does not exist yet. Its stat only has the length of the data. */
  make(bytes: RequestBytes, parent: ProjectedNode, data: Uint8Array | null): ProjectedNode {
    const { text, hash, view, slashAt, end } = bytes.path
    const node = this.take(text, hash)
    node.digest = 0
    if (this.db.options.digests) {
      node.pathChecksum = crc32OfView(view, slashAt, end, parent.pathChecksum)
    }
    if (bytes.hasBody && data !== null) this.setDataInPlace(node, bytes, data.length)
    else this.setData(node, data)
    return node
  }

  /**
   * Like `setData`, but avoids reading properties of the array, which would cost more than copying
   * short data.
   */
  private setDataInPlace(node: ProjectedNode, bytes: RequestBytes, length: number): void {
    node.view.setInt32(field.dataLength, length)
    node.unsummed = noNode
    if (!this.db.options.digests) return
    const { dataStart } = bytes
    const { view } = bytes.path
    node.contentChecksum = crc32OfView(view, dataStart, dataStart + length, node.pathChecksum)
  }

  setData(node: ProjectedNode, data: Uint8Array | null): void {
    const length = data?.length ?? 0
    node.view.setInt32(field.dataLength, length)
    node.unsummed = noNode
    if (!this.db.options.digests) return
    const { pathChecksum } = node
    node.contentChecksum = data === null ? pathChecksum : crc32(data, 0, length, pathChecksum)
  }

  /**
   * Makes this the projected state of the node. Computes its digest unless the caller passes it.
   */
  stage(node: ProjectedNode, digest?: number): void {
    if (this.db.options.digests && isDigested(node.path)) {
      this.digest.subtract(node.digest)
      node.digest = digest ?? this.digestOf(node)
      this.digest.add(node.digest)
    }
    if (node.pending++ === 0) {
      if (this.mayRollBack) node.previous = this.newest.get(node.path, node.hash)
      this.newest.set(node)
      if (node.isOwned) this.addOwned(node)
    }
    this.staged.push(node)
    this.uncounted++
  }

  /** The number of nodes staged since the last call. `retire` needs it later. */
  countStaged(): number {
    const { uncounted } = this
    this.uncounted = 0
    return uncounted
  }

  private digestOf(node: ProjectedNode): number {
    if (!node.exists) return 0
    if (node.unsummed !== noNode) {
      const data = this.db.tree.data(node.unsummed)!
      node.contentChecksum = crc32(data, 0, data.length, node.pathChecksum)
      node.unsummed = noNode
    }
    return statChecksum(node.view, 0, node.contentChecksum)
  }

  /** Stages a node that gains a child, and so a higher counter. */
  stageParent(parent: ProjectedNode, createCount: number, zxid: bigint): void {
    const { view } = parent
    view.setInt32(field.numChildren, parent.childCount + 1)
    const isRaised = createCount > parent.createCount
    this.stage(
      parent,
      isRaised ? raiseChildCounter(view, 0, createCount, zxid, parent.digest) : undefined,
    )
  }

  /** Runs `work`, and takes all its changes back if it returns false. */
  attempt(work: () => boolean): void {
    const { high, low } = this.digest
    const { length } = this.staged
    this.mayRollBack = true
    let stays = false
    try {
      stays = work()
    } finally {
      this.mayRollBack = false
      if (!stays) this.rollBack(length, high, low)
    }
  }

  private rollBack(length: number, high: number, low: number): void {
    assert(this.staged.length >= length, 'nothing is applied while a multi is prepared')
    while (this.staged.length > length) this.takeBack()
    this.digest.high = high
    this.digest.low = low
  }

  private takeBack(): void {
    const node = this.staged.pop()!
    this.uncounted--
    if (--node.pending > 0) return
    if (node.previous === undefined) this.newest.delete(node)
    else this.newest.set(node.previous)
    this.release(node)
  }

  /**
   * The oldest transaction, which staged `count` nodes, is applied: the tree has its effects now.
   */
  retire(count: number): void {
    const { staged } = this
    for (let left = count; left > 0; left--) {
      const node = staged.shift()!
      if (--node.pending > 0) continue
      this.newest.delete(node)
      this.release(node)
    }
  }

  /** The ephemerals that a session will own once all proposals are applied. */
  ephemeralsOf(session: bigint): string[] {
    const { tree } = this.db
    const paths = new Set<string>()
    for (const id of tree.ephemeralsOf(session)) {
      const path = tree.pathOf(id)
      if (this.newest.get(path, tree.scan(path).hash) === undefined) paths.add(path)
    }
    for (const node of this.owned.get(session) ?? []) {
      if (!node.exists) continue
      if (this.newest.get(node.path, node.hash) === node) paths.add(node.path)
    }
    return [...paths]
  }

  private addOwned(node: ProjectedNode): void {
    const { owner } = node
    const ofSession = this.owned.get(owner)
    if (ofSession === undefined) this.owned.set(owner, new Set([node]))
    else ofSession.add(node)
  }

  private copy(from: ProjectedNode): ProjectedNode {
    const node = this.take(from.path, from.hash)
    copyWords(from.view, 0, node.view, 0, statWireBytes)
    node.acl = from.acl
    node.digest = from.digest
    node.pathChecksum = from.pathChecksum
    node.contentChecksum = from.contentChecksum
    node.unsummed = from.unsummed
    return node
  }

  private take(path: string, hash: number): ProjectedNode {
    const node = this.spare.pop() ?? new ProjectedNode()
    assert(node.pending === 0, 'a node without pending changes can be reused')
    node.path = path
    node.hash = hash
    node.exists = true
    node.unsummed = noNode
    node.previous = undefined
    return node
  }

  /** Nothing pending changes the node any more. */
  private release(node: ProjectedNode): void {
    if (node.isOwned) {
      const ofSession = this.owned.get(node.owner)
      ofSession?.delete(node)
      if (ofSession?.size === 0) this.owned.delete(node.owner)
    }
    node.previous = undefined
    if (this.spare.length < spareMax) this.spare.push(node)
  }
}
