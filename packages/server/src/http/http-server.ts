import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { EventLogger } from '../base/event-logger.ts'
import { secureHttp, type HttpSecurity } from './secure-http.ts'
import { plainAddress } from '../base/plain-address.ts'
import { Descriptors } from '../net/descriptors.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export interface HttpServer {
  readonly url: string
  stop(): Promise<void>
}

export interface HttpOptions {
  /** For the log: `admin` or `metrics`. */
  readonly name: string
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly idleTimeoutMs: number
  /** Called when a connection is closed because there are too many. */
  readonly onTooMany: () => void
  /** Undefined: plain HTTP. */
  readonly security?: HttpSecurity | undefined
}

/**
 * Maximum number of connections of one HTTP port, so that they leave file descriptors for clients.
 */
const connectionsMax = 500

/**
 * Listens, or logs why that is impossible: a port in use must not keep the server from serving its
 * clients.
 */
export async function listenHttp(
  handler: Handler,
  options: HttpOptions,
  logger: EventLogger,
): Promise<HttpServer | undefined> {
  const { name, host, port, idleTimeoutMs, security, onTooMany } = options
  const working = new Set<IncomingMessage>()
  /** Bytes that a connection had transferred when its client was first found silent. */
  const silentAt = new WeakMap<Socket, number>()
  const server = createServer((request, response) => {
    working.add(request)
    response.once('close', () => working.delete(request))
    handler(request, response).catch((error: unknown) => {
      logger.warn('http: request failed', {
        port: name,
        method: request.method,
        url: request.url,
        error: String(error),
      })
      if (response.headersSent) response.destroy()
      else sendText(response, 500, 'internal error\n')
    })
  })
  server.keepAliveTimeout = idleTimeoutMs
  server.timeout = idleTimeoutMs
  server.on('timeout', (socket) => {
    const requests = [...working].filter((each) => each.socket === socket)
    if (requests.some(waitsForUs)) silentAt.delete(socket)
    // It may have waited for the server until a moment ago: only a second look can tell.
    else if (requests.length > 0 && silentAt.get(socket) !== passed(socket)) {
      silentAt.set(socket, passed(socket))
    } else return socket.destroy()
    return socket.setTimeout(idleTimeoutMs)
  })
  // Uploading a snapshot may take its time, as long as bytes arrive.
  server.requestTimeout = 0
  const tooMany = (address: string): void => {
    onTooMany()
    logger.warn('http: closed connection, too many are open', { port: name, address })
  }
  const listening =
    security === undefined ? server : secureHttp(server, { ...security, tooMany }, name, logger)
  const descriptors = new Descriptors()
  const sockets = new Set<Socket>()
  // Comes before the listener that reads the request.
  listening.prependListener('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    if (descriptors.hasRoomFor(socket) && sockets.size <= connectionsMax) return
    // Idle ones make room for the next attempt.
    server.closeIdleConnections()
    socket.on('error', () => {})
    tooMany(plainAddress(socket.remoteAddress))
    socket.destroy()
  })
  try {
    await new Promise<void>((resolve, reject) => {
      listening.once('error', reject)
      listening.listen({ host, port }, resolve)
    })
  } catch (error) {
    logger.warn('http: cannot open port, running without it', {
      port: name,
      error: (error as Error).message,
    })
    return undefined
  }
  listening.on('error', (error) =>
    logger.warn('http: port failed', { port: name, error: error.message }),
  )
  const { address, port: actualPort } = listening.address() as AddressInfo
  const scheme = security === undefined ? 'http' : 'https'
  return {
    url: `${scheme}://${address.includes(':') ? `[${address}]` : address}:${actualPort}`,
    stop: () =>
      new Promise((resolve) => {
        listening.close(() => resolve())
        // `closeAllConnections` does not know those that came through TLS, or are not that far yet.
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/**
 * Whether the server causes the silence: the client has sent its request, and has read everything
 * so far.
 */
function waitsForUs({ complete, readableLength, socket }: IncomingMessage): boolean {
  return (complete || readableLength > 0) && socket.writableLength === 0
}

function passed({ bytesRead, bytesWritten, writableLength }: Socket): number {
  return bytesRead + bytesWritten - writableLength
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  const body = Buffer.from(text)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length })
  response.end(body)
}

/** Refuses a method, and lists the allowed ones. */
export function refuseMethod(response: ServerResponse, allowed: string): void {
  response.writeHead(405, { Allow: allowed, 'Content-Length': 0 })
  response.end()
}
