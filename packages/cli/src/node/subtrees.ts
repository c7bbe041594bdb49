import type { Client } from '@zabra/client'
import { parentOf } from './paths.ts'
import { walk } from './walk.ts'

/** A node with everything below it. */
export interface Subtree {
  readonly path: string
  readonly depth: number
  readonly ownBytes: number
  readonly numChildren: number
  readonly version: number
  /** Of the node and all below. */
  bytes: number
  nodes: number
}

/** Each node of a tree with the sums of its subtree. */
export async function subtrees(
  client: Client,
  top: string,
  signal: AbortSignal,
  onNode: () => void,
): Promise<Subtree[]> {
  const all = new Map<string, Subtree>()
  for await (const { path, depth, stat, children } of walk(client, top, { signal })) {
    onNode()
    const ownBytes = stat?.dataLength ?? 0
    const version = stat?.version ?? 0
    all.set(path, {
      path,
      depth,
      ownBytes,
      version,
      numChildren: children.length,
      bytes: ownBytes,
      nodes: 1,
    })
  }
  const found = [...all.values()]
  // Children come behind their parents, so from the end each is complete when it is added.
  for (const one of found.toReversed()) {
    if (one.depth === 0) continue
    const parent = all.get(parentOf(one.path))
    if (parent === undefined) continue
    parent.bytes += one.bytes
    parent.nodes += one.nodes
  }
  return found
}
