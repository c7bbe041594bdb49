import type { Database, SnapshotSource } from '@zabra/core'
import type { Writer } from '@zabra/protocol'

/**
 * From now on the database writes snapshots, to disk and to learners, by the rules of Apache
 * ZooKeeper: node after node by path, depth-first, each as it is when its turn comes. So a snapshot
 * may hold nodes that are younger than its name, also below one that was made anew meanwhile.
 */
export function writeSnapshotsAsApache(db: Database): void {
  const original = db.snapshotSource.bind(db)
  db.snapshotSource = () => {
    const source = original()
    // Only for what surrounds the nodes: the walk is another one.
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

/** Returns the paths of the children; there is nothing to write where the node is gone. */
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
