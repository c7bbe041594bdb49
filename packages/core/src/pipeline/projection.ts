import { copyWords, Writer } from '@zabra/protocol'
import type { AclEntry } from '../acl/acl-table.ts'
import { assert } from '../assert.ts'
import type { Database } from '../database.ts'
import { Fifo } from '../fifo.ts'
import { crc32, crc32OfView } from '../storage/checksum.ts'
import { TreeDigest } from '../tree/digest.ts'
import { field, statWireBytes } from '../tree/layout.ts'
import { statChecksum } from '../tree/stat.ts'
import { lastSlashOf, noNode, type NodeId } from '../tree/tree.ts'
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
  private readonly scratch = new Writer()
  /** Oldest first, each once for each transaction that changes it; beside them, which one. */
  private readonly staged = new Fifo<ProjectedNode>()
  private readonly stagedBy = new Fifo<bigint>()
  private mayRollBack = false
  private readonly spare: ProjectedNode[] = []

  constructor(db: Database) {
    this.db = db
    this.digest.set(db.tree.digest)
  }

  get isEmpty(): boolean {
    return this.newest.size === 0
  }

  /** The hash is that of the tree for this path. */
  has(path: string, hash: number): boolean {
    const pending = this.newest.get(path, hash)
    return pending === undefined ? this.db.tree.findHashed(path, hash) !== noNode : pending.exists
  }

  /** To look at; and to change where that is staged at once, for it may be the projection's own. */
  load(path: string): ProjectedNode | undefined {
    const { tree } = this.db
    const key = path === '' ? '/' : path
    const hash = tree.hashOfPath(key)
    const pending = this.newest.get(key, hash)
    if (pending !== undefined) {
      if (!pending.exists) return undefined
      return this.mayRollBack ? this.copy(pending) : pending
    }
    const id = tree.findHashed(key, hash)
    if (id === noNode) return undefined
    const node = this.take(key, hash)
    tree.copyStat(id, node.view)
    node.acl = this.db.aclOf(id)
    node.digest = tree.nodeDigest(id)
    node.pathChecksum = tree.pathChecksum(id)
    node.contentChecksum = node.pathChecksum
    // Most are about to get other data, or to go: only those that keep theirs are summed.
    if (node.dataLength > 0) node.unsummed = id
    return node
  }

  /** A node that is not there yet, all zero. */
  make(path: string, hash: number, parent: ProjectedNode, data: Uint8Array | null): ProjectedNode {
    const node = this.take(path, hash)
    for (let at = 0; at < statWireBytes; at += 4) node.view.setInt32(at, 0)
    node.digest = 0
    if (this.db.options.digests) {
      const { scratch } = this
      scratch.reset()
      scratch.text(path)
      const start = lastSlashOf(scratch.bytes, scratch.position)
      node.pathChecksum = crc32OfView(scratch.view, start, scratch.position, parent.pathChecksum)
    }
    this.setData(node, data)
    return node
  }

  setData(node: ProjectedNode, data: Uint8Array | null): void {
    const length = data?.length ?? 0
    node.view.setInt32(field.dataLength, length)
    node.unsummed = noNode
    if (!this.db.options.digests) return
    const { pathChecksum } = node
    node.contentChecksum = data === null ? pathChecksum : crc32(data, 0, length, pathChecksum)
  }

  /** From now on, this is how the node will be. */
  stage(node: ProjectedNode, zxid: bigint): void {
    if (this.db.options.digests && !node.path.startsWith('/zookeeper/')) {
      this.digest.subtract(node.digest)
      if (node.exists && node.unsummed !== noNode) this.sumContent(node)
      node.digest = node.exists ? statChecksum(node.view, 0, node.contentChecksum) : 0
      this.digest.add(node.digest)
    }
    if (node.pending++ === 0) {
      if (this.mayRollBack) node.previous = this.newest.get(node.path, node.hash)
      this.newest.set(node)
    }
    this.staged.push(node)
    this.stagedBy.push(zxid)
  }

  private sumContent(node: ProjectedNode): void {
    const data = this.db.tree.data(node.unsummed)!
    node.contentChecksum = crc32(data, 0, data.length, node.pathChecksum)
    node.unsummed = noNode
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
    this.stagedBy.pop()
    if (--node.pending > 0) return
    if (node.previous === undefined) this.newest.delete(node)
    else this.newest.set(node.previous)
    this.release(node)
  }

  /** Everything up to this transaction is applied: the tree itself says it now. */
  retire(zxid: bigint): void {
    const { staged, stagedBy } = this
    for (let by = stagedBy.first; by !== undefined && by <= zxid; by = stagedBy.first) {
      stagedBy.shift()
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
      if (this.newest.get(path, tree.hashOfPath(path)) === undefined) paths.add(path)
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
