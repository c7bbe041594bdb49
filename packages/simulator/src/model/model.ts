/**
 * A second implementation of ZooKeeper's semantics, without regard to speed: takes a request and a
 * tree, and returns an answer and a tree. It shares no code with the core.
 */
import {
  errorCodes,
  eventTypes,
  nameOf,
  parentOf,
  permissions,
  type Acl,
  type EventType,
} from '@zabra/protocol'
import type { Part, ReadPart, Request, Result } from '../client/request.ts'
import { aclText } from '../client/wire.ts'
import { mayDo, storedAcl } from './acl.ts'
import { statOf, type ModelNode } from './state.ts'
import type { Tree } from './tree.ts'

/** The caller, and the values that the transaction is stamped with. */
export interface Context {
  readonly session: bigint
  readonly identities: readonly string[]
  readonly zxid: bigint
  readonly time: bigint
  /** Whether the session is a local one that never becomes global. */
  readonly isLocal?: boolean | undefined
}

/** An event for watchers, with the ACLs that decide who may see it. */
export interface Change {
  readonly type: EventType
  readonly path: string
  readonly acl: readonly Acl[]
  readonly parentAcl: readonly Acl[]
}

export interface Step {
  readonly tree: Tree
  readonly result: Result
  readonly changes: readonly Change[]
}

const { noNode, noAuth, badVersion, nodeExists, notEmpty, invalidAcl } = errorCodes
const { noChildrenForEphemerals, runtimeInconsistency, ephemeralOnLocalSession } = errorCodes

export function execute(tree: Tree, request: Request, by: Context): Step {
  switch (request.op) {
    case 'create':
    case 'delete':
    case 'setData':
      return write(tree, request, by)
    case 'setACL':
      return setAcl(tree, request, by)
    case 'multi':
      return multi(tree, request.parts, by)
    default:
      return { tree, result: answer(tree, request, by), changes: [] }
  }
}

const refuse = (tree: Tree, err: number): Step => ({ tree, result: { err }, changes: [] })

function write(tree: Tree, part: Part, by: Context): Step {
  switch (part.op) {
    case 'create':
      return create(tree, part, by)
    case 'delete':
      return remove(tree, part, by)
    case 'setData':
      return setData(tree, part, by)
    case 'check':
      return check(tree, part, by)
  }
}

function create(tree: Tree, part: Extract<Part, { op: 'create' }>, by: Context): Step {
  const { kind, data, flags } = part
  const isEphemeral = (flags === 1 || flags === 3) && kind !== 'createContainer'
  if (isEphemeral && by.isLocal === true) return refuse(tree, ephemeralOnLocalSession)
  const acl = storedAcl(part.acl, by.identities)
  if (acl === undefined) return refuse(tree, invalidAcl)
  const parentPath = parentOf(part.path)
  const parent = tree.get(parentPath)
  if (parent === undefined) return refuse(tree, noNode)
  if (!mayDo(parent.acl, permissions.create, by.identities)) return refuse(tree, noAuth)
  const isSequential = flags === 2 || flags === 3 || flags === 6
  const suffix = isSequential ? String(parent.creates).padStart(10, '0') : ''
  const path = part.path + suffix
  if (tree.has(path)) return refuse(tree, nodeExists)
  if (parent.owner !== 0n) return refuse(tree, noChildrenForEphemerals)
  const { zxid, time } = by
  const node: ModelNode = {
    data,
    acl,
    czxid: zxid,
    mzxid: zxid,
    pzxid: zxid,
    ctime: time,
    mtime: time,
    version: 0,
    aversion: 0,
    creates: 0,
    children: 0,
    owner: isEphemeral ? by.session : 0n,
    isContainer: kind === 'createContainer' || flags === 4,
    ttlMs: kind === 'createTTL' ? part.ttlMs : undefined,
  }
  const next = tree.with(path, node).with(parentPath, {
    ...parent,
    creates: parent.creates + 1,
    children: parent.children + 1,
    pzxid: zxid,
  })
  const result = kind === 'create' ? { err: 0, path } : { err: 0, path, stat: statOf(node) }
  const change = { type: eventTypes.nodeCreated, path, acl, parentAcl: parent.acl }
  return { tree: next, result, changes: [change] }
}

function remove(
  tree: Tree,
  { path, version }: { path: string; version: number },
  by: Context,
): Step {
  const parent = tree.get(parentOf(path))
  if (parent === undefined) return refuse(tree, noNode)
  if (!mayDo(parent.acl, permissions.delete, by.identities)) return refuse(tree, noAuth)
  const node = tree.get(path)
  if (node === undefined) return refuse(tree, noNode)
  if (version !== -1 && version !== node.version) return refuse(tree, badVersion)
  if (node.children > 0) return refuse(tree, notEmpty)
  return drop(tree, path, by.zxid)
}

/** Deletes a node, without checking permissions. */
export function drop(tree: Tree, path: string, zxid: bigint): Step {
  const node = tree.get(path)
  const parentPath = parentOf(path)
  const parent = tree.get(parentPath)
  if (node === undefined || parent === undefined) return refuse(tree, noNode)
  const children = parent.children - 1
  const next = tree.without(path).with(parentPath, { ...parent, children, pzxid: zxid })
  const change = { type: eventTypes.nodeDeleted, path, acl: node.acl, parentAcl: parent.acl }
  return { tree: next, result: { err: 0 }, changes: [change] }
}

export function ephemeralsOf(tree: Tree, session: bigint): string[] {
  return [...tree].filter(([, { owner }]) => owner === session).map(([path]) => path)
}

/** Ends a session and deletes everything it owned. */
export function endSession(tree: Tree, paths: readonly string[], zxid: bigint): Step {
  const changes: Change[] = []
  let next = tree
  for (const path of paths) {
    const step = drop(next, path, zxid)
    next = step.tree
    changes.push(...step.changes)
  }
  return { tree: next, result: { err: 0 }, changes }
}

function setData(tree: Tree, part: Extract<Part, { op: 'setData' }>, by: Context): Step {
  const { path, data, version } = part
  const node = tree.get(path)
  if (node === undefined) return refuse(tree, noNode)
  if (!mayDo(node.acl, permissions.write, by.identities)) return refuse(tree, noAuth)
  if (version !== -1 && version !== node.version) return refuse(tree, badVersion)
  const changed: ModelNode = {
    ...node,
    data,
    version: node.version + 1,
    mzxid: by.zxid,
    mtime: by.time,
  }
  const { acl } = node
  return {
    tree: tree.with(path, changed),
    result: { err: 0, stat: statOf(changed) },
    changes: [{ type: eventTypes.nodeDataChanged, path, acl, parentAcl: acl }],
  }
}

function setAcl(tree: Tree, request: Extract<Request, { op: 'setACL' }>, by: Context): Step {
  const acl = storedAcl(request.acl, by.identities)
  if (acl === undefined) return refuse(tree, invalidAcl)
  const node = tree.get(request.path)
  if (node === undefined) return refuse(tree, noNode)
  if (!mayDo(node.acl, permissions.admin, by.identities)) return refuse(tree, noAuth)
  if (request.version !== -1 && request.version !== node.aversion) return refuse(tree, badVersion)
  const changed = { ...node, acl, aversion: node.aversion + 1 }
  const result = { err: 0, stat: statOf(changed) }
  return { tree: tree.with(request.path, changed), result, changes: [] }
}

function check(
  tree: Tree,
  { path, version }: { path: string; version: number },
  by: Context,
): Step {
  const node = tree.get(path)
  if (node === undefined) return refuse(tree, noNode)
  if (!mayDo(node.acl, permissions.read, by.identities)) return refuse(tree, noAuth)
  if (version !== -1 && version !== node.version) return refuse(tree, badVersion)
  return { tree, result: { err: 0 }, changes: [] }
}

function multi(tree: Tree, parts: readonly Part[], by: Context): Step {
  const results: Result[] = []
  const changes: Change[] = []
  let next = tree
  for (const part of parts) {
    const step = write(next, part, by)
    if (step.result.err !== 0) return refuseMulti(tree, parts, results.length, step.result.err)
    next = step.tree
    results.push(step.result)
    changes.push(...step.changes)
  }
  return { tree: next, result: { err: 0, parts: results }, changes }
}

/**
 * The multi has no effect; the part that was refused has the error, and later parts were not tried.
 */
function refuseMulti(tree: Tree, parts: readonly Part[], at: number, err: number): Step {
  const results = parts.map((_, i) => ({ err: i < at ? 0 : i === at ? err : runtimeInconsistency }))
  return { tree, result: { err: 0, parts: results }, changes: [] }
}

export function failedMulti(result: Result): boolean {
  return result.parts?.some(({ err }) => err !== 0) ?? false
}

// --- reads ---------------------------------------------------------------------------------------

function answer(tree: Tree, request: Request, by: Context): Result {
  switch (request.op) {
    case 'multiRead':
      return { err: 0, parts: request.parts.map((part) => readPart(tree, part, by)) }
    case 'getEphemerals': {
      const own = ephemeralsOf(tree, by.session)
      return { err: 0, children: own.filter((path) => path.startsWith(request.path)).toSorted() }
    }
    case 'sync':
      return { err: 0, path: request.path }
    case 'exists':
    case 'getData':
    case 'getChildren':
    case 'getChildren2':
    case 'getACL':
    case 'getAllChildrenNumber':
      return readNode(tree, request.op, request.path, by)
    default:
      return { err: 0 }
  }
}

function readPart(tree: Tree, { op, path }: ReadPart, by: Context): Result {
  return readNode(tree, op, path, by)
}

function readNode(tree: Tree, op: string, path: string, by: Context): Result {
  const node = tree.get(path)
  if (node === undefined) return { err: noNode }
  const { read, admin } = permissions
  const needed = op === 'getACL' ? read | admin : read
  if (!mayDo(node.acl, needed, by.identities)) return { err: noAuth }
  const stat = statOf(node)
  switch (op) {
    case 'exists':
      return { err: 0, stat }
    case 'getData':
      return { err: 0, data: node.data, stat }
    case 'getChildren':
      return { err: 0, children: childrenOf(tree, path) }
    case 'getChildren2':
      return { err: 0, children: childrenOf(tree, path), stat }
    case 'getAllChildrenNumber':
      return { err: 0, count: descendantsOf(tree, path) }
    default: {
      const isAdmin = mayDo(node.acl, admin, by.identities)
      return { err: 0, acl: node.acl.map((entry) => masked(entry, isAdmin)), stat }
    }
  }
}

/** Callers without admin permission do not see password hashes. */
function masked(entry: Acl, isAdmin: boolean): string {
  const { perms, id } = entry
  if (isAdmin || id.scheme !== 'digest') return aclText(entry)
  return aclText({ perms, id: { scheme: 'digest', id: `${id.id?.split(':')[0]}:x` } })
}

function childrenOf(tree: Tree, path: string): string[] {
  return tree.childrenOf(path).map(nameOf).toSorted()
}

function descendantsOf(tree: Tree, path: string): number {
  const prefix = path === '/' ? '/' : `${path}/`
  let count = 0
  for (const [other] of tree) if (other !== path && other.startsWith(prefix)) count++
  return count
}
