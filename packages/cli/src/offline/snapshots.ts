import { loadSnapshot, type SnapshotSink } from '@zabra/core'
import { StatPersisted, type Acl, type Reader } from '@zabra/protocol'
import { zlibCompression } from '@zabra/server'
import { disk } from './files.ts'

/** A node as a snapshot holds it. */
export interface StoredNode {
  readonly path: string
  readonly data: Uint8Array | null
  readonly aclId: bigint
  readonly stat: StatPersisted
}

/** The content of a snapshot besides nodes. */
export interface SnapshotContent {
  readonly sessions: Map<bigint, number>
  readonly acls: Map<bigint, readonly Acl[]>
  digest: { readonly zxid: bigint; readonly value: bigint } | undefined
  endedAt: bigint | undefined
  nodes: number
}

/** Reads a snapshot from end to end. Throws a SnapshotError for one that is damaged. */
export async function readSnapshot(
  directory: string,
  file: string,
  onNode: (node: StoredNode) => void,
): Promise<SnapshotContent> {
  const content: SnapshotContent = {
    sessions: new Map(),
    acls: new Map(),
    digest: undefined,
    endedAt: undefined,
    nodes: 0,
  }
  const sink: SnapshotSink = {
    expect: () => {},
    session: (id, timeoutMs) => content.sessions.set(id, timeoutMs),
    acl: (id, acl) => content.acls.set(id, acl),
    node(reader: Reader) {
      const path = reader.ustring()
      if (path === '/') return false
      // Apache names the root with the empty path.
      const node = {
        path: path === '' ? '/' : path,
        data: reader.buffer(),
        aclId: reader.long(),
        stat: StatPersisted.read(reader),
      }
      content.nodes++
      onNode(node)
      return true
    },
    digest: (zxid, _version, value) => (content.digest = { zxid, value }),
    endedAt: (zxid) => (content.endedAt = zxid),
  }
  await loadSnapshot(disk, directory, file, sink, zlibCompression)
  return content
}
