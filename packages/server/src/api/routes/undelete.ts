import { hex, type History, nodesAt, type PastNode, type PastTree, subtreeAt } from '@zabra/core'
import {
  codes,
  createFlags,
  errorCodes,
  parentOf,
  pathProblem,
  type Acl,
  type MultiOp,
} from '@zabra/protocol'
import { ApiError, badRequest, isRefused, Refused, toApiError } from '../api-error.ts'
import { PastAccess } from '../history/access.ts'
import { pointFrom } from '../history/points.ts'
import type { Call, Route } from '../route.ts'
import { boolean, integer, nullable, object, text } from '../schema.ts'
import { hexText, nodeJson, nodeSchema } from '../shapes.ts'
import { withNodeOnConflict } from './changes.ts'
import { hidden } from './history.ts'
import { statOf } from '../tree.ts'

const nodesMax = 100_000
/** Number of znodes created in one transaction. */
const batchMax = 500

interface Asked {
  readonly path: string
  readonly at?: string
  readonly dryRun?: boolean
  readonly version?: number
  readonly acl?: boolean
}

/** Restores deleted znodes by ordinary writes with the rights of the caller. */
export const undelete: readonly Route[] = [
  {
    method: 'POST',
    path: '/history/undelete',
    summary:
      'Creates a deleted znode again with all that was below it, with data and ACLs; without `at` as it was before it was deleted last',
    role: 'write',
    body: object({ path: text }, { at: text, dryRun: boolean }),
    answer: object({
      path: text,
      zxid: hexText,
      isDone: boolean,
      created: integer,
      bytes: integer,
      existing: integer,
      ephemerals: { ...integer, description: 'Left out, because their sessions are over' },
    }),
    errors: [404, 409, 410, 501],
    handle: restoreSubtree,
  },
  {
    method: 'POST',
    path: '/history/restore',
    summary:
      'Gives a znode the data that it had, and with `acl` the ACL; `version` is the one that it replaces',
    role: 'write',
    body: object(
      { path: text, at: text, version: { type: 'integer', minimum: -1, maximum: 2 ** 31 - 1 } },
      { acl: boolean },
    ),
    answer: object({ zxid: hexText, node: nullable(nodeSchema) }),
    errors: [404, 409, 410, 501],
    handle: restoreVersion,
  },
]

async function restoreSubtree(call: Call): Promise<unknown> {
  const { desk, signal, client, body } = call
  const { path, at, dryRun = false } = body as Asked
  checkPath(path)
  const access = new PastAccess(call)
  const { tree, nodes } = await desk.ask(signal, async (past) => {
    const point = at === undefined ? await beforeDeletion(past, path) : pointFrom('at', at)
    const then = await past.treeAt(point, subtreeAt(path, true))
    return { tree: then, nodes: nodesOf(then, path, access) }
  })
  if ((await statOf(client, parentOf(path))) === undefined) {
    throw new ApiError(404, 'noParent', 'Its parent does not exist: undelete that first', path)
  }
  const missing: PastNode[] = []
  let ephemerals = 0
  let existing = 0
  for (const node of nodes) {
    signal.throwIfAborted()
    if (node.kind === 'ephemeral') ephemerals++
    else if ((await statOf(client, node.path)) !== undefined) existing++
    else missing.push(node)
  }
  const bytes = missing.reduce((sum, { data }) => sum + (data?.length ?? 0), 0)
  if (!dryRun) await createAll(call, missing)
  return {
    path,
    zxid: hex(tree.zxid),
    isDone: !dryRun,
    created: missing.length,
    bytes,
    existing,
    ephemerals,
  }
}

function checkPath(path: string): void {
  const problem = pathProblem(path)
  if (problem !== undefined) throw badRequest(`path: ${problem}`, path)
  if (path === '/') throw badRequest('The root cannot be deleted', path)
}

async function beforeDeletion(past: History, path: string): Promise<{ zxid: bigint }> {
  const filter = { path, isExact: true, kinds: new Set(['delete'] as const) }
  const { changes } = await past.page(await past.range(undefined, undefined), filter, { limit: 1 })
  const [last] = changes
  if (last !== undefined) return { zxid: last.zxid - 1n }
  throw new ApiError(404, 'neverDeleted', 'History has no deletion of it', path)
}

/** A subtree as it was. A caller can restore only what it may read. */
function nodesOf(tree: PastTree, path: string, access: PastAccess): PastNode[] {
  const count = tree.sizeOf(path)
  if (count === 0) throw new ApiError(404, 'noNode', 'There was no such znode', path)
  if (count > nodesMax) {
    const message = `There were more than ${nodesMax} znodes; undelete parts of it`
    throw new ApiError(409, 'tooMany', message, path)
  }
  const nodes: PastNode[] = []
  for (const node of tree.walk(path)) {
    if (access.maySee(tree, node.path) !== true) throw hidden(node.path)
    nodes.push(node)
  }
  return nodes
}

/** A small subtree is created atomically; of a large one a part may exist when an error occurs. */
async function createAll(call: Call, nodes: readonly PastNode[]): Promise<void> {
  const { client, signal, view } = call
  const bytesMax = view.config.juteMaxBuffer / 2
  let created = 0
  while (created < nodes.length) {
    signal.throwIfAborted()
    let end = created
    for (let bytes = 0; end < nodes.length && end - created < batchMax; end++) {
      bytes += weightOf(nodes[end]!)
      if (bytes > bytesMax && end > created) break
    }
    const batch = nodes.slice(created, end)
    const results = await client.call('multi', batch.map(creation))
    const failed = results.findIndex(
      ({ err }) => err !== errorCodes.ok && err !== errorCodes.runtimeInconsistency,
    )
    if (failed >= 0) {
      const { path } = batch[failed]!
      const { status, code, message } = toApiError(new Refused(results[failed]!.err))!
      const known = created === 0 ? 'nothing was created' : `${created} znodes are back`
      throw new ApiError(status, code, `${message}; ${known}`, path)
    }
    created = end
  }
}

function weightOf({ path, data, acl }: PastNode): number {
  return 64 + path.length * 2 + (data?.length ?? 0) + acl.length * 64
}

function creation({ path, data, acl, kind, ttlMs }: PastNode): MultiOp {
  const common = { path, data, acl: acl as Acl[] }
  if (kind === 'container') {
    return { type: codes.createContainer, request: { ...common, flags: createFlags.container } }
  }
  if (kind === 'ttl') {
    const request = { ...common, flags: createFlags.persistentTtl, ttl: BigInt(ttlMs ?? 0) }
    return { type: codes.createTTL, request }
  }
  return { type: codes.create2, request: { ...common, flags: createFlags.persistent } }
}

async function restoreVersion(call: Call): Promise<unknown> {
  const { desk, signal, client, view, body } = call
  const { path, at = '', version = -1, acl = false } = body as Asked
  const problem = pathProblem(path)
  if (problem !== undefined) throw badRequest(`path: ${problem}`, path)
  const access = new PastAccess(call)
  const { node, zxid } = await desk.ask(signal, async (past) => {
    const tree = await past.treeAt(pointFrom('at', at), nodesAt([path], true))
    const isSeen = access.maySee(tree, path)
    if (isSeen === false) throw hidden(path)
    const then = tree.node(path)
    if (then === undefined) throw new ApiError(404, 'noNode', 'There was no such znode', path)
    return { node: then, zxid: tree.zxid }
  })
  const request = { path, data: node.data, version }
  let { stat } = await withNodeOnConflict(call, path, client.call('setData', request))
  if (acl) {
    try {
      ;({ stat } = await client.call('setACL', { path, acl: [...node.acl], version: -1 }))
    } catch (error) {
      if (!isRefused(error, 'noAuth')) throw error
      throw new ApiError(
        403,
        'noAuth',
        'The data was restored, but the ACL may not be changed',
        path,
      )
    }
  }
  return { zxid: hex(zxid), node: nodeJson(view, path, stat) }
}
