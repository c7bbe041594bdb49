import {
  childrenAt,
  hex,
  type History,
  nodeAt,
  nodesAt,
  type PastTree,
  subtreeAt,
} from '@zabra/core'
import { joinPath } from '@zabra/protocol'
import { Slices } from '../../base/slices.ts'
import { ApiError } from '../api-error.ts'
import { sendBytes } from '../bytes.ts'
import { includes } from '../roles.ts'
import { PastAccess } from '../history/access.ts'
import { atParameter, pointFrom } from '../history/points.ts'
import { pastNodeJson, pastNodeSchema } from '../history/shapes.ts'
import { pathParameter, streamed, type Call, type Route } from '../route.ts'
import { array, boolean, integer, nullable, object, text } from '../schema.ts'
import { hexText } from '../shapes.ts'
import { sortInSlices } from '../slices.ts'
import { hidden, mayAdminister } from './history.ts'

const pageMax = 1000
const parameters = { path: pathParameter, at: atParameter }

/** Routes that read znodes as they were. */
export const past: readonly Route[] = [
  {
    method: 'GET',
    path: '/history/node',
    summary: 'A znode as it was, without its data',
    role: 'metadata',
    parameters,
    answer: object({ zxid: hexText, node: pastNodeSchema }),
    errors: [404, 410, 501],
    async handle(call) {
      const { path, zxid, tree, access } = await look(call, nodeAt)
      const acl = mayAdminister(access, tree, path) ? 'whole' : 'masked'
      return { zxid: hex(zxid), node: pastNodeJson(tree.node(path)!, { acl }) }
    },
  },
  {
    method: 'GET',
    path: '/history/data',
    summary: 'The data of a znode as it was; Range asks for a part of it',
    role: 'read',
    parameters,
    answer: 'application/octet-stream',
    errors: [404, 410, 416, 501],
    handle: data,
  },
  {
    method: 'GET',
    path: '/history/children',
    summary: 'A page of the children that a znode had, in the order of their names',
    role: 'metadata',
    parameters: {
      ...parameters,
      offset: { kind: 'integer', description: 'How many to skip' },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: pageMax },
      filter: { kind: 'text', description: 'Only names that contain this' },
    },
    answer: object({
      zxid: hexText,
      node: pastNodeSchema,
      total: integer,
      matching: integer,
      offset: integer,
      children: array(pastNodeSchema, pageMax),
      hidden: array(text, pageMax),
    }),
    errors: [404, 410, 501],
    handle: children,
  },
  {
    method: 'GET',
    path: '/history/subtree',
    summary:
      'A znode and all below it as they were, parents first: a line of JSON each; the last line says whether all is there',
    role: 'metadata',
    parameters: {
      ...parameters,
      data: { kind: 'flag', description: 'With data; needs the role read' },
    },
    answer: 'application/x-ndjson',
    errors: [404, 410, 501],
    handle: subtree,
  },
  {
    method: 'GET',
    path: '/history/verify',
    summary: 'Whether the tree as of a transaction has the digest recorded in the log',
    role: 'admin',
    parameters: { at: atParameter },
    answer: object({
      zxid: hexText,
      nodes: integer,
      digest: hexText,
      isVerified: nullable(boolean),
    }),
    errors: [404, 410, 501],
    handle: verify,
  },
]

interface Look {
  readonly path: string
  readonly zxid: bigint
  readonly tree: PastTree
  readonly access: PastAccess
}

/** Loads a part of the tree as it was, after checking that the caller may see it. */
function look(
  call: Call,
  selectionOf: (path: string) => ReturnType<typeof nodesAt>,
): Promise<Look> {
  const { desk, signal, query } = call
  const path = query.path()
  const at = pointFrom('at', query.text('at') ?? '')
  const access = new PastAccess(call)
  return desk.ask(signal, async (history: History) => {
    const tree = await history.treeAt(at, selectionOf(path))
    const isSeen = access.maySee(tree, path)
    if (isSeen === undefined) throw new ApiError(404, 'noNode', 'There was no such znode', path)
    if (!isSeen) throw hidden(path)
    return { path, zxid: tree.zxid, tree, access }
  })
}

async function data(call: Call): Promise<unknown> {
  const { path, tree, zxid } = await look(call, (at) => nodesAt([at], true))
  const { data: bytes, stat } = tree.node(path)!
  return sendBytes(call, {
    path,
    bytes: bytes ?? new Uint8Array(0),
    tag: `"${stat.mzxid.toString(16)}"`,
    version: stat.version,
    headers: { 'Zabra-Zxid': hex(zxid) },
  })
}

async function children(call: Call): Promise<unknown> {
  const { query } = call
  const { path, zxid, tree, access } = await look(call, childrenAt)
  const names = await sortInSlices(tree.childrenOf(path) ?? [])
  const filter = query.text('filter') ?? ''
  const matching = filter === '' ? names : names.filter((name) => name.includes(filter))
  const offset = query.integer('offset') ?? 0
  const page = matching.slice(offset, offset + (query.integer('limit') ?? 100))
  const isSeen = (name: string): boolean => access.maySee(tree, joinPath(path, name)) === true
  return {
    zxid: hex(zxid),
    node: pastNodeJson(tree.node(path)!),
    total: names.length,
    matching: matching.length,
    offset,
    children: page.filter(isSeen).map((name) => pastNodeJson(tree.node(joinPath(path, name))!)),
    hidden: page.filter((name) => !isSeen(name)),
  }
}

async function subtree(call: Call): Promise<unknown> {
  const { response, signal, query, role } = call
  const withData = query.flag('data')
  if (withData && !includes(role, 'read')) {
    throw new ApiError(403, 'role', 'Data needs the role read')
  }
  const { path, zxid, tree, access } = await look(call, (at) => subtreeAt(at, true))
  response.writeHead(200, {
    'Content-Type': 'application/x-ndjson',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  const { pause } = new Slices(signal)
  let count = 0
  let isPartial = false
  /** Below a hidden znode nothing is shown, not even names. */
  let hiddenAbove: string | undefined
  for (const node of tree.walk(path)) {
    if (signal.aborted) return streamed
    if (hiddenAbove !== undefined && node.path.startsWith(`${hiddenAbove}/`)) continue
    if (access.maySee(tree, node.path) !== true) {
      hiddenAbove = node.path
      isPartial = true
      continue
    }
    count++
    const line = `${JSON.stringify(pastNodeJson(node, { data: withData, acl: 'masked' }))}\n`
    if (!response.write(line)) await drained(response, signal)
    await pause()
  }
  response.end(`${JSON.stringify({ zxid: hex(zxid), count, isPartial })}\n`)
  return streamed
}

function drained(response: Call['response'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function verify({ desk, signal, query }: Call): Promise<unknown> {
  const at = pointFrom('at', query.text('at') ?? '')
  return desk.ask(signal, async (history) => {
    const tree = await history.treeAt(at)
    return {
      zxid: hex(tree.zxid),
      nodes: tree.sizeOf(),
      digest: hex(tree.db.tree.digest.value),
      isVerified: tree.isVerified ?? null,
    }
  })
}
