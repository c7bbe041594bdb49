import {
  copyWords,
  decodeText,
  encodeText,
  lastSlash,
  MalformedError,
  type Reader,
  Writer,
} from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import type { TouchMemory } from '../../ports.ts'
import { crc32OfView } from '../../base/checksum.ts'
import { Arena } from './arena.ts'
import { TreeDigest } from './digest.ts'
import { Owners } from './owners.ts'
import { PathIndex } from './path-index.ts'
import { Reserve } from './reserve.ts'
import { hashByte, hashBytes, PathScanner, type ScannedPath } from './scanned-path.ts'
import { field, noNode, recordBytes, root, statWireBytes, ttlOf, type NodeId } from './layout.ts'
import {
  creationChecksum,
  raisedDigest,
  stampCreation,
  statChecksum,
  writeTime,
  writeWireStat,
  writeZxid,
} from './stat.ts'
import { TreeCursor, type PathAbove } from './tree-cursor.ts'

export { noNode, type NodeId }

const chunkBits = 12
const chunkNodes = 1 << chunkBits
const chunkMask = chunkNodes - 1
/** A tree of a few znodes does not take a whole chunk. */
const firstChunkNodes = 128
const slash = 0x2f
/** About what a small znode takes in a snapshot. */
const snapshotBytesPerNode = 200
/** In place of a block: the data is null, which clients can tell from empty. */
const nullData = 0xffffffff

export interface TreeOptions {
  /** Whether owners that look like TTLs are TTLs (`extendedTypesEnabled`). */
  readonly extendedTypes: boolean
  /** Spreads the hashes of paths, so that nobody can choose paths that collide. */
  readonly hashSeed: number
  /** Whether digests are kept (`digest.enabled`). */
  readonly digests: boolean
  readonly touchMemory?: TouchMemory | undefined
}

const defaults: TreeOptions = { extendedTypes: true, hashSeed: 0, digests: true }

/** What a new znode is made of. */
export interface NewNode {
  readonly data: Uint8Array | null
  readonly aclId: number
  /** As stored: a session, the mark of a container, a TTL, or 0. */
  readonly owner: bigint
  readonly zxid: bigint
  readonly time: bigint
  /** Of path and data, where it is known. */
  readonly contentChecksum?: number | undefined
  /** Where the data stands in the view of the path as well. */
  readonly dataAt?: number | undefined
}

/** The bookkeeping of new data. */
export interface DataChange {
  readonly zxid: bigint
  readonly time: bigint
  readonly version: number
  readonly contentChecksum?: number | undefined
}

/**
 * The znodes: what every replica holds equally, changed only by applying transactions.
 *
 * A znode is a fixed record of bytes (`layout.ts`) plus its name and data in an arena; siblings
 * are linked, and one index leads from a full path to its znode. Its stat lies in the record in
 * the order of the wire, so answering a read is mostly copying.
 */
export class Tree {
  readonly digest = new TreeDigest()
  private readonly options: TreeOptions
  /** The hash of the root. */
  private readonly seed: number
  private readonly scanner: PathScanner
  private readonly views: DataView[] = []
  private readonly arena: Arena
  private readonly index: PathIndex
  private readonly chunks: Reserve
  private readonly freeIds: NodeId[] = []
  private readonly owners: Owners
  private readonly cursors = new Set<TreeCursor>()
  private idsUsed = 1
  private capacity = 0
  private count = 0
  private pathAndDataBytes = 0

  constructor(options: Partial<TreeOptions> = {}) {
    this.options = { ...defaults, ...options }
    this.seed = this.options.hashSeed | 0
    this.scanner = new PathScanner(this.seed)
    this.owners = new Owners(this.options.extendedTypes, (id) => this.pathOf(id))
    const { touchMemory } = this.options
    this.arena = new Arena(touchMemory)
    this.index = new PathIndex(touchMemory)
    this.chunks = new Reserve(chunkNodes * recordBytes, touchMemory)
    const id = this.allocate()
    assert(id === root, 'the root is the first node')
    this.count = 1
    this.view(root).setInt32(this.at(root) + field.hash, this.seed)
    this.index.insert(root, this.seed)
    this.view(root).setInt32(this.at(root) + field.aclId, openAclId)
    this.computeDigest(root)
  }

  // --- looking ---------------------------------------------------------------------------------

  /** The number of znodes, the root included. */
  get size(): number {
    return this.count
  }

  get ephemeralCount(): number {
    return this.owners.ephemerals
  }

  /** Bytes of all paths and data: what monitoring calls the approximate data size. */
  get dataBytes(): number {
    return this.pathAndDataBytes
  }

  /** What there is to know of a path, until another one is looked at. */
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

  /** The parent of what is, or may be, at a path. */
  findParent({ isBelowRoot, slashAt, parentHash, bytes, start }: ScannedPath): NodeId {
    return isBelowRoot ? root : this.lookup(parentHash, bytes, start, slashAt)
  }

  /** As `find`, below a parent that is known. */
  findChild(parent: NodeId, { hash, bytes, slashAt, end }: ScannedPath): NodeId {
    for (let id = this.index.first(hash); id !== noNode; id = this.index.next(id, hash)) {
      if (this.isNamed(id, parent, bytes, slashAt + 1, end)) return id
    }
    return noNode
  }

  private isNamed(
    id: NodeId,
    parent: NodeId,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const record = this.view(id)
    const at = this.at(id)
    if (record.getInt32(at + field.parent) !== parent) return false
    if (record.getInt32(at + field.nameLength) !== end - start) return false
    const ref = record.getUint32(at + field.nameRef)
    const name = this.arena.bytesOf(ref)
    const offset = this.arena.offsetOf(ref) - start
    for (let i = start; i < end; i++) if (bytes[i] !== name[offset + i]) return false
    return true
  }

  /**
   * As `find`, straight from the bytes of a request. Only for ASCII: -1 says that the path holds
   * something else and must be decoded first.
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

  private findBytes(bytes: Uint8Array, start: number, end: number): NodeId {
    if (end - start <= 1 && (end === start || bytes[start] === slash)) return root
    return this.lookup(hashBytes(this.seed, bytes, start, end), bytes, start, end)
  }

  private lookup(hash: number, bytes: Uint8Array, start: number, end: number): NodeId {
    for (let id = this.index.first(hash); id !== noNode; id = this.index.next(id, hash)) {
      if (this.isAt(id, bytes, start, end)) return id
    }
    return noNode
  }

  /** Whether a znode has this path, compared from its end upwards. */
  private isAt(id: NodeId, bytes: Uint8Array, pathStart: number, pathEnd: number): boolean {
    let end = pathEnd
    for (let node = id; node !== root; node = this.parent(node)) {
      const record = this.view(node)
      const at = this.at(node)
      const start = end - record.getInt32(at + field.nameLength)
      if (start <= pathStart || bytes[start - 1] !== slash) return false
      const ref = record.getUint32(at + field.nameRef)
      const name = this.arena.bytesOf(ref)
      const offset = this.arena.offsetOf(ref) - start
      for (let i = start; i < end; i++) if (bytes[i] !== name[offset + i]) return false
      end = start - 1
    }
    return end === pathStart
  }

  pathOf(id: NodeId): string {
    let path = ''
    for (let node = id; node !== root; node = this.parent(node))
      path = `/${this.nameOf(node)}${path}`
    return path === '' ? '/' : path
  }

  nameOf(id: NodeId): string {
    const record = this.view(id)
    const at = this.at(id)
    const ref = record.getUint32(at + field.nameRef)
    const start = this.arena.offsetOf(ref)
    return decodeText(
      this.arena.bytesOf(ref),
      start,
      start + record.getInt32(at + field.nameLength),
    )
  }

  aclId(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.aclId)
  }

  version(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.version)
  }

  childCount(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.numChildren)
  }

  /** All nodes below a znode. */
  descendantCount(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.descendants)
  }

  /** How many children were ever created here: the source of sequence numbers. */
  createCount(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.cversion)
  }

  /** The owner as stored: a session, or the mark of a container or TTL node. */
  owner(id: NodeId): bigint {
    return this.view(id).getBigInt64(this.at(id) + field.owner)
  }

  isEphemeral(id: NodeId): boolean {
    return this.sessionOf(this.owner(id)) !== 0n
  }

  /** Whether there is an owner of any kind: most nodes have none. */
  isOwned(id: NodeId): boolean {
    const record = this.view(id)
    const at = this.at(id) + field.owner
    return record.getInt32(at) !== 0 || record.getInt32(at + 4) !== 0
  }

  /** Whether a znode lies below another, at any depth. */
  isBelow(id: NodeId, above: NodeId): boolean {
    if (id === noNode) return false
    let node = id
    while (node !== root && node !== above) node = this.parent(node)
    return node === above && id !== above
  }

  czxid(id: NodeId): bigint {
    return this.view(id).getBigInt64(this.at(id) + field.czxid)
  }

  /** The version of the ACL. */
  aversion(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.aversion)
  }

  mzxid(id: NodeId): bigint {
    return this.view(id).getBigInt64(this.at(id) + field.mzxid)
  }

  pzxid(id: NodeId): bigint {
    return this.view(id).getBigInt64(this.at(id) + field.pzxid)
  }

  mtime(id: NodeId): bigint {
    return this.view(id).getBigInt64(this.at(id) + field.mtime)
  }

  dataLength(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.dataLength)
  }

  /** A view of the data where it lies: valid only until the next change of the tree. */
  data(id: NodeId): Uint8Array | null {
    const record = this.view(id)
    const at = this.at(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref === nullData) return null
    if (ref === 0) return emptyBytes
    const start = this.arena.offsetOf(ref)
    return this.arena.bytesOf(ref).subarray(start, start + record.getInt32(at + field.dataLength))
  }

  nodeDigest(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.digest)
  }

  /** The checksum of a node's path, from which its digest goes on. */
  pathChecksum(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.pathChecksum)
  }

  *children(id: NodeId): IterableIterator<NodeId> {
    const first = this.link(id, field.firstChild)
    let child = first
    while (child !== noNode) {
      yield child
      child = this.link(child, field.next)
      if (child === first) return
    }
  }

  /** A vector of the children's names, oldest first. */
  writeChildren(id: NodeId, writer: Writer): void {
    const first = this.link(id, field.firstChild)
    writer.int(this.childCount(id))
    let child = first
    while (child !== noNode) {
      const record = this.view(child)
      const at = this.at(child)
      const ref = record.getUint32(at + field.nameRef)
      const length = record.getInt32(at + field.nameLength)
      const start = this.arena.offsetOf(ref)
      writer.int(length)
      writer.rawView(this.arena.viewOf(ref), start, start + length)
      child = this.link(child, field.next)
      if (child === first) break
    }
  }

  writeData(id: NodeId, writer: Writer): void {
    const record = this.view(id)
    const at = this.at(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref === nullData) {
      writer.int(-1)
      return
    }
    const length = record.getInt32(at + field.dataLength)
    writer.int(length)
    if (length === 0) return
    const start = this.arena.offsetOf(ref)
    writer.rawView(this.arena.viewOf(ref), start, start + length)
  }

  /** The stat as clients see it. */
  writeStat(id: NodeId, writer: Writer): void {
    writeWireStat(writer, this.view(id), this.at(id), this.options.extendedTypes)
  }

  /** The stored stat, in the order of the wire, as the start of something that will differ. */
  copyStat(id: NodeId, target: DataView): void {
    copyWords(this.view(id), this.at(id), target, 0, statWireBytes)
  }

  /** The session a stored owner names; 0n for containers, TTL nodes and persistent ones. */
  sessionOf(owner: bigint): bigint {
    return this.owners.sessionOf(owner)
  }

  ephemeralsOf(session: bigint): ReadonlySet<NodeId> {
    return this.owners.ephemeralsOf(session)
  }

  /** The paths of a session's ephemerals that start with these characters. */
  ephemeralPaths(session: bigint, prefix: string): IterableIterator<string> {
    return this.owners.ephemeralPaths(session, prefix)
  }

  sessionsWithEphemerals(): IterableIterator<bigint> {
    return this.owners.sessions()
  }

  /** Containers that are empty after use, and TTL nodes that are empty and past their time. */
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

  // --- changing: only by apply -----------------------------------------------------------------

  /** Adds a child; the path must not exist. The parent's stat is left alone. */
  insert(path: string, parent: NodeId, made: NewNode, scanned = this.scan(path)): NodeId {
    const { view, start, slashAt, end, hash } = scanned
    const id = this.attach(parent, view, slashAt + 1, end, hash)
    scanned.made = id
    const record = this.view(id)
    const at = this.at(id)
    stampCreation(record, at, made.zxid, made.time)
    if (made.owner !== 0n) record.setBigInt64(at + field.owner, made.owner)
    record.setInt32(at + field.aclId, made.aclId)
    this.storeData(id, made.data, view, made.dataAt)
    if (made.owner !== 0n) this.owners.add(id, made.owner)
    for (const cursor of this.cursors) cursor.meet(id)
    this.count++
    this.pathAndDataBytes += end - start + this.dataLength(id)
    if (isDigested(path)) this.digestMade(id, made)
    return id
  }

  /** Removes a znode without children. The parent's stat is left alone. */
  remove(id: NodeId): void {
    assert(id !== root && this.childCount(id) === 0, 'only a leaf is removed')
    for (const cursor of this.cursors) cursor.leave(id)
    this.digest.subtract(this.nodeDigest(id))
    const record = this.view(id)
    const at = this.at(id)
    this.owners.remove(id, this.owner(id))
    this.count--
    this.pathAndDataBytes -= this.pathBytes(id) + this.dataLength(id)
    this.index.remove(id, this.hashOf(id))
    const parent = this.parent(id)
    const next = this.link(id, field.next)
    const previous = this.link(id, field.previous)
    if (next === id) {
      this.setLink(parent, field.firstChild, noNode)
    } else {
      this.setLink(previous, field.next, next)
      this.setLink(next, field.previous, previous)
      if (this.link(parent, field.firstChild) === id) this.setLink(parent, field.firstChild, next)
    }
    this.addTo(parent, field.numChildren, -1)
    this.countDescendants(parent, -1)
    this.arena.free(record.getUint32(at + field.nameRef), record.getInt32(at + field.nameLength))
    this.freeData(id)
    this.freeIds.push(id)
  }

  setData(id: NodeId, path: string, data: Uint8Array | null, change: DataChange): void {
    const record = this.view(id)
    const at = this.at(id)
    writeZxid(record, at + field.mzxid, change.zxid)
    writeTime(record, at + field.mtime, change.time)
    record.setInt32(at + field.version, change.version)
    this.replaceData(id, path, data, change.contentChecksum)
  }

  /** Data alone: what no transaction wrote, such as quota counters. */
  setLocalData(id: NodeId, path: string, data: Uint8Array | null): void {
    this.replaceData(id, path, data)
  }

  private replaceData(
    id: NodeId,
    path: string,
    data: Uint8Array | null,
    contentChecksum?: number,
  ): void {
    this.pathAndDataBytes += (data?.length ?? 0) - this.dataLength(id)
    this.storeData(id, data)
    if (isDigested(path)) this.computeDigest(id, contentChecksum)
  }

  setAcl(id: NodeId, path: string, aclId: number, aversion: number): void {
    const record = this.view(id)
    const at = this.at(id)
    record.setInt32(at + field.aclId, aclId)
    record.setInt32(at + field.aversion, aversion)
    if (isDigested(path)) this.computeDigest(id)
  }

  /**
   * Raises a parent's counter and pzxid; neither ever goes back, so replay is harmless. The path
   * is that of a child.
   */
  raiseChildren(id: NodeId, childPath: string, createCount: number, zxid: bigint): void {
    const record = this.view(id)
    const at = this.at(id)
    const countBefore = record.getInt32(at + field.cversion)
    if (createCount <= countBefore) return
    const highBefore = record.getInt32(at + field.pzxid)
    const lowBefore = record.getInt32(at + field.pzxid + 4)
    record.setInt32(at + field.cversion, createCount)
    writeZxid(record, at + field.pzxid, zxid)
    if (!this.options.digests || !isParentDigested(childPath)) return
    if (record.getInt32(at + field.pzxid) !== highBefore) {
      this.computeDigest(id)
      return
    }
    const low = record.getInt32(at + field.pzxid + 4)
    const digest = record.getInt32(at + field.digest)
    this.setDigest(id, raisedDigest(digest, countBefore ^ createCount, lowBefore ^ low))
  }

  /** The path is that of a child. */
  raisePzxid(id: NodeId, childPath: string, zxid: bigint): void {
    const record = this.view(id)
    const at = this.at(id)
    if (zxid <= record.getBigInt64(at + field.pzxid)) return
    writeZxid(record, at + field.pzxid, zxid)
    if (isParentDigested(childPath)) this.computeDigest(id)
  }

  /** The version of an ACL that no transaction set. */
  setInitialAversion(id: NodeId, aversion: number): void {
    this.view(id).setInt32(this.at(id) + field.aversion, aversion)
  }

  // --- snapshots -------------------------------------------------------------------------------

  /** Walks all znodes there are now, parents first, while the tree goes on changing. */
  cursor(): TreeCursor {
    const cursor = new TreeCursor(this, () => this.cursors.delete(cursor))
    this.cursors.add(cursor)
    return cursor
  }

  /** The first znode without children that is reached by going down from this one. */
  firstLeafBelow(id: NodeId): NodeId {
    let leaf = id
    for (let next = leaf; next !== noNode; next = this.link(leaf, field.firstChild)) leaf = next
    return leaf
  }

  /** A znode goes with its session, and no transaction names it: snapshots under way must know it. */
  keepForSnapshots(id: NodeId): void {
    for (const cursor of this.cursors) cursor.keep(id, this.parent(id))
  }

  /** @internal The znode after this one, parents before children. */
  successor(id: NodeId): NodeId {
    const child = this.link(id, field.firstChild)
    return child === noNode ? this.successorSkipping(id) : child
  }

  /** @internal The same, without what is below. */
  successorSkipping(id: NodeId): NodeId {
    for (let node = id; node !== root; node = this.parent(node)) {
      const parent = this.parent(node)
      const next = this.link(node, field.next)
      if (next !== this.link(parent, field.firstChild)) return next
    }
    return noNode
  }

  /** @internal Path, data, ACL and stat as a snapshot holds them. */
  writeNode(id: NodeId, writer: Writer, above: PathAbove): void {
    this.writePath(id, writer, above)
    this.writeData(id, writer)
    const start = this.at(id)
    const source = this.view(id)
    const aclId = this.aclId(id)
    writer.longHalves(aclId < 0 ? -1 : 0, aclId)
    writer.rawView(source, start, start + field.dataLength)
    writer.rawView(source, start + field.pzxid, start + field.pzxid + 8)
  }

  private pathBytes(id: NodeId): number {
    let length = 0
    for (let node = id; node !== root; node = this.parent(node)) {
      length += 1 + this.view(node).getInt32(this.at(node) + field.nameLength)
    }
    return length
  }

  private writePath(id: NodeId, writer: Writer, above: PathAbove): void {
    if (id === root) {
      writer.int(0)
      return
    }
    const record = this.view(id)
    const at = this.at(id)
    const parent = record.getInt32(at + field.parent)
    const { path } = above
    if (above.parent !== parent) this.writeAbove(parent, above)
    const ref = record.getUint32(at + field.nameRef)
    const length = record.getInt32(at + field.nameLength)
    const start = this.arena.offsetOf(ref)
    writer.int(path.position + length)
    writer.rawView(path.view, 0, path.position)
    writer.rawView(this.arena.viewOf(ref), start, start + length)
  }

  /** From its end upwards; byte for byte, for not all that may be loaded is valid text. */
  private writeAbove(parent: NodeId, above: PathAbove): void {
    const { path } = above
    above.parent = parent
    let end = this.pathBytes(parent)
    path.reset()
    path.ensure(end + 1)
    path.position = end + 1
    path.bytes[end] = slash
    for (let node = parent; node !== root; node = this.parent(node)) {
      const record = this.view(node)
      const at = this.at(node)
      const ref = record.getUint32(at + field.nameRef)
      const size = record.getInt32(at + field.nameLength)
      end -= size
      copyWords(this.arena.viewOf(ref), this.arena.offsetOf(ref), path.view, end, size)
      path.bytes[--end] = slash
    }
  }

  /**
   * Reads a znode of a snapshot into a tree that has nothing but its root before the first one;
   * false at the terminator. The reader must hold it whole, or a MalformedError leaves the tree
   * as it was.
   */
  loadNode(reader: Reader, useAcl: (aclId: number) => void): boolean {
    const pathLength = reader.int()
    if (pathLength < 0) throw new MalformedError(`a path of ${pathLength} bytes in a snapshot`)
    if (pathLength > reader.remaining) throw new MalformedError('the record ends too early')
    const { bytes } = reader
    const start = reader.position
    const end = start + pathLength
    if (pathLength === 1 && bytes[start] === slash) {
      reader.position = end
      return false
    }
    reader.position = end
    const dataLength = reader.int()
    if (dataLength < -1) throw new MalformedError(`data of ${dataLength} bytes in a snapshot`)
    const dataStart = reader.position
    const dataEnd = dataStart + Math.max(0, dataLength)
    if (dataEnd + 68 > reader.end) throw new MalformedError('the record ends too early')
    reader.position = dataEnd
    reader.int() // The upper half: ids are small, and -1 is -1 in the lower half too.
    const aclId = reader.int()
    const id = pathLength === 0 ? root : this.loadLink(reader, start, end)
    const record = this.view(id)
    const at = this.at(id)
    const stat = reader.position
    copyWords(reader.view, stat, record, at, field.dataLength)
    copyWords(reader.view, stat + field.dataLength, record, at + field.pzxid, 8)
    reader.position = stat + field.dataLength + 8
    record.setInt32(at + field.aclId, aclId)
    useAcl(aclId)
    this.freeData(id)
    if (dataLength === -1) {
      record.setUint32(at + field.dataRef, nullData)
    } else {
      record.setUint32(at + field.dataRef, this.arena.storeView(reader.view, dataStart, dataEnd))
      record.setInt32(at + field.dataLength, dataLength)
    }
    if (this.isOwned(id)) this.owners.add(id, record.getBigInt64(at + field.owner))
    this.pathAndDataBytes += pathLength + Math.max(0, dataLength)
    if (id === root || !isReserved(bytes, start, end)) this.computeDigest(id)
    return true
  }

  private lastLoadedParent: NodeId = noNode

  private loadLink({ bytes, view }: Reader, start: number, end: number): NodeId {
    let nameStart = end
    while (nameStart > start && bytes[nameStart - 1] !== slash) nameStart--
    const parentEnd = nameStart - 1
    if (parentEnd < start) throw new MalformedError('a path without / in a snapshot')
    // Siblings stand together in a snapshot, so the parent is nearly always the last one.
    const cached = this.lastLoadedParent
    const parent =
      cached !== noNode && cached !== root && this.isAt(cached, bytes, start, parentEnd)
        ? cached
        : this.findBytes(bytes, start, parentEnd)
    if (parent === noNode) {
      throw new MalformedError(`${decodeText(bytes, start, end)} comes before its parent`)
    }
    this.lastLoadedParent = parent
    const hash = hashBytes(this.hashOf(parent), bytes, parentEnd, end)
    // Whether the path is there already is not looked up, a third of the time a large tree takes
    // to load: whoever wrote the snapshot met each node once, below its parent.
    this.count++
    return this.attach(parent, view, nameStart, end, hash)
  }

  /** Makes the index large enough at once for the nodes of a snapshot of this size. */
  expect(snapshotBytes: number): void {
    this.index.reserve(Math.floor(snapshotBytes / snapshotBytesPerNode))
  }

  // --- inside ----------------------------------------------------------------------------------

  private view(id: NodeId): DataView {
    return this.views[id >>> chunkBits]!
  }

  private at(id: NodeId): number {
    return (id & chunkMask) * recordBytes
  }

  private parent(id: NodeId): NodeId {
    return this.view(id).getInt32(this.at(id) + field.parent)
  }

  private hashOf(id: NodeId): number {
    return this.view(id).getInt32(this.at(id) + field.hash)
  }

  private link(id: NodeId, offset: number): NodeId {
    return this.view(id).getInt32(this.at(id) + offset)
  }

  private setLink(id: NodeId, offset: number, value: NodeId): void {
    this.view(id).setInt32(this.at(id) + offset, value)
  }

  private addTo(id: NodeId, offset: number, change: number): void {
    const record = this.view(id)
    const at = this.at(id) + offset
    record.setInt32(at, record.getInt32(at) + change)
  }

  private countDescendants(parent: NodeId, change: number): void {
    for (let node = parent; ; node = this.parent(node)) {
      this.addTo(node, field.descendants, change)
      if (node === root) return
    }
  }

  private allocate(): NodeId {
    const reused = this.freeIds.pop()
    if (reused !== undefined) {
      const record = this.view(reused)
      const start = this.at(reused)
      for (let i = 0; i < recordBytes; i += 4) record.setInt32(start + i, 0)
      return reused
    }
    const id = this.idsUsed++
    if (id >= this.capacity) this.makeRoom()
    return id
  }

  /** The first chunk grows until it is as large as those that follow. */
  private makeRoom(): void {
    const isFirst = this.capacity < chunkNodes
    const nodes = isFirst ? Math.max(firstChunkNodes, this.capacity * 2) : chunkNodes
    const records = isFirst ? new ArrayBuffer(nodes * recordBytes) : this.chunks.take()
    if (isFirst && this.capacity > 0) {
      new Uint8Array(records).set(new Uint8Array(this.views[0]!.buffer))
    }
    this.views[isFirst ? 0 : this.views.length] = new DataView(records)
    this.capacity = isFirst ? nodes : this.capacity + chunkNodes
  }

  /** Makes a node under a parent, as its last child. */
  private attach(
    parent: NodeId,
    path: DataView,
    nameStart: number,
    nameEnd: number,
    hash: number,
  ): NodeId {
    const id = this.allocate()
    const record = this.view(id)
    const at = this.at(id)
    record.setUint32(at + field.nameRef, this.arena.storeView(path, nameStart, nameEnd))
    record.setInt32(at + field.nameLength, nameEnd - nameStart)
    record.setInt32(at + field.parent, parent)
    record.setInt32(at + field.hash, hash)
    if (this.options.digests) {
      const checksum = crc32OfView(path, nameStart - 1, nameEnd, this.pathChecksum(parent))
      record.setInt32(at + field.pathChecksum, checksum)
    }
    this.index.insert(id, hash)
    const first = this.link(parent, field.firstChild)
    if (first === noNode) {
      this.setLink(parent, field.firstChild, id)
      record.setInt32(at + field.next, id)
      record.setInt32(at + field.previous, id)
    } else {
      const last = this.link(first, field.previous)
      record.setInt32(at + field.previous, last)
      record.setInt32(at + field.next, first)
      this.setLink(last, field.next, id)
      this.setLink(first, field.previous, id)
    }
    this.addTo(parent, field.numChildren, 1)
    this.countDescendants(parent, 1)
    return id
  }

  private storeData(id: NodeId, data: Uint8Array | null, view?: DataView, dataAt?: number): void {
    this.freeData(id)
    const record = this.view(id)
    const at = this.at(id)
    if (data === null) {
      record.setUint32(at + field.dataRef, nullData)
      return
    }
    const { length } = data
    const ref =
      view === undefined || dataAt === undefined
        ? this.arena.store(data)
        : this.arena.storeView(view, dataAt, dataAt + length)
    record.setUint32(at + field.dataRef, ref)
    record.setInt32(at + field.dataLength, length)
  }

  private freeData(id: NodeId): void {
    const record = this.view(id)
    const at = this.at(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref !== nullData) this.arena.free(ref, record.getInt32(at + field.dataLength))
    record.setUint32(at + field.dataRef, 0)
    record.setInt32(at + field.dataLength, 0)
  }

  private digestMade(id: NodeId, { zxid, time, owner, contentChecksum }: NewNode): void {
    if (contentChecksum === undefined || owner !== 0n || !this.options.digests) {
      this.computeDigest(id, contentChecksum)
    } else {
      this.setDigest(id, creationChecksum(zxid, time, contentChecksum))
    }
  }

  private computeDigest(id: NodeId, contentChecksum?: number): void {
    if (!this.options.digests) return
    const record = this.view(id)
    const at = this.at(id)
    let checksum = contentChecksum ?? this.pathChecksum(id)
    const ref = record.getUint32(at + field.dataRef)
    if (contentChecksum === undefined && ref !== 0 && ref !== nullData) {
      const start = this.arena.offsetOf(ref)
      const end = start + record.getInt32(at + field.dataLength)
      checksum = crc32OfView(this.arena.viewOf(ref), start, end, checksum)
    }
    this.setDigest(id, statChecksum(record, at, checksum))
  }

  private setDigest(id: NodeId, digest: number): void {
    const record = this.view(id)
    const at = this.at(id) + field.digest
    this.digest.subtract(record.getInt32(at))
    record.setInt32(at, digest)
    this.digest.add(digest)
  }
}

/** The id of "anyone may do anything", which stands in no table. */
export const openAclId = -1

const reservedPrefix = '/zookeeper/'
const reservedBytes = encodeText(reservedPrefix)
const emptyBytes = new Uint8Array(0)

/**
 * Whether a node is part of the digest of its tree: what is below /zookeeper, each server keeps
 * for itself.
 */
export function isDigested(path: string): boolean {
  return path.charCodeAt(1) !== reservedBytes[1] || !path.startsWith(reservedPrefix)
}

function isParentDigested(path: string): boolean {
  return isDigested(path) || lastSlash(path) < reservedPrefix.length
}

function isReserved(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < reservedBytes.length) return false
  for (let i = 0; i < reservedBytes.length; i++) {
    if (bytes[start + i] !== reservedBytes[i]) return false
  }
  return true
}
