import { noNode } from '@zabra/core'
import { Slices } from '../../base/slices.ts'
import { ApiError } from '../api-error.ts'
import { includes } from '../roles.ts'
import { pathParameter, streamed, type Call, type Route } from '../route.ts'
import type { ServerView } from '../../view/server-view.ts'
import { VisiblePaths } from '../visible-paths.ts'

const hitsMax = 1000
const nodesAtOnce = 256
const searchMsMax = 20_000
const excerptBytes = 60

export const search: readonly Route[] = [
  {
    method: 'GET',
    path: '/search',
    summary:
      'Znodes whose path or data contains a text, a line of JSON each; the last line says whether all was searched',
    role: 'metadata',
    parameters: {
      path: { ...pathParameter, description: 'Search this znode and everything below it' },
      text: {
        kind: 'text',
        description: 'The text to search for; upper and lower case are equal',
        isRequired: true,
      },
      in: {
        kind: 'choice',
        words: ['path', 'data'],
        description: 'Where to search; path if left out',
      },
      limit: { kind: 'integer', description: 'How many at most', minimum: 1, maximum: hitsMax },
    },
    answer: 'application/x-ndjson',
    errors: [404],
    handle: find,
  },
]

async function find(call: Call): Promise<unknown> {
  const { client, query, role, response, signal, view } = call
  const inData = query.text('in') === 'data'
  if (inData && !includes(role, 'read')) {
    throw new ApiError(403, 'role', 'Searching data needs the role read')
  }
  const wanted = (query.text('text') ?? '').toLowerCase()
  const limit = query.integer('limit') ?? 200
  const top = query.path()
  // Errors of the root znode are returned as errors of the request.
  await client.call('exists', { path: top, watch: false })
  response.writeHead(200, {
    'Content-Type': 'application/x-ndjson',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  const untilMs = performance.now() + searchMsMax
  const seeker = new Seeker(call, top, wanted, inData)
  const cursor = view.peer.db.tree.cursor()
  const slices = new Slices()
  let isTruncated = false
  try {
    for (let isMore = true; isMore && !seeker.isPastTop;) {
      seeker.begin()
      isMore = cursor.visitNodes(seeker.visit, nodesAtOnce)
      const found = seeker.take(limit - seeker.told)
      if (found.length > 0) response.write(`${found.join('\n')}\n`)
      isTruncated = seeker.told >= limit || performance.now() > untilMs
      if (isTruncated) break
      await slices.pause()
      if (signal.aborted) return streamed
    }
  } finally {
    cursor.release()
  }
  const { told: hits, scanned, unreadable } = seeker
  response.end(`${JSON.stringify({ done: true, isTruncated, hits, scanned, unreadable })}\n`)
  return streamed
}

interface Parent {
  readonly isBelowTop: boolean
  readonly isVisible: boolean
  /** Before the names of its children. */
  readonly prefix: string
}

/**
 * Looks at znodes one by one, and finds what the caller could find by listing children from the top
 * down, and reading.
 */
class Seeker {
  told = 0
  scanned = 0
  unreadable = 0
  /** The walk has left the subtree. */
  isPastTop = false
  private hasEntered = false
  private topId: number = noNode
  private found: string[] = []
  /** Numbers of znodes are used again, so that nothing is known by them across a pause. */
  private readonly parents = new Map<number, Parent>()
  private readonly tree: ServerView['peer']['db']['tree']
  private readonly visible: VisiblePaths
  private readonly top: string
  private readonly wanted: string
  private readonly inData: boolean

  constructor(call: Call, top: string, wanted: string, inData: boolean) {
    this.tree = call.view.peer.db.tree
    this.visible = new VisiblePaths(call, top)
    this.top = top
    this.wanted = wanted
    this.inData = inData
  }

  /** Call before each slice. */
  begin(): void {
    this.parents.clear()
    this.topId = this.tree.find(this.top)
  }

  /** The lines about what was found since the last call. */
  take(countMax: number): readonly string[] {
    const { found } = this
    this.found = []
    if (found.length > countMax) found.length = countMax
    this.told += found.length
    return found
  }

  readonly visit = (id: number): void => {
    const { tree, topId } = this
    const isTop = id === topId
    const above = isTop ? undefined : this.parentOf(tree.parent(id))
    if (above?.isBelowTop === false) {
      this.isPastTop ||= this.hasEntered
      return
    }
    this.hasEntered = true
    if (above?.isVisible === false) return
    this.scanned++
    const mayRead = this.visible.mayReadNode(id)
    if (!mayRead) this.unreadable++
    const path = above === undefined ? this.top : above.prefix + tree.nameOf(id)
    const excerpt = this.inData && mayRead ? excerptOf(tree.data(id), this.wanted) : undefined
    const isHit = this.inData ? excerpt !== undefined : path.toLowerCase().includes(this.wanted)
    if (!isHit) return
    this.found.push(JSON.stringify(excerpt === undefined ? { path } : { path, excerpt }))
  }

  private parentOf(id: number): Parent {
    const known = this.parents.get(id)
    if (known !== undefined) return known
    const { tree, top } = this
    if (id === noNode) return outside
    const path = tree.pathOf(id) || '/'
    const isBelowTop = top === '/' || path === top || path.startsWith(`${top}/`)
    const prefix = path === '/' ? '/' : `${path}/`
    const isVisible = isBelowTop && this.visible.has(`${prefix}child`)
    const parent = { isBelowTop, isVisible, prefix }
    this.parents.set(id, parent)
    return parent
  }
}

const outside: Parent = { isBelowTop: false, isVisible: false, prefix: '' }

/** The text around the match; undefined without a match. */
function excerptOf(data: Uint8Array | null, wanted: string): string | undefined {
  if (data === null || data.length === 0) return undefined
  const text = Buffer.from(data.buffer, data.byteOffset, data.length).toString()
  const at = text.toLowerCase().indexOf(wanted)
  if (at < 0) return undefined
  return text.slice(Math.max(0, at - excerptBytes), at + wanted.length + excerptBytes)
}
