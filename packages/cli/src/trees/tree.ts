import { noData, type Acl, type Client } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { NodeKind } from '@zabra/protocol'
import { isEphemeral } from '../node/stat.ts'
import { walk } from '../node/walk.ts'

/**
 * A node as a file or an ensemble has it, apart from when and by which transactions it came to be.
 * A field that is undefined is one that a file leaves open.
 */
export interface TreeNode {
  /** Below the top of its tree: `/` is the top, `/a/b` a node below. */
  readonly path: string
  /** `noData` is none at all. */
  readonly data: Uint8Array | undefined
  readonly acl: readonly Acl[] | undefined
  readonly kind: NodeKind | undefined
  readonly ttlMs: number | undefined
  /** The number that the next sequential child gets. */
  readonly counter: number | undefined
  /** In an ensemble only: what a change must meet. */
  readonly version?: number
  readonly aversion?: number
  readonly numChildren?: number
}

/** Nodes by path, parents before children. */
export type Tree = ReadonlyMap<string, TreeNode>

export interface ReadTreeOptions {
  readonly signal: AbortSignal
  readonly onNode?: () => void
  /** An empty tree where the top does not exist, instead of an error. */
  readonly mayBeAbsent?: boolean
}

/** Internal nodes of ZooKeeper: never exported, compared or copied along with the root. */
const systemTop = '/zookeeper'

/** Every node of an ensemble from `top` on. Fails where something may not be read. */
export async function* readNodes(
  client: Client,
  top: string,
  { signal, onNode }: ReadTreeOptions,
): AsyncGenerator<TreeNode, void, undefined> {
  const skip = (path: string): boolean => top === '/' && path === systemTop
  for await (const node of walk(client, top, { signal, skip, data: true, acl: true })) {
    onNode?.()
    const { path, stat, data, acl, isHidden } = node
    if (isHidden || stat === undefined || data === undefined || acl === undefined)
      throw new CommandError(`not allowed to read ${path}`, {
        code: 'noAuth',
        exitCode: exitCodes.notAllowed,
        hint: '--auth digest:USER:PASSWORD presents an identity',
      })
    if (acl.some(isMasked))
      throw new CommandError(`not allowed to see the hashes in the ACL of ${path}`, {
        code: 'noAuth',
        exitCode: exitCodes.notAllowed,
        hint: 'an identity that may change the ACL sees them: --auth digest:USER:PASSWORD',
      })
    yield {
      path: top === '/' ? path : path.slice(top.length) || '/',
      data,
      acl,
      kind: isEphemeral(stat) ? 'ephemeral' : undefined,
      ttlMs: undefined,
      counter: counterOf(stat),
      version: stat.version,
      aversion: stat.aversion,
      numChildren: stat.numChildren,
    }
  }
}

/** Servers show `x` for the hash to those who may not change an ACL. A copy of it would lock users out. */
function isMasked({ id }: Acl): boolean {
  return id.scheme === 'digest' && id.id?.endsWith(':x') === true
}

/** The same as a whole. */
export async function readTree(
  client: Client,
  top: string,
  options: ReadTreeOptions,
): Promise<Tree> {
  const tree = new Map<string, TreeNode>()
  if (options.mayBeAbsent === true && (await client.exists(top)) === undefined) return tree
  for await (const node of readNodes(client, top, options)) tree.set(node.path, node)
  return tree
}

/**
 * Sequential children are numbered by how many children were ever made. What clients see as
 * cversion counts children that came and children that went.
 */
export function counterOf({
  cversion,
  numChildren,
}: {
  cversion: number
  numChildren: number
}): number {
  return Math.max(0, Math.floor((cversion + numChildren) / 2))
}

/** The path on a server of a node of a tree. */
export function pathBelow(top: string, path: string): string {
  if (path === '/') return top
  return top === '/' ? path : top + path
}

export function sameData(one: Uint8Array, other: Uint8Array): boolean {
  if ((one === noData) !== (other === noData)) return false
  return one.length === other.length && Buffer.compare(one, other) === 0
}
