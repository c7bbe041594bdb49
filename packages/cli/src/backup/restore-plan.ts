import type { Client } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { isWithin, parentOf } from '../node/paths.ts'
import { nodesOf } from '../offline/snapshots.ts'
import { compareTrees, type Difference } from '../trees/compare.ts'
import { StoredTree } from '../trees/stored-tree.ts'
import { pathBelow, readTree, type Tree, type TreeNode } from '../trees/tree.ts'
import type { State } from './state.ts'

/** What would make a subtree of an ensemble what it was; paths are absolute. */
export interface RestorePlan {
  readonly differences: readonly Difference[]
  /** Ephemeral nodes of the past, which belong to sessions that are over. */
  readonly ephemerals: number
}

/** Compares what was below a path with what is there now. */
export async function planRestore(
  client: Client,
  { db }: State,
  top: string,
  { signal, onNode }: { readonly signal: AbortSignal; readonly onNode: () => void },
): Promise<RestorePlan> {
  const wanted = treeOf(db, top)
  if (!wanted.has(top))
    throw new CommandError(`${top} did not exist at that moment`, {
      code: 'noNode',
      exitCode: exitCodes.notFound,
      hint: '`zabra deleteall` deletes what exists now',
    })
  const found = absolute(top, await readTree(client, top, { signal, mayBeAbsent: true, onNode }))
  const below: Tree = new Map([...wanted].filter(([path]) => isWithin(path, top)))
  const differences = compareTrees(below, found, { keepsUsed: true })
  const above = await missingAbove(client, wanted, top)
  const ephemerals = [...below.values()].filter(({ kind }) => kind === 'ephemeral').length
  return { differences: [...above, ...differences], ephemerals }
}

/** What was below a path, and the nodes above it. */
function treeOf(db: State['db'], top: string): Tree {
  const stored = new StoredTree()
  for (const node of nodesOf(db))
    if (isWithin(node.path, top) || isWithin(top, node.path)) stored.add(node)
  return stored.tree(new Map(db.acls.entries()))
}

function absolute(top: string, tree: Tree): Tree {
  const nodes = new Map<string, TreeNode>()
  for (const node of tree.values()) {
    const path = pathBelow(top, node.path)
    nodes.set(path, { ...node, path })
  }
  return nodes
}

/** Parents that a subtree needs and that are gone. */
async function missingAbove(client: Client, wanted: Tree, top: string): Promise<Difference[]> {
  const missing: Difference[] = []
  for (let path = top; path !== '/';) {
    path = parentOf(path)
    const node = wanted.get(path)
    if (node === undefined || (await client.exists(path)) !== undefined) break
    missing.unshift({ type: 'missing', path, wanted: node })
  }
  return missing
}
