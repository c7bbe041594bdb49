import { joinPath } from '@zabra/protocol'
import { sendBytes } from '../bytes.ts'
import { pathParameter, type Call, type Route } from '../route.ts'
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

async function data(call: Call): Promise<unknown> {
  const path = call.query.path()
  const { data: bytes, stat } = await call.client.call('getData', { path, watch: false })
  return sendBytes(call, {
    path,
    bytes: bytes ?? new Uint8Array(0),
    tag: `"${stat.mzxid.toString(16)}"`,
    version: stat.version,
  })
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
