import {
  copyWords,
  decodeText,
  encodeText,
  lastSlash,
  MalformedError,
  type Reader,
  Writer,
} from '@zabra/protocol'
import { assert } from '../assert.ts'
import { crc32OfView } from '../storage/checksum.ts'
import { Arena } from './arena.ts'
import { TreeDigest } from './digest.ts'
import { Owners } from './owners.ts'
import { PathIndex } from './path-index.ts'
import { field, noNode, recordBytes, root, statWireBytes, ttlOf, type NodeId } from './layout.ts'
import { stampCreation, statChecksum, writeWireStat } from './stat.ts'
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
  private readonly views: DataView[] = []
  private readonly arena = new Arena()
  private readonly index = new PathIndex()
  private readonly freeIds: NodeId[] = []
  private readonly owners: Owners
  private readonly cursors = new Set<TreeCursor>()
  private readonly scratch = new Writer()
  private idsUsed = 1
  private capacity = 0
  private count = 0
  private pathAndDataBytes = 0

  constructor(options: Partial<TreeOptions> = {}) {
    this.options = { ...defaults, ...options }
    this.owners = new Owners(this.options.extendedTypes)
    const id = this.allocate()
    assert(id === root, 'the root is the first node')
    this.count = 1
    this.view(root).setInt32(this.at(root) + field.hash, this.options.hashSeed | 0)
    this.index.insert(root, this.options.hashSeed | 0)
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

  /** The znode at a path; both `/` and the empty path are the root. */
  find(path: string): NodeId {
    return this.findHashed(path, this.hashOfPath(path))
  }

  /** What `findHashed` goes by. */
  hashOfPath(path: string): number {
    const { length } = path
    let hash = this.options.hashSeed | 0
    if (length === 1 && path.charCodeAt(0) === slash) return hash
    for (let i = 0; i < length; i++) {
      const code = path.charCodeAt(i)
      if (code > 0x7f) {
        const bytes = encodeText(path)
        return this.hashBytes(bytes, 0, bytes.length)
      }
      hash = Math.imul(hash ^ code, 0x01000193)
    }
    return hash
  }

  /** As `find`, where the hash is known. */
  findHashed(path: string, hash: number): NodeId {
    const { length } = path
    if (length <= 1 && (length === 0 || path.charCodeAt(0) === slash)) return root
    const first = this.index.first(hash)
    for (let id = first; id !== noNode; id = this.index.next(id, hash)) {
      if (this.isAt(id, path)) return id
    }
    if (first === noNode || isAscii(path)) return noNode
    const bytes = encodeText(path)
    return this.lookup(hash, bytes, 0, bytes.length)
  }

  /** As `find`, below a parent that is known. */
  findChild(parent: NodeId, path: string): NodeId {
    const { length } = path
    const start = lastSlash(path)
    let hash = this.hashOf(parent)
    for (let i = start; i < length; i++) {
      const code = path.charCodeAt(i)
      if (code > 0x7f) return this.find(path)
      hash = Math.imul(hash ^ code, 0x01000193)
    }
    for (let id = this.index.first(hash); id !== noNode; id = this.index.next(id, hash)) {
      if (this.isNamed(id, parent, path, start + 1)) return id
    }
    return noNode
  }

  private isNamed(id: NodeId, parent: NodeId, path: string, start: number): boolean {
    const record = this.view(id)
    const at = this.at(id)
    const length = path.length - start
    if (record.getInt32(at + field.parent) !== parent) return false
    if (record.getInt32(at + field.nameLength) !== length) return false
    const ref = record.getUint32(at + field.nameRef)
    const name = this.arena.bytesOf(ref)
    const offset = this.arena.offsetOf(ref)
    for (let i = 0; i < length; i++)
      if (path.charCodeAt(start + i) !== name[offset + i]) return false
    return true
  }

  /**
   * As `find`, straight from the bytes of a request. Only for ASCII: -1 says that the path holds
   * something else and must be decoded first.
   */
  findAscii(bytes: Uint8Array, start: number, end: number): NodeId {
    const length = end - start
    if (length <= 1 && (length === 0 || bytes[start] === slash)) return root
    let hash = this.options.hashSeed | 0
    for (let i = start; i < end; i++) {
      const code = bytes[i]!
      if (code > 0x7f) return -1
      hash = Math.imul(hash ^ code, 0x01000193)
    }
    return this.lookup(hash, bytes, start, end)
  }

  private findBytes(bytes: Uint8Array, start: number, end: number): NodeId {
    if (end - start <= 1 && (end === start || bytes[start] === slash)) return root
    return this.lookup(this.hashBytes(bytes, start, end), bytes, start, end)
  }

  private hashBytes(bytes: Uint8Array, start: number, end: number): number {
    let hash = this.options.hashSeed | 0
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
    return hash
  }

  private lookup(hash: number, bytes: Uint8Array, start: number, end: number): NodeId {
    for (let id = this.index.first(hash); id !== noNode; id = this.index.next(id, hash)) {
      if (this.isAtBytes(id, bytes, start, end)) return id
    }
    return noNode
  }

  /** Whether a znode has this path, compared from its end upwards. Never so if it is not ASCII. */
  private isAt(id: NodeId, path: string): boolean {
    let end = path.length
    let codes = 0
    for (let node = id; node !== root; node = this.parent(node)) {
      const record = this.view(node)
      const at = this.at(node)
      const start = end - record.getInt32(at + field.nameLength)
      if (start < 1 || path.charCodeAt(start - 1) !== slash) return false
      const ref = record.getUint32(at + field.nameRef)
      const name = this.arena.bytesOf(ref)
      const offset = this.arena.offsetOf(ref) - start
      for (let i = start; i < end; i++) {
        const code = path.charCodeAt(i)
        if (code !== name[offset + i]) return false
        codes |= code
      }
      end = start - 1
    }
    return end === 0 && codes <= 0x7f
  }

  private isAtBytes(id: NodeId, bytes: Uint8Array, pathStart: number, pathEnd: number): boolean {
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
  insert(path: string, parent: NodeId, made: NewNode): NodeId {
    const { scratch } = this
    scratch.reset()
    scratch.text(path)
    const { bytes, view, position: pathLength } = scratch
    const nameStart = lastSlashOf(bytes, pathLength) + 1
    const hash = this.childHash(parent, bytes, nameStart, pathLength)
    const id = this.attach(parent, view, nameStart, pathLength, hash)
    const record = this.view(id)
    const at = this.at(id)
    stampCreation(record, at, made.zxid, made.time)
    if (made.owner !== 0n) record.setBigInt64(at + field.owner, made.owner)
    record.setInt32(at + field.aclId, made.aclId)
    this.storeData(id, made.data)
    this.owners.add(id, made.owner)
    for (const cursor of this.cursors) cursor.meet(id)
    this.count++
    this.pathAndDataBytes += pathLength + this.dataLength(id)
    this.refreshDigest(id, path, made.contentChecksum)
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
    record.setBigInt64(at + field.mzxid, change.zxid)
    record.setBigInt64(at + field.mtime, change.time)
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
    this.refreshDigest(id, path, contentChecksum)
  }

  setAcl(id: NodeId, path: string, aclId: number, aversion: number): void {
    const record = this.view(id)
    const at = this.at(id)
    record.setInt32(at + field.aclId, aclId)
    record.setInt32(at + field.aversion, aversion)
    this.refreshDigest(id, path)
  }

  setAclId(id: NodeId, aclId: number): void {
    this.view(id).setInt32(this.at(id) + field.aclId, aclId)
  }

  /** Raises a parent's counter and pzxid; neither ever goes back, so replay is harmless. */
  raiseChildren(id: NodeId, path: string, createCount: number, zxid: bigint): void {
    const record = this.view(id)
    const at = this.at(id)
    if (createCount <= record.getInt32(at + field.cversion)) return
    record.setInt32(at + field.cversion, createCount)
    record.setBigInt64(at + field.pzxid, zxid)
    this.refreshDigest(id, path)
  }

  raisePzxid(id: NodeId, path: string, zxid: bigint): void {
    const record = this.view(id)
    const at = this.at(id)
    if (zxid <= record.getBigInt64(at + field.pzxid)) return
    record.setBigInt64(at + field.pzxid, zxid)
    this.refreshDigest(id, path)
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
    const isOwned =
      record.getInt32(at + field.owner) !== 0 || record.getInt32(at + field.owner + 4) !== 0
    if (isOwned) this.owners.add(id, record.getBigInt64(at + field.owner))
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
      cached !== noNode && cached !== root && this.isAtBytes(cached, bytes, start, parentEnd)
        ? cached
        : this.findBytes(bytes, start, parentEnd)
    if (parent === noNode) {
      throw new MalformedError(`${decodeText(bytes, start, end)} comes before its parent`)
    }
    this.lastLoadedParent = parent
    const hash = this.childHash(parent, bytes, nameStart, end)
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

  /** The hash of a path goes on from its parent's. */
  private childHash(parent: NodeId, bytes: Uint8Array, start: number, end: number): number {
    let hash = this.hashOf(parent)
    for (let i = start - 1; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
    return hash
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
    const records = new Uint8Array(nodes * recordBytes)
    if (isFirst && this.capacity > 0) records.set(new Uint8Array(this.views[0]!.buffer))
    this.views[isFirst ? 0 : this.views.length] = new DataView(records.buffer)
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

  private storeData(id: NodeId, data: Uint8Array | null): void {
    this.freeData(id)
    const record = this.view(id)
    const at = this.at(id)
    record.setUint32(at + field.dataRef, data === null ? nullData : this.arena.store(data))
    record.setInt32(at + field.dataLength, data?.length ?? 0)
  }

  private freeData(id: NodeId): void {
    const record = this.view(id)
    const at = this.at(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref !== nullData) this.arena.free(ref, record.getInt32(at + field.dataLength))
    record.setUint32(at + field.dataRef, 0)
    record.setInt32(at + field.dataLength, 0)
  }

  private refreshDigest(id: NodeId, path: string, contentChecksum?: number): void {
    if (!path.startsWith(reservedPrefix)) this.computeDigest(id, contentChecksum)
  }

  private computeDigest(id: NodeId, contentChecksum?: number): void {
    if (!this.options.digests) return
    const record = this.view(id)
    const at = this.at(id)
    this.digest.subtract(record.getInt32(at + field.digest))
    let checksum = contentChecksum ?? this.pathChecksum(id)
    const ref = record.getUint32(at + field.dataRef)
    if (contentChecksum === undefined && ref !== 0 && ref !== nullData) {
      const start = this.arena.offsetOf(ref)
      const end = start + record.getInt32(at + field.dataLength)
      checksum = crc32OfView(this.arena.viewOf(ref), start, end, checksum)
    }
    checksum = statChecksum(record, at, checksum)
    record.setInt32(at + field.digest, checksum)
    this.digest.add(checksum)
  }
}

/** The id of "anyone may do anything", which stands in no table. */
export const openAclId = -1

const reservedPrefix = '/zookeeper/'
const reservedBytes = encodeText(reservedPrefix)
const emptyBytes = new Uint8Array(0)

/** Where the last slash of a path is, which has one. */
export function lastSlashOf(path: Uint8Array, end: number): number {
  let at = end - 1
  while (path[at] !== slash) at--
  return at
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

function isReserved(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < reservedBytes.length) return false
  for (let i = 0; i < reservedBytes.length; i++) {
    if (bytes[start + i] !== reservedBytes[i]) return false
  }
  return true
}
