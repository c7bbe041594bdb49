import { isIP } from 'node:net'
import { connect, type ConnectionOptions } from 'node:tls'
import type { ServerAddress, Stream, StreamEvents } from '../host.ts'
import { shuffledLookup, SocketStream, type SocketOptions } from './tcp.ts'

/** As for Node's `tls.connect`: certificate authorities, a key and certificate of one's own... */
export type TlsOptions = Omit<ConnectionOptions, 'host' | 'port' | 'path' | 'socket' | 'lookup'>

/** The same over TLS; the server's certificate is checked unless the options say otherwise. */
export function openTls(
  server: ServerAddress,
  events: StreamEvents,
  socketOptions: SocketOptions,
  options: TlsOptions,
): Stream {
  const { host, port } = server
  const { random, unref } = socketOptions
  const stream = new SocketStream(events, socketOptions)
  const socket = connect({
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...options,
    host,
    port,
    lookup: shuffledLookup(random),
  })
  socket.setNoDelay(true)
  if (unref) socket.unref()
  socket.on('data', (bytes: Uint8Array) => stream.received(bytes, bytes.length))
  stream.attach(socket, 'secureConnect')
  return stream
}
