import { Acl, FileHeader, snapshotMagic, Writer } from '@zabra/protocol'
import { adler32 } from '../../src/base/checksum.ts'
import type { Database } from '../../src/state/database.ts'
import { noNode } from '../../src/state/tree/tree.ts'

/** A snapshot being written: each `next` adds a piece, the last one returns the file. */
export type SnapshotPieces = Generator<void, Uint8Array, void>

/**
 * As Apache ZooKeeper writes it while transactions go on: sessions, then ACLs, then one node after
 * another, depth-first and by path. A node is whatever is at its path when its turn comes, and the
 * names of its children are those of that moment. So below a node that was deleted meanwhile may
 * stand what a later node of the same name has there.
 */
export function* apacheSnapshot(db: Database): SnapshotPieces {
  const writer = new Writer()
  writeHeader(writer)
  writeSessions(db, writer)
  yield
  writeAcls(db, writer)
  const waiting = ['']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    yield
    waiting.push(...writeNode(db, path, writer))
  }
  return finish(writer, db.lastZxid, db.tree.digest.value)
}

/** As zabra writes it, a node at a time. */
export function* zabraSnapshot(db: Database): SnapshotPieces {
  const writer = new Writer()
  const source = db.snapshotSource()
  writeHeader(writer)
  writeSessions(db, writer)
  writeAcls(db, writer)
  do yield
  while (source.writeNodes(writer, 1))
  const { zxid, digest } = source.finish()
  source.release()
  return finish(writer, zxid, digest!)
}

function writeHeader(writer: Writer): void {
  FileHeader.write(writer, { magic: snapshotMagic, version: 2, dbid: -1n })
}

function writeSessions({ sessions }: Database, writer: Writer): void {
  writer.int(sessions.size)
  for (const [id, timeoutMs] of sessions) {
    writer.long(id)
    writer.int(timeoutMs)
  }
}

function writeAcls({ acls }: Database, writer: Writer): void {
  const entries = [...acls.entries()]
  writer.int(entries.length)
  for (const [id, acl] of entries) {
    writer.long(id)
    writer.int(acl.length)
    for (const entry of acl) Acl.write(writer, entry)
  }
}

/** Returns the paths of the children; there is nothing to write where the node is gone. */
function writeNode({ tree }: Database, path: string, writer: Writer): string[] {
  const id = tree.find(path)
  if (id === noNode) return []
  const stat = new DataView(new ArrayBuffer(68))
  tree.copyStat(id, stat)
  writer.ustring(path)
  tree.writeData(id, writer)
  writer.long(BigInt(tree.aclId(id)))
  // As on the wire, without the length of the data and the number of children.
  writer.raw(new Uint8Array(stat.buffer, 0, 52))
  writer.raw(new Uint8Array(stat.buffer, 60, 8))
  return [...tree.children(id)].map((child) => `${path}/${tree.nameOf(child)}`)
}

function finish(writer: Writer, zxid: bigint, digest: bigint): Uint8Array {
  writer.ustring('/')
  seal(writer)
  writer.long(zxid)
  writer.int(2)
  writer.long(BigInt.asIntN(64, digest))
  seal(writer)
  return writer.written()
}

function seal(writer: Writer): void {
  const checksum = adler32(writer.bytes, 0, writer.position)
  writer.longHalves(0, checksum)
  writer.ustring('/')
}
