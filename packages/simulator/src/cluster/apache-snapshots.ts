import type { Database, SnapshotSource } from '@zabra/core'
import type { Writer } from '@zabra/protocol'

/**
 * Makes the database write snapshots, to disk and to learners, by the rules of Apache ZooKeeper:
 * node by node in depth-first order of paths, each in its state at that moment. So a snapshot may
 * contain nodes that are newer than its name, also below a node that was created again in the
 * meantime.
 */
export function writeSnapshotsAsApache(db: Database): void {
  const original = db.snapshotSource.bind(db)
  db.snapshotSource = () => {
    const source = original()
    // Only the parts around the nodes are used: the walk is different.
    source.release()
    return { ...source, ...walk(db), release: () => {} }
  }
}

function walk(db: Database): Pick<SnapshotSource, 'writeNodes'> {
  const { tree } = db
  const waiting = ['']
  return {
    writeNodes(writer, bytesMax) {
      const limit = writer.position + bytesMax
      while (writer.position < limit) {
        const path = waiting.pop()
        if (path === undefined) return false
        waiting.push(...writeNode(tree, path, writer))
      }
      return waiting.length > 0
    },
  }
}

const withoutLengths = 52
const pzxid = [60, 68] as const

/** Returns the paths of the children; writes nothing if the node is gone. */
function writeNode(tree: Database['tree'], path: string, writer: Writer): string[] {
  const id = tree.find(path)
  if (id === 0) return []
  const stat = new Uint8Array(pzxid[1])
  tree.copyStat(id, new DataView(stat.buffer))
  writer.ustring(path)
  tree.writeData(id, writer)
  writer.long(BigInt(tree.aclId(id)))
  writer.raw(stat.subarray(0, withoutLengths))
  writer.raw(stat.subarray(...pzxid))
  return [...tree.children(id)].map((child) => `${path}/${tree.nameOf(child)}`)
}
