import { noData, type Acl } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { aclTexts, parseAclText, sameAcl } from '../node/acl-text.ts'
import type { NodeKind } from '@zabra/protocol'
import { dataFromJson, dataJson } from '../node/data.ts'
import { isWithin, parentOf } from '../node/paths.ts'
import type { Tree, TreeNode } from './tree.ts'

/** The properties that a file gives to all its nodes. */
export interface FileHead {
  readonly zabra: 'tree'
  readonly version: 1
  /** The path that the tree was read from, or is for. */
  readonly top: string
  /** Of nodes that say nothing of their own. */
  readonly defaults?: { readonly acl?: readonly string[] }
}

/** A tree in a file. Its head names where it belongs. */
export interface FileTree {
  readonly head: FileHead
  readonly tree: Tree
}

/** The properties of a node in a file, besides its path. */
export interface FileNode {
  readonly data?: string | null
  readonly data64?: string
  /** A value that is written as JSON. */
  readonly json?: unknown
  /** A file beside this one whose bytes are the data. */
  readonly file?: string
  readonly kind?: NodeKind
  readonly ttlMs?: number
  readonly acl?: readonly string[]
  readonly counter?: number
}

const kinds: readonly string[] = ['persistent', 'ephemeral', 'container', 'ttl']
const fieldNames: readonly string[] = [
  'data',
  'data64',
  'json',
  'file',
  'kind',
  'ttlMs',
  'acl',
  'counter',
]

/** A node of an ensemble as written in a file. */
export function toFile(node: TreeNode, defaultAcl: readonly Acl[]): FileNode {
  const { data = noData, acl, kind, ttlMs, counter } = node
  return {
    ...dataJson(data === noData ? null : data),
    ...(kind === undefined || kind === 'persistent' ? {} : { kind }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(acl === undefined || sameAcl(acl, defaultAcl) ? {} : { acl: aclTexts(acl) }),
    ...(counter === undefined || counter === 0 ? {} : { counter }),
  }
}

/** A node of a file; `where` is for messages. */
export function fromFile(
  path: string,
  said: unknown,
  {
    defaults,
    readBeside,
  }: { readonly defaults: FileHead['defaults']; readonly readBeside: (file: string) => Uint8Array },
  where: string,
): TreeNode {
  const fail = (what: string): never => {
    throw new CommandError(`${where}: ${what}`, { code: 'file' })
  }
  // The short form: a node is its data.
  const node: FileNode = typeof said === 'string' ? { data: said } : ((said ?? {}) as FileNode)
  if (typeof node !== 'object' || Array.isArray(node))
    fail('a node is a text, or has fields such as data and acl')
  for (const name of Object.keys(node))
    if (!fieldNames.includes(name))
      fail(`a node has no field '${name}'; it has ${fieldNames.join(', ')}`)
  const sources = (['data', 'data64', 'json', 'file'] as const).filter(
    (name) => node[name] !== undefined,
  )
  if (sources.length > 1) fail(`${sources.join(' and ')}: a node has one of them`)
  if (node.kind !== undefined && !kinds.includes(node.kind))
    fail(`'${node.kind}' is no kind; ${kinds.join(', ')} are`)
  if (node.kind === 'ttl' && !(Number.isSafeInteger(node.ttlMs) && node.ttlMs! > 0))
    fail('a node of kind ttl has a ttlMs')
  const acl = node.acl ?? defaults?.acl
  if (acl !== undefined && !Array.isArray(acl)) fail('acl is a list of SCHEME:ID:PERMISSIONS')
  return {
    path,
    data: dataOf(node, readBeside, fail),
    acl: acl?.map((text) => parseAclText(String(text))),
    kind: node.kind ?? (node.ttlMs === undefined ? undefined : 'ttl'),
    ttlMs: node.ttlMs,
    counter: node.counter,
  }
}

function dataOf(
  node: FileNode,
  readBeside: (file: string) => Uint8Array,
  fail: (what: string) => never,
): Uint8Array | undefined {
  if (node.json !== undefined) return Buffer.from(JSON.stringify(node.json))
  if (node.file !== undefined) return readBeside(node.file)
  if (node.data === undefined && node.data64 === undefined) return undefined
  if (node.data !== undefined && node.data !== null && typeof node.data !== 'string')
    fail('data is a text; quote numbers, and use json for structures')
  return dataFromJson(node) ?? noData
}

/** Checks a head, whoever wrote it. */
export function checkHead(said: unknown, where: string): FileHead {
  const head = said as Partial<FileHead> | null | undefined
  const fail = (what: string): never => {
    throw new CommandError(`${where}: ${what}`, {
      code: 'file',
      hint: '`zabra export PATH` shows how such a file begins',
    })
  }
  if (typeof head !== 'object' || head === null || head.zabra !== 'tree')
    return fail('no tree of zabra (`zabra: tree`)')
  if (head.version !== 1)
    return fail(`version ${String(head.version)} of the format is not known here`)
  if (typeof head.top !== 'string' || !head.top.startsWith('/'))
    return fail('`top` is missing: the path that the nodes are below')
  return head as FileHead
}

/** The tree of absolute paths; refuses what is outside the top, and nodes without their parents. */
export function treeOf(head: FileHead, nodes: readonly TreeNode[], where: string): Tree {
  const { top } = head
  const byPath = new Map<string, TreeNode>()
  for (const node of nodes) {
    if (!isWithin(node.path, top))
      throw new CommandError(`${where}: ${node.path} is not below ${top}`, { code: 'file' })
    const path = top === '/' ? node.path : node.path.slice(top.length) || '/'
    if (byPath.has(path))
      throw new CommandError(`${where}: ${node.path} is there twice`, { code: 'file' })
    byPath.set(path, { ...node, path })
  }
  const tree = new Map<string, TreeNode>()
  const add = (path: string): void => {
    if (tree.has(path)) return
    if (path !== '/') add(parentOf(path))
    // A parent that the file does not mention has to exist, and that is all that is said of it.
    tree.set(path, byPath.get(path) ?? { ...bare, path })
  }
  for (const path of byPath.keys()) add(path)
  return tree
}

const bare = {
  data: undefined,
  acl: undefined,
  kind: undefined,
  ttlMs: undefined,
  counter: undefined,
}
