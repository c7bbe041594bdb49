import { copyWords, type LastText, type Writer } from '@zabra/protocol'
import type { TouchMemory } from '../../ports.ts'
import { TreeDigest } from './digest.ts'
import { field, noNode, root, statWireBytes, ttlOf, type NodeId } from './layout.ts'
import { NodeStore, nullData, recordAt } from './node-store.ts'
import { Owners } from './owners.ts'
import { PathIndex } from './path-index.ts'
import { hashByte, hashBytes, PathScanner, type ScannedPath } from './scanned-path.ts'
import { writeWireStat } from './stat.ts'

const slash = 0x2f

export interface TreeOptions {
  /** Whether owners with the mark of a TTL are TTLs (`extendedTypesEnabled`). */
  readonly extendedTypes: boolean
  /** Makes path hashes unpredictable, so that clients cannot choose paths that collide. */
  readonly hashSeed: number
  /** Whether digests are computed (`digest.enabled`). */
  readonly digests: boolean
  readonly touchMemory?: TouchMemory | undefined
  /** The text whose bytes readers and writers have at hand. */
  readonly lastText?: LastText | undefined
}

const defaults: TreeOptions = { extendedTypes: true, hashSeed: 0, digests: true }

/**
 * The znodes for reads and for requests that are prepared. One index leads from the hash of a full
 * path to its znode. The record of a znode holds its stat in wire order, so answering a read is
 * mostly copying.
 */
export class TreeView {
  readonly digest = new TreeDigest()
  protected readonly options: TreeOptions
  protected readonly nodes: NodeStore
  protected readonly index: PathIndex
  protected readonly owners: Owners
  /** The hash of the root. */
  protected readonly seed: number
  protected count = 0
  protected pathAndDataBytes = 0
  private readonly scanner: PathScanner

  constructor(options: Partial<TreeOptions> = {}) {
    this.options = { ...defaults, ...options }
    this.seed = this.options.hashSeed | 0
    this.scanner = new PathScanner(this.seed, this.options.lastText)
    this.owners = new Owners(this.options.extendedTypes, (id) => this.pathOf(id))
    const { touchMemory } = this.options
    this.nodes = new NodeStore(touchMemory)
    this.index = new PathIndex(touchMemory)
  }

  /** The number of znodes, the root included. */
  get size(): number {
    return this.count
  }

  /** Bytes of all paths and data: what monitoring calls the approximate data size. */
  get dataBytes(): number {
    return this.pathAndDataBytes
  }

  // --- by path ---------------------------------------------------------------------------------

  /** From now on paths are looked up with the memory of another database. */
  shareText(lastText: LastText): void {
    this.scanner.shareText(lastText)
  }

  /** Scans a path. The result is valid until the next scan. */
  scan(path: string): ScannedPath {
    return this.scanner.scan(path)
  }

  /** The znode at a path; both `/` and the empty path are the root. */
  find(path: string): NodeId {
    return this.findScanned(this.scan(path))
  }

  findScanned({ isRoot, hash, bytes, start, end }: ScannedPath): NodeId {
    return isRoot ? root : this.lookup(hash, bytes, start, end)
  }

  /** The parent of the znode that exists, or may be created, at a path. */
  findParent({ isBelowRoot, slashAt, parentHash, bytes, start }: ScannedPath): NodeId {
    return isBelowRoot ? root : this.lookup(parentHash, bytes, start, slashAt)
  }

  /** Like `find`, below a known parent. */
  findChild(parent: NodeId, { hash, bytes, slashAt, end }: ScannedPath): NodeId {
    for (let id = this.index.first(hash); id !== noNode; id = this.index.next(id, hash)) {
      if (this.nodes.isNamed(id, parent, bytes, slashAt + 1, end)) return id
    }
    return noNode
  }

  /**
   * Like `find`, directly from the bytes of a request. It handles ASCII only: -1 means that the
   * path has other characters and must be decoded first.
   */
  findAscii(bytes: Uint8Array, start: number, end: number): NodeId {
    const length = end - start
    if (length <= 1 && (length === 0 || bytes[start] === slash)) return root
    let hash = this.seed
    for (let i = start; i < end; i++) {
      const code = bytes[i]!
      if (code > 0x7f) return -1
      hash = hashByte(hash, code)
    }
    return this.lookup(hash, bytes, start, end)
  }

  protected findBytes(bytes: Uint8Array, start: number, end: number): NodeId {
    if (end - start <= 1 && (end === start || bytes[start] === slash)) return root
    return this.lookup(hashBytes(this.seed, bytes, start, end), bytes, start, end)
  }

  private lookup(hash: number, bytes: Uint8Array, start: number, end: number): NodeId {
    for (let id = this.index.first(hash); id !== noNode; id = this.index.next(id, hash)) {
      if (this.nodes.isAt(id, bytes, start, end)) return id
    }
    return noNode
  }

  // --- of one znode ----------------------------------------------------------------------------

  pathOf(id: NodeId): string {
    return this.nodes.pathOf(id)
  }

  nameOf(id: NodeId): string {
    return this.nodes.nameOf(id)
  }

  /** The parent; `noNode` for the root. */
  parent(id: NodeId): NodeId {
    return id === root ? noNode : this.nodes.parent(id)
  }

  /** The oldest child. */
  firstChild(id: NodeId): NodeId {
    return this.nodes.int(id, field.firstChild)
  }

  aclId(id: NodeId): number {
    return this.nodes.int(id, field.aclId)
  }

  version(id: NodeId): number {
    return this.nodes.int(id, field.version)
  }

  childCount(id: NodeId): number {
    return this.nodes.int(id, field.numChildren)
  }

  /** The number of all nodes below a znode. */
  descendantCount(id: NodeId): number {
    return this.nodes.int(id, field.descendants)
  }

  /** The number of children ever created here: the source of sequence numbers. */
  createCount(id: NodeId): number {
    return this.nodes.int(id, field.cversion)
  }

  /** The owner as stored: a session, or the mark of a container or TTL node. */
  owner(id: NodeId): bigint {
    return this.nodes.long(id, field.owner)
  }

  isEphemeral(id: NodeId): boolean {
    return this.sessionOf(this.owner(id)) !== 0n
  }

  /** Whether the owner field is set; for most nodes it is not. */
  isOwned(id: NodeId): boolean {
    const record = this.nodes.view(id)
    const at = recordAt(id) + field.owner
    return record.getInt32(at) !== 0 || record.getInt32(at + 4) !== 0
  }

  /** Whether a znode is a descendant of another. */
  isBelow(id: NodeId, above: NodeId): boolean {
    if (id === noNode) return false
    let node = id
    while (node !== root && node !== above) node = this.nodes.parent(node)
    return node === above && id !== above
  }

  czxid(id: NodeId): bigint {
    return this.nodes.long(id, field.czxid)
  }

  /** The version of the ACL. */
  aversion(id: NodeId): number {
    return this.nodes.int(id, field.aversion)
  }

  mzxid(id: NodeId): bigint {
    return this.nodes.long(id, field.mzxid)
  }

  pzxid(id: NodeId): bigint {
    return this.nodes.long(id, field.pzxid)
  }

  mtime(id: NodeId): bigint {
    return this.nodes.long(id, field.mtime)
  }

  dataLength(id: NodeId): number {
    return this.nodes.int(id, field.dataLength)
  }

  /** A view of the stored data: valid only until the next change of the tree. */
  data(id: NodeId): Uint8Array | null {
    return this.nodes.data(id)
  }

  nodeDigest(id: NodeId): number {
    return this.nodes.int(id, field.digest)
  }

  /** The checksum of a node's path; the node digest continues from it. */
  pathChecksum(id: NodeId): number {
    return this.nodes.int(id, field.pathChecksum)
  }

  *children(id: NodeId): IterableIterator<NodeId> {
    const first = this.nodes.int(id, field.firstChild)
    let child = first
    while (child !== noNode) {
      yield child
      child = this.nodes.int(child, field.next)
      if (child === first) return
    }
  }

  // --- answers ---------------------------------------------------------------------------------

  /** Writes the names of the children as a vector, oldest first. */
  writeChildren(id: NodeId, writer: Writer): void {
    const { nodes } = this
    const { arena } = nodes
    const first = nodes.int(id, field.firstChild)
    writer.int(this.childCount(id))
    let child = first
    while (child !== noNode) {
      const record = nodes.view(child)
      const at = recordAt(child)
      const ref = record.getUint32(at + field.nameRef)
      const length = record.getInt32(at + field.nameLength)
      const start = arena.offsetOf(ref)
      writer.int(length)
      writer.rawView(arena.viewOf(ref), start, start + length)
      child = record.getInt32(at + field.next)
      if (child === first) break
    }
  }

  writeData(id: NodeId, writer: Writer): void {
    const { arena } = this.nodes
    const record = this.nodes.view(id)
    const at = recordAt(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref === nullData) {
      writer.int(-1)
      return
    }
    const length = record.getInt32(at + field.dataLength)
    writer.int(length)
    if (length === 0) return
    const start = arena.offsetOf(ref)
    writer.rawView(arena.viewOf(ref), start, start + length)
  }

  /** Writes the stat as clients see it. */
  writeStat(id: NodeId, writer: Writer): void {
    writeWireStat(writer, this.nodes.view(id), recordAt(id), this.options.extendedTypes)
  }

  /** Copies the stored stat, in wire order. */
  copyStat(id: NodeId, target: DataView): void {
    copyWords(this.nodes.view(id), recordAt(id), target, 0, statWireBytes)
  }

  // --- by owner --------------------------------------------------------------------------------

  get ephemeralCount(): number {
    return this.owners.ephemerals
  }

  /** The session of a stored owner; 0n for container, TTL and persistent nodes. */
  sessionOf(owner: bigint): bigint {
    return this.owners.sessionOf(owner)
  }

  ephemeralsOf(session: bigint): ReadonlySet<NodeId> {
    return this.owners.ephemeralsOf(session)
  }

  /** The paths of a session's ephemerals that start with a prefix. */
  ephemeralPaths(session: bigint, prefix: string): IterableIterator<string> {
    return this.owners.ephemeralPaths(session, prefix)
  }

  sessionsWithEphemerals(): IterableIterator<bigint> {
    return this.owners.sessions()
  }

  /**
   * Empty containers that were used once, or not used for too long; and empty, expired TTL nodes.
   */
  *reclaimable(now: bigint, maxNeverUsedMs: bigint): IterableIterator<NodeId> {
    for (const id of this.owners.containers) {
      if (this.childCount(id) > 0) continue
      const wasUsed = this.createCount(id) > 0
      if (wasUsed || (maxNeverUsedMs > 0n && now - this.mtime(id) > maxNeverUsedMs)) yield id
    }
    for (const id of this.owners.ttls) {
      if (this.childCount(id) === 0 && now - this.mtime(id) > ttlOf(this.owner(id))) yield id
    }
  }

  // --- walks -----------------------------------------------------------------------------------

  /** The first node without children on the way down from this one. */
  firstLeafBelow(id: NodeId): NodeId {
    let leaf = id
    for (let next = leaf; next !== noNode; next = this.nodes.int(leaf, field.firstChild)) {
      leaf = next
    }
    return leaf
  }

  /** The next znode in depth-first order, parents before children. */
  successor(id: NodeId): NodeId {
    return this.nodes.successor(id)
  }

  /** The next znode in the same order after all descendants of this one. */
  successorSkipping(id: NodeId): NodeId {
    return this.nodes.successorSkipping(id)
  }
}
