/**
 * Checks the state that each server derives from its tree by itself: quota usage, the owners of
 * ephemerals, and the nodes to reclaim. No transaction carries it and no digest covers it. It must
 * depend on the tree alone, whether the tree comes from live writes, replay or a snapshot.
 */
import type { Database } from '@zabra/core'
import { decodeText } from '@zabra/protocol'

const quotaRoot = '/zookeeper/quota'
const stats = 'zookeeper_stats'

/**
 * Creates a stats node for a path below /zookeeper, which neither digests nor the model cover. Each
 * server does so at each start, unless its snapshot contains the node.
 */
export function plantQuota(db: Database, path: string): void {
  let parent = db.tree.find(quotaRoot)
  let at = quotaRoot
  for (const name of [...path.slice(1).split('/'), stats]) {
    at += `/${name}`
    let id = db.tree.find(at)
    if (id === 0) {
      const data = new Uint8Array(0)
      id = db.tree.insert(at, parent, { data, aclId: -1, owner: 0n, zxid: 0n, time: 0n })
      db.quotas.created(at, 0)
    }
    parent = id
  }
}

/** The differences between derived state and tree, as sentences. */
export function derivedProblems(db: Database): string[] {
  const { tree } = db
  const problems: string[] = []
  const owned = new Map<bigint, number>()
  const end = tree.successorSkipping(tree.find('/'))
  for (let id = tree.find('/'); id !== end; id = tree.successor(id)) {
    const session = tree.sessionOf(tree.owner(id))
    if (session !== 0n) {
      owned.set(session, (owned.get(session) ?? 0) + 1)
      if (!tree.ephemeralsOf(session).has(id)) {
        problems.push(`${tree.pathOf(id)} is not among the ephemerals of session ${session}`)
      }
    }
    if (tree.nameOf(id) === stats) problems.push(...quotaProblems(db, tree.pathOf(id)))
  }
  for (const session of tree.sessionsWithEphemerals()) {
    if (tree.ephemeralsOf(session).size !== owned.get(session)) {
      problems.push(
        `session ${session} owns ${owned.get(session)} nodes, and is said to own others`,
      )
    }
  }
  return problems
}

function quotaProblems({ tree }: Database, statsPath: string): string[] {
  const path = statsPath.slice(quotaRoot.length, -stats.length - 1)
  const top = path === '' ? 0 : tree.find(path)
  let count = 0
  let bytes = 0
  if (top !== 0) {
    const end = tree.successorSkipping(top)
    for (let id = top; id !== end; id = tree.successor(id)) {
      count++
      bytes += tree.dataLength(id)
    }
  }
  const shown = decodeText(tree.data(tree.find(statsPath)) ?? new Uint8Array(0))
  const due = `count=${count},bytes=${bytes}`
  return shown === due ? [] : [`the quota of ${path} shows ${shown}, it should be ${due}`]
}
