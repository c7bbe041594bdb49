import { decodeText, encodeText, lastSlash, MalformedError, type Reader } from '@zabra/protocol'
import type { Writer } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import { crc32OfView } from '../../base/checksum.ts'
import { field, noNode, root, type NodeId } from './layout.ts'
import { nullData, recordAt } from './node-store.ts'
import type { RequestBytes } from './request-bytes.ts'
import { hashBytes } from './scanned-path.ts'
import {
  creationChecksum,
  raiseChildCounter,
  stampCreation,
  statChecksum,
  writeTime,
  writeZxid,
} from './stat.ts'
import { TreeCursor } from './tree-cursor.ts'
import {
  SnapshotNode,
  writeSnapshotPath,
  writeSnapshotStat,
  type PathAbove,
} from './tree-snapshot.ts'
import { TreeView, type TreeOptions } from './tree-view.ts'

export { noNode, type NodeId }

const slash = 0x2f
/** The approximate size of a small znode in a snapshot. */
const snapshotBytesPerNode = 200

/** The content of a new znode. */
export interface NewNode {
  readonly data: Uint8Array | null
  readonly aclId: number
  /** As stored: a session, the mark of a container, a TTL, or 0. */
  readonly owner: bigint
  readonly zxid: bigint
  readonly time: bigint
  /** The checksum of path and data, if it is known. */
  readonly contentChecksum?: number | undefined
}

/** The stat fields that change with the data. */
export interface DataChange {
  readonly zxid: bigint
  readonly time: bigint
  readonly version: number
  readonly contentChecksum?: number | undefined
}

/**
 * The znodes: the part of the state that all replicas share. Only applying a transaction changes
 * it.
 *
 * `TreeView` is the part that reads. This class changes the znodes and updates the totals, the
 * index, the owners and the digest with them. `NodeStore` is the memory of both.
 */
export class Tree extends TreeView {
  private readonly cursors = new Set<TreeCursor>()
  private readonly loaded = new SnapshotNode()
  private lastLoadedParent: NodeId = noNode

  constructor(options: Partial<TreeOptions> = {}) {
    super(options)
    const id = this.nodes.allocate()
    assert(id === root, 'the root is the first node')
    this.count = 1
    this.nodes.setInt(root, field.hash, this.seed)
    this.index.insert(root, this.seed)
    this.nodes.setInt(root, field.aclId, openAclId)
    this.computeDigest(root)
  }

  // --- by apply --------------------------------------------------------------------------------

  /** Adds a child; the path must not exist. Does not change the stat of the parent. */
  insert(path: string, parent: NodeId, made: NewNode, request?: RequestBytes): NodeId {
    const scanned = request === undefined ? this.scan(path) : request.path
    const { start, slashAt, end, hash } = scanned
    const id = this.attach(parent, scanned.view, slashAt + 1, end, hash)
    const record = this.nodes.view(id)
    const at = recordAt(id)
    stampCreation(record, at, made.zxid, made.time)
    if (made.owner !== 0n) record.setBigInt64(at + field.owner, made.owner)
    record.setInt32(at + field.aclId, made.aclId)
    const { data } = made
    if (request !== undefined && request.hasBody && data !== null) {
      this.nodes.storeDataOf(id, scanned.view, request.dataStart, data.length)
    } else {
      this.nodes.storeData(id, data)
    }
    if (request !== undefined) request.node = id
    if (made.owner !== 0n) this.owners.add(id, made.owner)
    for (const cursor of this.cursors) cursor.nodeCreated(id)
    this.count++
    this.pathAndDataBytes += end - start + record.getInt32(at + field.dataLength)
    if (isDigested(path)) this.digestCreation(id, made)
    return id
  }

  /** Removes a znode without children. Does not change the stat of the parent. */
  remove(id: NodeId): void {
    assert(id !== root && this.childCount(id) === 0, 'only leaves are removed')
    for (const cursor of this.cursors) cursor.nodeRemoved(id)
    this.digest.subtract(this.nodeDigest(id))
    this.owners.remove(id, this.owner(id))
    this.count--
    this.pathAndDataBytes -= this.nodes.pathBytes(id) + this.dataLength(id)
    this.index.remove(id, this.nodes.int(id, field.hash))
    this.nodes.detach(id)
  }

  /** Returns by how many bytes the data has grown. */
  setData(id: NodeId, path: string, data: Uint8Array | null, change: DataChange): number {
    const record = this.nodes.view(id)
    const at = recordAt(id)
    writeZxid(record, at + field.mzxid, change.zxid)
    writeTime(record, at + field.mtime, change.time)
    record.setInt32(at + field.version, change.version)
    return this.replaceData(id, path, data, change.contentChecksum)
  }

  /** Sets data that no transaction wrote, such as quota counters. */
  setLocalData(id: NodeId, path: string, data: Uint8Array | null): void {
    this.replaceData(id, path, data)
  }

  private replaceData(
    id: NodeId,
    path: string,
    data: Uint8Array | null,
    contentChecksum?: number,
  ): number {
    const grown = (data?.length ?? 0) - this.dataLength(id)
    this.pathAndDataBytes += grown
    this.nodes.storeData(id, data)
    if (isDigested(path)) this.computeDigest(id, contentChecksum)
    return grown
  }

  setAcl(id: NodeId, path: string, aclId: number, aversion: number): void {
    const record = this.nodes.view(id)
    const at = recordAt(id)
    record.setInt32(at + field.aclId, aclId)
    record.setInt32(at + field.aversion, aversion)
    if (isDigested(path)) this.computeDigest(id)
  }

  /**
   * Raises a parent's counter and pzxid. Neither ever decreases, so replay does no harm.
   * `childPath` is the path of a child.
   */
  raiseChildren(id: NodeId, childPath: string, createCount: number, zxid: bigint): void {
    const record = this.nodes.view(id)
    const at = recordAt(id)
    if (createCount <= record.getInt32(at + field.cversion)) return
    const digest = raiseChildCounter(record, at, createCount, zxid, this.nodeDigest(id))
    if (!this.options.digests || !isParentDigested(childPath)) return
    if (digest === undefined) this.computeDigest(id)
    else this.setDigest(id, digest)
  }

  /** `childPath` is the path of a child. */
  raisePzxid(id: NodeId, childPath: string, zxid: bigint): void {
    const record = this.nodes.view(id)
    const at = recordAt(id)
    if (zxid <= record.getBigInt64(at + field.pzxid)) return
    writeZxid(record, at + field.pzxid, zxid)
    if (isParentDigested(childPath)) this.computeDigest(id)
  }

  /** Sets the version of an ACL that no transaction set. */
  setInitialAversion(id: NodeId, aversion: number): void {
    this.nodes.setInt(id, field.aversion, aversion)
  }

  private attach(
    parent: NodeId,
    path: DataView,
    nameStart: number,
    nameEnd: number,
    hash: number,
  ): NodeId {
    const id = this.nodes.attach(parent, path, nameStart, nameEnd, hash)
    if (this.options.digests) {
      const checksum = crc32OfView(path, nameStart - 1, nameEnd, this.pathChecksum(parent))
      this.nodes.setInt(id, field.pathChecksum, checksum)
    }
    this.index.insert(id, hash)
    return id
  }

  // --- digests ---------------------------------------------------------------------------------

  private digestCreation(id: NodeId, { zxid, time, owner, contentChecksum }: NewNode): void {
    if (contentChecksum === undefined || owner !== 0n || !this.options.digests) {
      this.computeDigest(id, contentChecksum)
    } else {
      this.setDigest(id, creationChecksum(zxid, time, contentChecksum))
    }
  }

  private computeDigest(id: NodeId, contentChecksum?: number): void {
    if (!this.options.digests) return
    const { arena } = this.nodes
    const record = this.nodes.view(id)
    const at = recordAt(id)
    let checksum = contentChecksum ?? this.pathChecksum(id)
    const ref = record.getUint32(at + field.dataRef)
    if (contentChecksum === undefined && ref !== 0 && ref !== nullData) {
      const start = arena.offsetOf(ref)
      const end = start + record.getInt32(at + field.dataLength)
      checksum = crc32OfView(arena.viewOf(ref), start, end, checksum)
    }
    this.setDigest(id, statChecksum(record, at, checksum))
  }

  private setDigest(id: NodeId, digest: number): void {
    const record = this.nodes.view(id)
    const at = recordAt(id) + field.digest
    this.digest.subtract(record.getInt32(at))
    record.setInt32(at, digest)
    this.digest.add(digest)
  }

  // --- snapshots -------------------------------------------------------------------------------

  /** Walks all znodes that exist now, parents first, while the tree keeps changing. */
  cursor(): TreeCursor {
    const cursor = new TreeCursor(this, () => this.cursors.delete(cursor))
    this.cursors.add(cursor)
    return cursor
  }

  /**
   * Keeps this znode for snapshots in progress: it is deleted with its session, and no transaction
   * names it.
   */
  keepForSnapshots(id: NodeId): void {
    for (const cursor of this.cursors) cursor.keep(id, this.nodes.parent(id))
  }

  /** @internal Writes path, data, ACL and stat in the format of snapshots. */
  writeNode(id: NodeId, writer: Writer, above: PathAbove): void {
    writeSnapshotPath(this.nodes, id, writer, above)
    this.writeData(id, writer)
    writeSnapshotStat(this.nodes, id, writer)
  }

  /** Makes the index large enough for a snapshot of this size. */
  expect(snapshotBytes: number): void {
    this.index.reserve(Math.floor(snapshotBytes / snapshotBytesPerNode))
  }

  /**
   * Reads a znode of a snapshot; false at the terminator. At the first call the tree must contain
   * only its root. The reader must hold the whole znode; otherwise this throws a MalformedError and
   * leaves the tree unchanged.
   */
  loadNode(reader: Reader, useAcl: (aclId: number) => void): boolean {
    const { loaded, nodes } = this
    if (!loaded.read(reader)) return false
    const { pathStart, pathEnd, pathLength, dataStart, dataLength, aclId } = loaded
    const { bytes, view } = reader
    const id = pathLength === 0 ? root : this.loadLink(reader, pathStart, pathEnd)
    const record = nodes.view(id)
    const at = recordAt(id)
    // The data comes first: the stat of the record says how much memory to free.
    if (dataLength === -1) nodes.storeData(id, null)
    else nodes.storeDataOf(id, view, dataStart, dataLength)
    loaded.copyStat(view, record, at)
    record.setInt32(at + field.aclId, aclId)
    useAcl(aclId)
    if (this.isOwned(id)) this.owners.add(id, record.getBigInt64(at + field.owner))
    this.pathAndDataBytes += pathLength + Math.max(0, dataLength)
    if (id === root || !isReserved(bytes, pathStart, pathEnd)) this.computeDigest(id)
    return true
  }

  private loadLink({ bytes, view }: Reader, start: number, end: number): NodeId {
    let nameStart = end
    while (nameStart > start && bytes[nameStart - 1] !== slash) nameStart--
    const parentEnd = nameStart - 1
    if (parentEnd < start) throw new MalformedError('a path without / in a snapshot')
    // Siblings are neighbors in a snapshot, so the parent is nearly always the previous one.
    const cached = this.lastLoadedParent
    const parent =
      cached !== noNode && cached !== root && this.nodes.isAt(cached, bytes, start, parentEnd)
        ? cached
        : this.findBytes(bytes, start, parentEnd)
    if (parent === noNode) {
      throw new MalformedError(`${decodeText(bytes, start, end)} comes before its parent`)
    }
    this.lastLoadedParent = parent
    const hash = hashBytes(this.nodes.int(parent, field.hash), bytes, parentEnd, end)
    // This does not check whether the path already exists, which would take a third of the time to
    // load a large tree. The writer of a snapshot visits each node once, after its parent.
    this.count++
    return this.attach(parent, view, nameStart, end, hash)
  }
}

/** The id of `world:anyone` with all permissions, which is not in the table. */
export const openAclId = -1

const reservedPrefix = '/zookeeper/'
const reservedBytes = encodeText(reservedPrefix)

/**
 * Whether a node counts toward the digest of the tree. The nodes below /zookeeper do not, because
 * each server keeps its own.
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
