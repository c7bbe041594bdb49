import { copyWords, MalformedError, Writer, type Reader } from '@zabra/protocol'
import { field, noNode, root, type NodeId } from './layout.ts'
import { recordAt, type NodeStore } from './node-store.ts'

const slash = 0x2f
/** The length of the data, and the stat without its counters of data and children. */
const statBytes = field.dataLength + 8

/** The path of a parent with its slash, cached while its children are written one after another. */
export class PathAbove {
  parent: NodeId = noNode
  readonly path = new Writer()
}

/** Writes the path of a znode in the format of snapshots. */
export function writeSnapshotPath(
  nodes: NodeStore,
  id: NodeId,
  writer: Writer,
  above: PathAbove,
): void {
  if (id === root) {
    writer.int(0)
    return
  }
  const { arena } = nodes
  const record = nodes.view(id)
  const at = recordAt(id)
  const parent = record.getInt32(at + field.parent)
  const { path } = above
  if (above.parent !== parent) setParent(nodes, parent, above)
  const ref = record.getUint32(at + field.nameRef)
  const length = record.getInt32(at + field.nameLength)
  const start = arena.offsetOf(ref)
  writer.int(path.position + length)
  writer.rawView(path.view, 0, path.position)
  writer.rawView(arena.viewOf(ref), start, start + length)
}

/**
 * Writes the path from its end to its start. It copies bytes, because a loaded name may be invalid
 * text.
 */
function setParent(nodes: NodeStore, parent: NodeId, above: PathAbove): void {
  const { arena } = nodes
  const { path } = above
  above.parent = parent
  let end = nodes.pathBytes(parent)
  path.reset()
  path.ensure(end + 1)
  path.position = end + 1
  path.bytes[end] = slash
  for (let node = parent; node !== root; node = nodes.parent(node)) {
    const record = nodes.view(node)
    const at = recordAt(node)
    const ref = record.getUint32(at + field.nameRef)
    const size = record.getInt32(at + field.nameLength)
    end -= size
    copyWords(arena.viewOf(ref), arena.offsetOf(ref), path.view, end, size)
    path.bytes[--end] = slash
  }
}

/** Writes ACL and stat of a znode in the format of snapshots. */
export function writeSnapshotStat(nodes: NodeStore, id: NodeId, writer: Writer): void {
  const start = recordAt(id)
  const record = nodes.view(id)
  const aclId = record.getInt32(start + field.aclId)
  writer.longHalves(aclId < 0 ? -1 : 0, aclId)
  writer.rawView(record, start, start + field.dataLength)
  writer.rawView(record, start + field.pzxid, start + field.pzxid + 8)
}

/** One znode of a snapshot: the positions of its parts in the bytes of a reader. */
export class SnapshotNode {
  pathStart = 0
  pathEnd = 0
  dataStart = 0
  /** -1 means null data. */
  dataLength = 0
  aclId = 0
  private statStart = 0

  /**
   * Reads past the next znode; false at the terminator. A MalformedError leaves this object in an
   * undefined state.
   */
  read(reader: Reader): boolean {
    const pathLength = reader.int()
    if (pathLength < 0) throw new MalformedError(`a path of ${pathLength} bytes in a snapshot`)
    if (pathLength > reader.remaining) throw new MalformedError('the record ends too early')
    this.pathStart = reader.position
    this.pathEnd = reader.position + pathLength
    reader.position = this.pathEnd
    if (pathLength === 1 && reader.bytes[this.pathStart] === slash) return false
    this.dataLength = reader.int()
    if (this.dataLength < -1) {
      throw new MalformedError(`data of ${this.dataLength} bytes in a snapshot`)
    }
    this.dataStart = reader.position
    const dataEnd = this.dataStart + Math.max(0, this.dataLength)
    if (dataEnd + 8 + statBytes > reader.end) throw new MalformedError('the record ends too early')
    reader.position = dataEnd
    reader.int() // The upper half: ids are small, and for -1 the lower half is -1 as well.
    this.aclId = reader.int()
    this.statStart = reader.position
    reader.position += statBytes
    return true
  }

  get pathLength(): number {
    return this.pathEnd - this.pathStart
  }

  copyStat(source: DataView, record: DataView, at: number): void {
    const { statStart } = this
    copyWords(source, statStart, record, at, field.dataLength)
    copyWords(source, statStart + field.dataLength, record, at + field.pzxid, 8)
  }
}
