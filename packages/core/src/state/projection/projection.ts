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

/** A znode as it will be once everything that is proposed has been applied. */
export class ProjectedNode {
  path = ''
  /** Of the path, as the tree has it. */
  hash = 0
  exists = true
  acl!: AclEntry
  /** How many transactions under way change it; while there are some, it is part of the projection. */
  pending = 0
  pathChecksum = 0
  /** Path and data, from which the digest goes on: so the data itself need not be kept. */
  contentChecksum = 0
  /** The node whose data is yet to be summed, when it turns out to matter; 0 when that is done. */
  unsummed: NodeId = noNode
  digest = 0
  /** What the projection said of this path before, where that may be needed again. */
  previous: ProjectedNode | undefined
  /** The next one in a bucket of those that are pending. */
  next: ProjectedNode | undefined
  /** The stored stat, in the order of the wire. */
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
 * The state the next request will meet: what is applied plus everything proposed and not yet
 * applied. Requests are prepared against it, so that pipelined writes see each other.
 */
export class Projection {
  /** The digest of the tree once everything proposed is applied. */
  readonly digest = new TreeDigest()
  private readonly db: Database
  private readonly newest = new PendingNodes()
  /** Oldest first, each once for each transaction that changes it. */
  private readonly staged = new Fifo<ProjectedNode>()
  /** How many of them nobody has counted yet. */
  private uncounted = 0
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

  /** To look at; and to change where that is staged at once, for it may be the projection's own. */
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

  /** As `load`, the parent of what is, or may be, at a path. */
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
    // Most are about to get other data, or to go: only those that keep theirs are summed.
    if (node.dataLength > 0) node.unsummed = id
    return node
  }

  /** A node that is not there yet; its stat says nothing so far but of its data. */
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

  /** As `setData`, without access to the array: that is the cost of short data. */
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

  /** From now on, this is how the node will be; its digest is asked for where it is not known. */
  stage(node: ProjectedNode, digest?: number): void {
    if (this.db.options.digests && isDigested(node.path)) {
      this.digest.subtract(node.digest)
      node.digest = digest ?? this.digestOf(node)
      this.digest.add(node.digest)
    }
    if (node.pending++ === 0) {
      if (this.mayRollBack) node.previous = this.newest.get(node.path, node.hash)
      this.newest.set(node)
    }
    this.staged.push(node)
    this.uncounted++
  }

  /** How many were staged since this was asked last: what `retire` wants to know afterwards. */
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

  /** Stages a node that gets one more child, and so a higher counter. */
  stageParent(parent: ProjectedNode, createCount: number, zxid: bigint): void {
    const { view } = parent
    view.setInt32(field.numChildren, parent.childCount + 1)
    const isRaised = createCount > parent.createCount
    this.stage(
      parent,
      isRaised ? raiseChildCounter(view, 0, createCount, zxid, parent.digest) : undefined,
    )
  }

  /** Makes changes of which either all stay or, where the answer is no, none. */
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

  /** The oldest transaction, which staged so many, is applied: the tree itself says it now. */
  retire(count: number): void {
    const { staged } = this
    for (let left = count; left > 0; left--) {
      const node = staged.shift()!
      if (--node.pending > 0) continue
      this.newest.delete(node)
      this.release(node)
    }
  }

  /** The ephemerals that a session will own. */
  ephemeralsOf(session: bigint): string[] {
    const { tree } = this.db
    const paths = new Set<string>()
    for (const id of tree.ephemeralsOf(session)) {
      const path = tree.pathOf(id)
      if (this.newest.get(path, tree.scan(path).hash) === undefined) paths.add(path)
    }
    for (const node of this.staged.all()) {
      if (!node.exists || node.owner !== session) continue
      if (this.newest.get(node.path, node.hash) === node) paths.add(node.path)
    }
    return [...paths]
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
    assert(node.pending === 0, 'what changes no more can be another node')
    node.path = path
    node.hash = hash
    node.exists = true
    node.unsummed = noNode
    node.previous = undefined
    return node
  }

  private release(node: ProjectedNode): void {
    node.previous = undefined
    if (this.spare.length < spareMax) this.spare.push(node)
  }
}
