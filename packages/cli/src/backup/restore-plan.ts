import { noData, type Client } from '@zabra/client'
import { PastTree, type PastNode } from '@zabra/core'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { isWithin, parentOf } from '../node/paths.ts'
import { compareTrees, type Difference } from '../trees/compare.ts'
import { counterOf, pathBelow, readTree, type Tree, type TreeNode } from '../trees/tree.ts'
import type { State } from './state.ts'

/** The changes that restore a subtree of an ensemble; paths are absolute. */
export interface RestorePlan {
  readonly differences: readonly Difference[]
  /** The number of ephemeral nodes in the past, which belong to sessions that have ended. */
  readonly ephemerals: number
}

/** Compares the past state below a path with the current one. */
export async function planRestore(
  client: Client,
  { db, zxid }: State,
  top: string,
  { signal, onNode }: { readonly signal: AbortSignal; readonly onNode: () => void },
): Promise<RestorePlan> {
  const past = new PastTree(db, zxid)
  const wanted = new Map<string, TreeNode>()
  for (const node of past.walk(top))
    if (!isWithin(node.path, '/zookeeper')) wanted.set(node.path, treeNode(node))
  if (wanted.size === 0)
    throw new CommandError(`${top} did not exist at that moment`, {
      code: 'noNode',
      exitCode: exitCodes.notFound,
      hint: '`zabra deleteall` deletes what exists now',
    })
  const found = absolute(top, await readTree(client, top, { signal, mayBeAbsent: true, onNode }))
  const differences = compareTrees(wanted, found, { keepsUsed: true })
  const above = await missingAbove(client, past, top)
  const ephemerals = [...wanted.values()].filter(({ kind }) => kind === 'ephemeral').length
  return { differences: [...above, ...differences], ephemerals }
}

function treeNode({ path, data, acl, kind, ttlMs, stat }: PastNode): TreeNode {
  return {
    path,
    data: data === null ? noData : data.slice(),
    acl,
    kind,
    ttlMs,
    counter: counterOf(stat),
  }
}

function absolute(top: string, tree: Tree): Tree {
  const nodes = new Map<string, TreeNode>()
  for (const node of tree.values()) {
    const path = pathBelow(top, node.path)
    nodes.set(path, { ...node, path })
  }
  return nodes
}

/** Missing ancestors of a subtree. */
async function missingAbove(client: Client, past: PastTree, top: string): Promise<Difference[]> {
  const missing: Difference[] = []
  for (let path = top; path !== '/';) {
    path = parentOf(path)
    const node = past.node(path)
    if (node === undefined || (await client.exists(path)) !== undefined) break
    missing.unshift({ type: 'missing', path, wanted: treeNode(node) })
  }
  return missing
}
