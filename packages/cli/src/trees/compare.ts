import { sameAcl } from '../node/acl-text.ts'
import { parentOf } from '../node/paths.ts'
import { sameData, type Tree, type TreeNode } from './tree.ts'

export type Field = 'data' | 'acl' | 'kind' | 'ttl'

/** How a node of one tree differs from that of another. */
export type Difference =
  | { readonly type: 'missing'; readonly path: string; readonly wanted: TreeNode }
  | { readonly type: 'extra'; readonly path: string; readonly found: TreeNode }
  | {
      readonly type: 'different'
      readonly path: string
      readonly fields: readonly Field[]
      readonly wanted: TreeNode
      readonly found: TreeNode
    }

export interface CompareOptions {
  /** Ephemeral nodes belong to sessions: they are left out unless asked for. */
  readonly ephemerals?: boolean | undefined
  readonly acl?: boolean | undefined
  /** Nodes of `found` with ephemeral ones below are not extra: live sessions use them. */
  readonly keepsUsed?: boolean | undefined
}

/** The differences between `found` and `wanted`, in the order of paths. */
export function compareTrees(
  wanted: Tree,
  found: Tree,
  { ephemerals = false, acl = true, keepsUsed = false }: CompareOptions = {},
): Difference[] {
  const differences: Difference[] = []
  const counts = (node: TreeNode | undefined): node is TreeNode =>
    node !== undefined && (ephemerals || node.kind !== 'ephemeral')
  const used = keepsUsed ? aboveEphemerals(found) : new Set<string>()
  for (const path of new Set([...wanted.keys(), ...found.keys()])) {
    const [one, other] = [wanted.get(path), found.get(path)]
    if (counts(one) && counts(other)) {
      const fields = differentFields(one, other).filter((field) => acl || field !== 'acl')
      if (fields.length > 0)
        differences.push({ type: 'different', path, fields, wanted: one, found: other })
    } else if (counts(one)) differences.push({ type: 'missing', path, wanted: one })
    else if (counts(other) && !used.has(path))
      differences.push({ type: 'extra', path, found: other })
  }
  return differences.toSorted((a, b) => order(a.path, b.path))
}

/** Every node with an ephemeral one below it. */
function aboveEphemerals(tree: Tree): ReadonlySet<string> {
  const above = new Set<string>()
  for (const { path, kind } of tree.values()) {
    if (kind !== 'ephemeral') continue
    for (let at = parentOf(path); !above.has(at); at = parentOf(at)) above.add(at)
  }
  return above
}

/** Parents before their children, which stand together. */
function order(a: string, b: string): number {
  const [left, right] = [a.replaceAll('/', '\u0000'), b.replaceAll('/', '\u0000')]
  return left < right ? -1 : left > right ? 1 : 0
}

function differentFields(wanted: TreeNode, found: TreeNode): Field[] {
  const fields: Field[] = []
  const { data, acl, kind, ttlMs } = wanted
  if (data !== undefined && found.data !== undefined && !sameData(data, found.data))
    fields.push('data')
  if (acl !== undefined && found.acl !== undefined && !sameAcl(acl, found.acl)) fields.push('acl')
  if (kind !== undefined && found.kind !== undefined && kind !== found.kind) fields.push('kind')
  else if (ttlMs !== undefined && found.ttlMs !== undefined && ttlMs !== found.ttlMs)
    fields.push('ttl')
  return fields
}
