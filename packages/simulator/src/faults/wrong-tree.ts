/**
 * The memory of a server changes: its tree has a node that no transaction made. Its log is right.
 *
 * Digests show it to the others, or to itself if it leads. The server must become equal to them again,
 * and must not lead for long. In some runs a snapshot of the wrong tree is taken before.
 *
 * Only one server of a run is hit: nobody could tell which side is right if more servers agreed on a
 * wrong tree.
 */
import type { Database } from '@zabra/core'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import type { Fault } from './schedule.ts'

/** No client reads it, so no answer is wrong. */
const path = '/wrong'
const openAclId = -1

export function wrongTree(cluster: Cluster, server: SimServer, { amount }: Fault): void {
  const { recorder } = cluster
  const { ensemble } = recorder
  const db = server.takesPart ? server.process?.peer?.db : undefined
  const isPossible = ensemble !== undefined && server.options.database.digests
  if (!isPossible || ensemble.treesMayDiffer || db === undefined || db.lastTxnZxid === 0n) return
  ensemble.treesMayDiffer = true
  recorder.trace(`${server.name} has a wrong tree`)
  const none = new Uint8Array(0)
  const zxid = db.lastTxnZxid
  const node = { data: none, aclId: openAclId, owner: 0n, zxid, time: 1n }
  db.tree.insert(path, db.tree.find('/'), node)
  const isSnapshotted = (amount * 100) % 1 < 0.4
  if (isSnapshotted) void server.process?.journal?.snapshotNow()
  recorder.count(`wrong tree: ${server.phase}${isSnapshotted ? ', on disk' : ''}`)
}

export function hasWrongTree({ tree }: Database): boolean {
  return tree.find(path) !== 0
}

/** A tree without what made it wrong. */
export function withoutWrong<Dump extends ReadonlyMap<string, unknown>>(dump: Dump): Dump {
  if (!dump.has(path)) return dump
  const right = new Map(dump)
  right.delete(path)
  return right as unknown as Dump
}
