import type { Client } from '@zabra/client'
import { isEphemeral } from './stat.ts'
import { walk } from './walk.ts'

/** A summary of a subtree. */
export interface Summary {
  readonly nodes: number
  readonly bytes: number
  readonly ephemerals: number
  /** That own these ephemeral nodes. */
  readonly sessions: number
  /** May not be listed. */
  readonly hidden: readonly string[]
  /** How many nodes each child of the top stands for. */
  readonly children: ReadonlyMap<string, number>
}

export async function summarize(
  client: Client,
  top: string,
  signal: AbortSignal,
  onNode: () => void,
): Promise<Summary> {
  let nodes = 0
  let bytes = 0
  let ephemerals = 0
  const sessions = new Set<bigint>()
  const hidden: string[] = []
  const children = new Map<string, number>()
  let child = ''
  for await (const { path, depth, stat, isHidden } of walk(client, top, { signal })) {
    onNode()
    nodes++
    bytes += stat?.dataLength ?? 0
    if (isHidden) hidden.push(path)
    if (stat !== undefined && isEphemeral(stat)) {
      ephemerals++
      sessions.add(stat.ephemeralOwner)
    }
    if (depth === 1) child = path
    if (depth >= 1) children.set(child, (children.get(child) ?? 0) + 1)
  }
  return { nodes, bytes, ephemerals, sessions: sessions.size, hidden, children }
}
