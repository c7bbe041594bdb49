import type { Database } from '@zabra/core'
import { decodeText, Reader, Stat, Writer } from '@zabra/protocol'
import { aclText } from '../client/wire.ts'

export interface DumpedNode {
  readonly data: string | null
  readonly stat: Stat
  readonly acl: string
}

/** Every znode of a server by its path, except those that each server keeps for itself. */
export type TreeDump = ReadonlyMap<string, DumpedNode>

export function dumpTree(db: Database): TreeDump {
  const dump = new Map<string, DumpedNode>()
  const visit = (id: number): void => {
    for (const child of db.tree.children(id)) {
      const path = db.tree.pathOf(child)
      if (path === '/zookeeper') continue
      const writer = new Writer()
      db.tree.writeStat(child, writer)
      const data = db.tree.data(child)
      dump.set(path, {
        data: data === null ? null : decodeText(data),
        stat: Stat.read(new Reader(writer.written())),
        acl: db.aclOf(child).acl.map(aclText).join(),
      })
      visit(child)
    }
  }
  visit(db.tree.find('/'))
  return dump
}
