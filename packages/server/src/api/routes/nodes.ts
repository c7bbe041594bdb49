import { joinPath } from '@zabra/protocol'
import { ApiError } from '../api-error.ts'
import { pathParameter, streamed, type Call, type Route } from '../route.ts'
import { array, integer, object, text } from '../schema.ts'
import { aclJson, aclSchema, nodeJson, nodeSchema } from '../shapes.ts'
import { childrenOf, statOf } from '../tree.ts'

const pageMax = 1000

/** Routes that read znodes. */
export const nodes: readonly Route[] = [
  {
    method: 'GET',
    path: '/node',
    summary: 'A znode without its data',
    role: 'metadata',
    parameters: { path: pathParameter },
    answer: nodeSchema,
    errors: [404],
    async handle({ client, view, query }) {
      const path = query.path()
      const { stat } = await client.call('exists', { path, watch: false })
      return nodeJson(view, path, stat)
    },
  },
  {
    method: 'GET',
    path: '/data',
    summary: 'The data of a znode; Range asks for a part of it',
    role: 'read',
    parameters: { path: pathParameter },
    answer: 'application/octet-stream',
    errors: [404, 416],
    handle: data,
  },
  {
    method: 'GET',
    path: '/children',
    summary: 'A page of the children of a znode, in the order of their names',
    role: 'metadata',
    parameters: {
      path: pathParameter,
      offset: { kind: 'integer', description: 'How many to skip' },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: pageMax },
      filter: { kind: 'text', description: 'Only names that contain this' },
    },
    answer: object({
      node: nodeSchema,
      total: integer,
      matching: integer,
      offset: integer,
      children: array(nodeSchema, pageMax),
      hidden: array(text, pageMax),
    }),
    errors: [404],
    handle: children,
  },
  {
    method: 'GET',
    path: '/acl',
    summary: 'The ACL of a znode',
    role: 'metadata',
    parameters: { path: pathParameter },
    answer: object({ acl: aclSchema, aversion: integer }),
    errors: [404],
    async handle({ client, query }) {
      const { acl, stat } = await client.call('getACL', { path: query.path() })
      return { acl: aclJson(acl), aversion: stat.aversion }
    },
  },
]

async function data({ client, query, request, response, signal }: Call): Promise<unknown> {
  const path = query.path()
  const { data: bytes, stat } = await client.call('getData', { path, watch: false })
  const all = bytes ?? new Uint8Array(0)
  // A part of one version must not be mixed with one of another.
  const tag = `"${stat.mzxid.toString(16)}"`
  const wanted = request.headers.range
  const ifRange = request.headers['if-range']
  const range =
    wanted === undefined || (ifRange !== undefined && ifRange !== tag)
      ? undefined
      : rangeIn(wanted, all.length)
  if (range === 'outside') {
    response.setHeader('Content-Range', `bytes */${all.length}`)
    throw new ApiError(416, 'range', `The data has ${all.length} bytes`, path)
  }
  const part = range === undefined ? all : all.subarray(range.start, range.end)
  response.writeHead(range === undefined ? 200 : 206, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': part.length,
    'Accept-Ranges': 'bytes',
    ETag: tag,
    'Zabra-Version': stat.version,
    'Cache-Control': 'no-store',
    // Users control the data: it must not become a page of this origin.
    'Content-Disposition': 'attachment',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    ...(range === undefined
      ? {}
      : { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${all.length}` }),
  })
  if (!signal.aborted) response.end(part)
  return streamed
}

/** One range as in RFC 9110; undefined if the header asks for something unsupported. */
function rangeIn(
  header: string,
  length: number,
): { readonly start: number; readonly end: number } | 'outside' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const start = Math.max(0, length - Number(last))
    return start < length ? { start, end: length } : 'outside'
  }
  const start = Number(first)
  const end = last === '' ? length : Math.min(length, Number(last) + 1)
  if (last !== '' && Number(last) < start) return undefined
  return start < length ? { start, end } : 'outside'
}

async function children({ client, query, view }: Call): Promise<unknown> {
  const path = query.path()
  const { stat, names } = await childrenOf(client, path)
  const filter = query.text('filter') ?? ''
  const matching = filter === '' ? names : names.filter((name) => name.includes(filter))
  const offset = query.integer('offset') ?? 0
  const page = matching.slice(offset, offset + (query.integer('limit') ?? 100))
  const stats = await Promise.all(page.map((name) => statOf(client, joinPath(path, name))))
  return {
    node: nodeJson(view, path, stat),
    total: names.length,
    matching: matching.length,
    offset,
    children: page.flatMap((name, at) => {
      const child = stats[at]
      return typeof child === 'object' ? [nodeJson(view, joinPath(path, name), child)] : []
    }),
    // Their names are in the listing, but they may not be read.
    hidden: page.filter((_, at) => stats[at] === 'hidden'),
  }
}
