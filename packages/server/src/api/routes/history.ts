import {
  changeKinds,
  type Change,
  type ChangeKind,
  type Difference,
  hex,
  nodeAt,
  type PastTree,
} from '@zabra/core'
import { permissions } from '@zabra/protocol'
import { ApiError, badRequest } from '../api-error.ts'
import { includes } from '../roles.ts'
import { PastAccess } from '../history/access.ts'
import { pointFrom } from '../history/points.ts'
import { SessionClients } from '../history/session-clients.ts'
import { changeJson, changeSchema, pastNodeJson, pastNodeSchema } from '../history/shapes.ts'
import { pathParameter, type Call, type Parameter, type Route } from '../route.ts'
import { array, boolean, integer, nullable, object, text } from '../schema.ts'
import { hexText, isoTime } from '../shapes.ts'

const pageMax = 1000
/** A search that takes longer than this returns what it has found. */
const pageMs = 2000
const differencesMax = 100_000

const rangeParameters = {
  from: { kind: 'text', description: 'From this zxid (0x...) or time (ISO 8601) on' },
  to: { kind: 'text', description: 'Up to this zxid or time' },
} as const satisfies Readonly<Record<string, Parameter>>

export const filterParameters = {
  path: { kind: 'path', description: 'At this znode or below it' },
  exact: { kind: 'flag', description: 'At the znode itself only' },
  session: { kind: 'text', description: 'By this session, as 0x and hexadecimal' },
  kinds: {
    kind: 'text',
    description: `Of these kinds, separated by commas: ${changeKinds.join(', ')}`,
  },
} as const satisfies Readonly<Record<string, Parameter>>

const point = object({ zxid: hexText, time: text })
const limitParameter: Parameter = {
  kind: 'integer',
  description: 'How many at most; what one transaction changed stays together',
  minimum: 1,
  maximum: pageMax,
}
const dataParameter: Parameter = { kind: 'flag', description: 'With data; needs the role read' }

/** The kinds of changes. */
export const history: readonly Route[] = [
  {
    method: 'GET',
    path: '/history',
    summary: 'The oldest state that this server can show',
    role: 'metadata',
    answer: object({
      first: nullable(point),
      last: nullable(point),
      oldestTree: nullable(hexText),
      gaps: array(object({ after: hexText, before: hexText })),
      logs: integer,
      snapshots: integer,
      bytes: integer,
      retainBytes: integer,
      retainMs: integer,
    }),
    errors: [501],
    handle: extent,
  },
  {
    method: 'GET',
    path: '/history/changes',
    summary:
      'A page of changes, the newest first. A page can be short, even empty: the last one has no `next`',
    role: 'metadata',
    parameters: {
      ...filterParameters,
      ...rangeParameters,
      limit: limitParameter,
      oldestFirst: { kind: 'flag', description: 'In the order in which they happened' },
      next: { kind: 'text', description: 'Where the previous page ended' },
      data: dataParameter,
    },
    answer: object({
      changes: array(changeSchema),
      next: nullable(text),
      upTo: { ...hexText, description: 'Later transactions are not on any of these pages' },
    }),
    errors: [410, 501],
    handle: changes,
  },
  {
    method: 'GET',
    path: '/history/change',
    summary: 'A znode right before and right after a transaction, with data',
    role: 'read',
    parameters: {
      path: pathParameter,
      zxid: { kind: 'text', description: 'The transaction', isRequired: true },
    },
    answer: object({
      path: text,
      zxid: hexText,
      before: nullable(pastNodeSchema),
      after: nullable(pastNodeSchema),
    }),
    errors: [404, 410, 501],
    handle: change,
  },
  {
    method: 'GET',
    path: '/history/diff',
    summary: 'The differences between two points: znodes that were created, deleted or changed',
    role: 'metadata',
    parameters: {
      path: { kind: 'path', description: 'At this znode or below it' },
      from: { ...rangeParameters.from, isRequired: true },
      to: { ...rangeParameters.to, isRequired: true },
      offset: { kind: 'integer', description: 'How many to skip' },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: pageMax },
      data: dataParameter,
    },
    answer: object({
      from: hexText,
      to: hexText,
      total: integer,
      offset: integer,
      differences: array(
        object({
          path: text,
          before: nullable(pastNodeSchema),
          after: nullable(pastNodeSchema),
          isDataChanged: boolean,
          isAclChanged: boolean,
          isRecreated: boolean,
        }),
        pageMax,
      ),
      isPartial: {
        ...boolean,
        description: 'There are others, which the caller may not see',
      },
    }),
    errors: [404, 410, 501],
    handle: diff,
  },
]

function extent({ desk, signal, view }: Call): Promise<unknown> {
  return desk.ask(signal, async (past) => {
    const { first, last, oldestTree, gaps, logs, snapshots, bytes } = await past.extent()
    const { retainBytes, retainMs } = view.config.history
    const pointJson = (at: { zxid: bigint; timeMs: number } | undefined): object | null =>
      at === undefined ? null : { zxid: hex(at.zxid), time: isoTime(BigInt(at.timeMs)) }
    return {
      first: pointJson(first),
      last: pointJson(last),
      oldestTree: oldestTree === undefined ? null : hex(oldestTree),
      gaps: gaps.map(({ after, before }) => ({ after: hex(after), before: hex(before) })),
      logs,
      snapshots,
      bytes,
      retainBytes,
      retainMs,
    }
  })
}

export interface AskedChanges {
  readonly path: string | undefined
  readonly isExact: boolean
  readonly session: bigint | undefined
  readonly kinds: ReadonlySet<ChangeKind> | undefined
}

/** The filter of a request. */
export function filterFrom({ query }: Pick<Call, 'query'>): AskedChanges {
  const session = query.text('session')
  if (session !== undefined && !/^0x[0-9a-f]{1,16}$/i.test(session)) {
    throw badRequest('session: expected 0x and hexadecimal digits')
  }
  const words = query.text('kinds')?.split(',') as ChangeKind[] | undefined
  const unknown = words?.find((word) => !changeKinds.includes(word))
  if (unknown !== undefined) throw badRequest(`kinds: there is no kind ${unknown}`)
  const path = query.text('path')
  if (query.flag('exact') && path === undefined) throw badRequest('exact needs a path')
  return {
    path,
    isExact: query.flag('exact'),
    session: session === undefined ? undefined : BigInt.asIntN(64, BigInt(session)),
    kinds: words === undefined ? undefined : new Set(words),
  }
}

function wantsData({ query, role }: Call): boolean {
  if (!query.flag('data')) return false
  if (!includes(role, 'read')) throw new ApiError(403, 'role', 'Data needs the role read')
  return true
}

function changes(call: Call): Promise<unknown> {
  const { desk, signal, query, view, role } = call
  const filter = filterFrom(call)
  const from = query.text('from')
  const to = query.text('to')
  const next = query.text('next')
  const isOldestFirst = query.flag('oldestFirst')
  const withData = wantsData(call)
  const access = new PastAccess(call)
  if (next !== undefined && !/^0x[0-9a-f]{1,16}$/.test(next))
    throw badRequest('next: not of a page')
  return desk.ask(signal, async (past) => {
    const range = await past.range(
      from === undefined ? undefined : pointFrom('from', from),
      to === undefined ? undefined : pointFrom('to', to),
    )
    const started = performance.now()
    const page = await past.page(
      next === undefined
        ? range
        : isOldestFirst
          ? { ...range, from: BigInt(next) }
          : { ...range, to: BigInt(next) },
      filter,
      {
        limit: query.integer('limit') ?? 100,
        isOldestFirst,
        wantsData: withData,
        isLate: () => performance.now() - started > pageMs,
      },
    )
    const seen = await access.visible(past, page.changes)
    const shown = { view, role, wantsData: withData, clients: new SessionClients(view, role) }
    return {
      changes: seen.map((each: Change) => changeJson(each, shown)),
      next: page.next === undefined ? null : hex(page.next),
      upTo: hex(range.to < 0n ? 0n : range.to),
    }
  })
}

function change(call: Call): Promise<unknown> {
  const { desk, signal, query } = call
  const path = query.path()
  const at = pointFrom('zxid', query.text('zxid') ?? '')
  if (!('zxid' in at)) throw badRequest('zxid: expected 0x and hexadecimal digits', path)
  const { zxid } = at
  const access = new PastAccess(call)
  return desk.ask(signal, async (past) => {
    const answer: { before: object | null; after: object | null } = { before: null, after: null }
    let isThere = false
    let isHidden = false
    const moments = [true, false].map((isBefore) => ({ path, zxid, isBefore }))
    const visit = ({ isBefore }: { readonly isBefore: boolean }, tree: PastTree): void => {
      const node = tree.node(path)
      if (node === undefined) return
      isThere = true
      if (access.maySee(tree, path) !== true) isHidden = true
      const acl = mayAdminister(access, tree, path) ? 'whole' : 'masked'
      answer[isBefore ? 'before' : 'after'] = pastNodeJson(node, { data: true, acl })
    }
    await past.states(moments, visit, nodeAt(path))
    if (isHidden) throw hidden(path)
    if (!isThere) throw new ApiError(404, 'noNode', 'There was no such znode', path)
    return { path, zxid: hex(zxid), ...answer }
  })
}

function diff(call: Call): Promise<unknown> {
  const { desk, signal, query } = call
  const path = query.path()
  const withData = wantsData(call)
  const [from, to] = [query.text('from') ?? '', query.text('to') ?? '']
  const access = new PastAccess(call)
  return desk.ask(signal, async (past) => {
    const first = await past.resolve(pointFrom('from', from))
    const last = await past.resolve(pointFrom('to', to))
    if (first > last) throw badRequest('from is later than to')
    const all = await past.compare({ zxid: first }, { zxid: last }, path, differencesMax)
    const seen = access.seesAll ? all : all.filter((each) => isSeen(access, each))
    const offset = query.integer('offset') ?? 0
    const page = seen.slice(offset, offset + (query.integer('limit') ?? 100))
    return {
      from: hex(first),
      to: hex(last),
      total: seen.length,
      offset,
      differences: page.map(({ before, after, ...rest }) => ({
        ...rest,
        before:
          before === undefined ? null : pastNodeJson(before, { data: withData, acl: 'masked' }),
        after: after === undefined ? null : pastNodeJson(after, { data: withData, acl: 'masked' }),
      })),
      isPartial: seen.length < all.length,
    }
  })
}

function isSeen(access: PastAccess, { path, before, after }: Difference): boolean {
  return (
    [before, after].every((node) => node === undefined || access.grants(node.acl)) &&
    access.mayNow(path)
  )
}

/** Whether the caller may see the password hashes in an ACL. */
export function mayAdminister(access: PastAccess, tree: PastTree, path: string): boolean {
  const { admin } = permissions
  return access.mightThen(tree, path, admin) === true && access.mayNow(path, admin)
}

export function hidden(path: string): ApiError {
  return new ApiError(403, 'noAuth', 'The ACL does not allow this, or did not then', path)
}
