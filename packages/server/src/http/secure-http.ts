import type { Server as HttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import type { EventLogger } from '../base/event-logger.ts'
import { TlsAcceptor } from '../tls/tls-acceptor.ts'
import type { TlsContext } from '../tls/tls-context.ts'

/** The TLS settings of an HTTP port. */
export interface HttpSecurity {
  readonly context: TlsContext
  /** Accepts plain HTTP as well. */
  readonly acceptsPlain: boolean
}

const handshakeByte = 0x16
/** Maximum number of TLS handshakes in progress. */
const handshakesMax = 100

/** Listens in place of an HTTP server and hands it the connections after TLS detection and handshake. */
export function secureHttp(
  http: HttpServer,
  {
    context,
    acceptsPlain,
    tooMany,
  }: HttpSecurity & { readonly tooMany: (address: string) => void },
  name: string,
  logger: EventLogger,
): Server {
  const acceptor = new TlsAcceptor({
    context,
    clientAuth: context.settings.clientAuth,
    allowHalfOpen: true,
    handshakesMax,
    onCrowded: tooMany,
    onSecure: (socket) => http.emit('connection', socket),
    onFailed: (address, reason) =>
      logger.warn('tls: handshake on HTTP port failed', { port: name, address, error: reason }),
  })
  const { detectionTimeoutMs } = context.settings
  return createServer({ allowHalfOpen: true }, (socket) => {
    if (socket.destroyed) return
    if (!acceptsPlain) {
      acceptor.accept(socket)
      return
    }
    const leave = (): void => void socket.destroy()
    const impatience = setTimeout(leave, detectionTimeoutMs)
    socket.once('close', () => clearTimeout(impatience))
    socket.on('error', leave)
    socket.once('end', leave)
    socket.once('data', (bytes: Buffer) => {
      clearTimeout(impatience)
      socket.off('error', leave)
      socket.off('end', leave)
      socket.pause()
      if (bytes[0] === handshakeByte) {
        socket.unshift(bytes)
        acceptor.accept(socket)
      } else {
        servePlain(http, socket, bytes)
      }
    })
  })
}

/** Puts the first bytes back after the HTTP server has added its listeners. */
function servePlain(http: HttpServer, socket: Socket, bytes: Buffer): void {
  http.emit('connection', socket)
  socket.unshift(bytes)
  process.nextTick(() => socket.resume())
}
