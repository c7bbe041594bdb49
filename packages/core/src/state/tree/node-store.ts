import { decodeText } from '@zabra/protocol'
import type { TouchMemory } from '../../ports.ts'
import { Arena } from './arena.ts'
import { field, noNode, recordBytes, root, type NodeId } from './layout.ts'
import { Reserve } from './reserve.ts'

const chunkBits = 12
const chunkNodes = 1 << chunkBits
const chunkMask = chunkNodes - 1
/** The first chunk is small, so that a tree of a few znodes does not allocate a whole one. */
const firstChunkNodes = 128
const slash = 0x2f
const emptyBytes = new Uint8Array(0)

/** Used in place of a block reference for null data, which clients can tell from empty data. */
export const nullData = 0xffffffff

/** The offset of a znode's record in its chunk. */
export function recordAt(id: NodeId): number {
  return (id & chunkMask) * recordBytes
}

/**
 * The memory of a tree: a record of fixed size for each znode (`layout.ts`), in chunks, and an
 * arena with names and data. The children of a znode form a ring, oldest first.
 */
export class NodeStore {
  readonly arena: Arena
  private readonly views: DataView[] = []
  private readonly chunks: Reserve
  private readonly freeIds: NodeId[] = []
  private idsUsed = 1
  private capacity = 0

  constructor(touchMemory: TouchMemory | undefined) {
    this.arena = new Arena(touchMemory)
    this.chunks = new Reserve(chunkNodes * recordBytes, touchMemory)
  }

  // --- records ---------------------------------------------------------------------------------

  /** The chunk that holds the record of a znode; the record begins at `recordAt(id)`. */
  view(id: NodeId): DataView {
    return this.views[id >>> chunkBits]!
  }

  /** Reads a field of four bytes. */
  int(id: NodeId, offset: number): number {
    return this.view(id).getInt32(recordAt(id) + offset)
  }

  /** Reads a field of eight bytes. */
  long(id: NodeId, offset: number): bigint {
    return this.view(id).getBigInt64(recordAt(id) + offset)
  }

  setInt(id: NodeId, offset: number, value: number): void {
    this.view(id).setInt32(recordAt(id) + offset, value)
  }

  parent(id: NodeId): NodeId {
    return this.view(id).getInt32(recordAt(id) + field.parent)
  }

  /** Allocates a record whose fields are all 0. */
  allocate(): NodeId {
    const reused = this.freeIds.pop()
    if (reused !== undefined) {
      const record = this.view(reused)
      const start = recordAt(reused)
      for (let i = 0; i < recordBytes; i += 4) record.setInt32(start + i, 0)
      return reused
    }
    const id = this.idsUsed++
    if (id >= this.capacity) this.makeRoom()
    return id
  }

  /** The first chunk grows until it has the size of all others. */
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

  // --- parents and siblings --------------------------------------------------------------------

  /** Adds a znode as the last child of a parent; its name is part of the bytes of its path. */
  attach(parent: NodeId, path: DataView, nameStart: number, nameEnd: number, hash: number): NodeId {
    const id = this.allocate()
    const record = this.view(id)
    const at = recordAt(id)
    record.setUint32(at + field.nameRef, this.arena.storeView(path, nameStart, nameEnd))
    record.setInt32(at + field.nameLength, nameEnd - nameStart)
    record.setInt32(at + field.parent, parent)
    record.setInt32(at + field.hash, hash)
    const first = this.int(parent, field.firstChild)
    if (first === noNode) {
      this.setInt(parent, field.firstChild, id)
      record.setInt32(at + field.next, id)
      record.setInt32(at + field.previous, id)
    } else {
      const last = this.int(first, field.previous)
      record.setInt32(at + field.previous, last)
      record.setInt32(at + field.next, first)
      this.setInt(last, field.next, id)
      this.setInt(first, field.previous, id)
    }
    this.countChild(parent, 1)
    return id
  }

  /** Removes a leaf; its number may be reused. */
  detach(id: NodeId): void {
    const record = this.view(id)
    const at = recordAt(id)
    const parent = record.getInt32(at + field.parent)
    const next = record.getInt32(at + field.next)
    const previous = record.getInt32(at + field.previous)
    if (next === id) {
      this.setInt(parent, field.firstChild, noNode)
    } else {
      this.setInt(previous, field.next, next)
      this.setInt(next, field.previous, previous)
      if (this.int(parent, field.firstChild) === id) this.setInt(parent, field.firstChild, next)
    }
    this.countChild(parent, -1)
    this.arena.free(record.getUint32(at + field.nameRef), record.getInt32(at + field.nameLength))
    this.freeData(id)
    this.freeIds.push(id)
  }

  private countChild(parent: NodeId, change: number): void {
    this.addTo(parent, field.numChildren, change)
    for (let node = parent; ; node = this.parent(node)) {
      this.addTo(node, field.descendants, change)
      if (node === root) return
    }
  }

  private addTo(id: NodeId, offset: number, change: number): void {
    const record = this.view(id)
    const at = recordAt(id) + offset
    record.setInt32(at, record.getInt32(at) + change)
  }

  /** The next znode in depth-first order, parents before children. */
  successor(id: NodeId): NodeId {
    const child = this.int(id, field.firstChild)
    return child === noNode ? this.successorSkipping(id) : child
  }

  /** The next znode in the same order after all descendants of this one. */
  successorSkipping(id: NodeId): NodeId {
    for (let node = id; node !== root; node = this.parent(node)) {
      const parent = this.parent(node)
      const next = this.int(node, field.next)
      if (next !== this.int(parent, field.firstChild)) return next
    }
    return noNode
  }

  // --- names and paths -------------------------------------------------------------------------

  nameOf(id: NodeId): string {
    const record = this.view(id)
    const at = recordAt(id)
    const ref = record.getUint32(at + field.nameRef)
    const start = this.arena.offsetOf(ref)
    return decodeText(
      this.arena.bytesOf(ref),
      start,
      start + record.getInt32(at + field.nameLength),
    )
  }

  pathOf(id: NodeId): string {
    let path = ''
    for (let node = id; node !== root; node = this.parent(node))
      path = `/${this.nameOf(node)}${path}`
    return path === '' ? '/' : path
  }

  /** The length of a path in bytes. */
  pathBytes(id: NodeId): number {
    let length = 0
    for (let node = id; node !== root; node = this.parent(node)) {
      length += 1 + this.int(node, field.nameLength)
    }
    return length
  }

  /** Whether a znode has this parent and this name. */
  isNamed(id: NodeId, parent: NodeId, bytes: Uint8Array, start: number, end: number): boolean {
    const record = this.view(id)
    const at = recordAt(id)
    if (record.getInt32(at + field.parent) !== parent) return false
    if (record.getInt32(at + field.nameLength) !== end - start) return false
    const ref = record.getUint32(at + field.nameRef)
    const name = this.arena.bytesOf(ref)
    const offset = this.arena.offsetOf(ref) - start
    for (let i = start; i < end; i++) if (bytes[i] !== name[offset + i]) return false
    return true
  }

  /** Whether a znode has this path; compares from the end to the start. */
  isAt(id: NodeId, bytes: Uint8Array, pathStart: number, pathEnd: number): boolean {
    let end = pathEnd
    for (let node = id; node !== root; node = this.parent(node)) {
      const record = this.view(node)
      const at = recordAt(node)
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

  // --- data ------------------------------------------------------------------------------------

  /** A view of the stored data: valid only until the next change. */
  data(id: NodeId): Uint8Array | null {
    const record = this.view(id)
    const at = recordAt(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref === nullData) return null
    if (ref === 0) return emptyBytes
    const start = this.arena.offsetOf(ref)
    return this.arena.bytesOf(ref).subarray(start, start + record.getInt32(at + field.dataLength))
  }

  storeData(id: NodeId, data: Uint8Array | null): void {
    this.freeData(id)
    if (data === null) this.view(id).setUint32(recordAt(id) + field.dataRef, nullData)
    else this.setData(id, this.arena.store(data), data.length)
  }

  /** The same for data that already has a view, which is cheaper while the data is short. */
  storeDataOf(id: NodeId, source: DataView, start: number, length: number): void {
    this.freeData(id)
    this.setData(id, this.arena.storeView(source, start, start + length), length)
  }

  private setData(id: NodeId, ref: number, length: number): void {
    const record = this.view(id)
    const at = recordAt(id)
    record.setUint32(at + field.dataRef, ref)
    record.setInt32(at + field.dataLength, length)
  }

  private freeData(id: NodeId): void {
    const record = this.view(id)
    const at = recordAt(id)
    const ref = record.getUint32(at + field.dataRef)
    if (ref !== nullData) this.arena.free(ref, record.getInt32(at + field.dataLength))
    record.setUint32(at + field.dataRef, 0)
    record.setInt32(at + field.dataLength, 0)
  }
}
