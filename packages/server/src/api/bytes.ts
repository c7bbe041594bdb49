import { ApiError } from './api-error.ts'
import { streamed, type Call } from './route.ts'

/** The data of a znode, and what identifies it. */
export interface Content {
  readonly path: string
  readonly bytes: Uint8Array
  /** Differs between any two values that the znode has had: parts of them must not be mixed. */
  readonly tag: string
  readonly version: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends data as bytes: all of it, or the range that the caller asks for. */
export function sendBytes(
  { request, response, signal }: Pick<Call, 'request' | 'response' | 'signal'>,
  { path, bytes, tag, version, headers = {} }: Content,
): typeof streamed {
  const wanted = request.headers.range
  const ifRange = request.headers['if-range']
  const range =
    wanted === undefined || (ifRange !== undefined && ifRange !== tag)
      ? undefined
      : rangeIn(wanted, bytes.length)
  if (range === 'outside') {
    response.setHeader('Content-Range', `bytes */${bytes.length}`)
    throw new ApiError(416, 'range', `The data has ${bytes.length} bytes`, path)
  }
  const part = range === undefined ? bytes : bytes.subarray(range.start, range.end)
  response.writeHead(range === undefined ? 200 : 206, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': part.length,
    'Accept-Ranges': 'bytes',
    ETag: tag,
    'Zabra-Version': version,
    'Cache-Control': 'no-store',
    // Users control the data: it must not become a page of this origin.
    'Content-Disposition': 'attachment',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    ...headers,
    ...(range === undefined
      ? {}
      : { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${bytes.length}` }),
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
