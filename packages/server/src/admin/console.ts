import { gunzipSync } from 'node:zlib'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuseMethod, sendText } from '../http/http-server.ts'

/**
 * Allows nothing from other origins, and code and styles from files only. The page may connect to
 * the other members, because it switches to one of them when this server is down.
 */
const policyOf = (members: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${["'self'", ...members].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

export function isOfConsole(pathname: string): boolean {
  return pathname === '/' || pathname.startsWith('/assets/')
}

/** Sends a file of the console. The files are loaded at the first request. */
export async function serveConsole(
  pathname: string,
  request: IncomingMessage,
  response: ServerResponse,
  members: readonly string[],
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refuseMethod(response, 'GET, HEAD')
  }
  const loaded = await import('@zabra/console').catch(() => undefined)
  if (loaded === undefined) return sendText(response, 503, 'the console is not built\n')
  const { files } = loaded
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined
  if (file === undefined) return sendText(response, 404, 'not found\n')
  const { type, gzip, isImmutable } = file
  const packed = Buffer.from(gzip, 'base64')
  const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  const body = takesGzip ? packed : gunzipSync(packed)
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Length': body.length,
    ...(takesGzip ? { 'Content-Encoding': 'gzip' } : {}),
    Vary: 'Accept-Encoding',
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Security-Policy': policyOf(members),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
  })
  response.end(body)
}
