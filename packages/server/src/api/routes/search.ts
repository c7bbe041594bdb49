import { ApiError, isRefused } from '../api-error.ts'
import { includes } from '../clients.ts'
import { pathParameter, streamed, type Call, type Route } from '../route.ts'
import { walk } from '../tree.ts'

const hitsMax = 1000
const scannedMax = 1_000_000
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
      path: { ...pathParameter, description: 'Where to look, and below' },
      text: {
        kind: 'text',
        description: 'What to look for; case does not matter',
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

async function find({ client, query, role, response, signal }: Call): Promise<unknown> {
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
  let [scanned, hits, unreadable] = [0, 0, 0]
  let isTruncated = false
  for await (const { path, isUnreadable } of walk(client, top)) {
    if (signal.aborted) return streamed
    scanned++
    if (isUnreadable) unreadable++
    const hit = inData ? await inDataOf(client, path, wanted) : path.toLowerCase().includes(wanted)
    if (hit !== false) {
      hits++
      const excerpt = typeof hit === 'string' ? { excerpt: hit } : {}
      response.write(`${JSON.stringify({ path, ...excerpt })}\n`)
    }
    if (hits >= limit || scanned >= scannedMax || performance.now() > untilMs) {
      isTruncated = true
      break
    }
  }
  response.end(`${JSON.stringify({ done: true, isTruncated, hits, scanned, unreadable })}\n`)
  return streamed
}

/** The text around the match, or false without a match. */
async function inDataOf(
  client: Call['client'],
  path: string,
  wanted: string,
): Promise<string | false> {
  try {
    const { data } = await client.call('getData', { path, watch: false })
    if (data === null || data.length === 0) return false
    const text = Buffer.from(data).toString()
    const at = text.toLowerCase().indexOf(wanted)
    if (at < 0) return false
    return text.slice(Math.max(0, at - excerptBytes), at + wanted.length + excerptBytes)
  } catch (error) {
    if (isRefused(error, 'noAuth') || isRefused(error, 'noNode')) return false
    throw error
  }
}
