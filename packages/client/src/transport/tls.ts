import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import type { ServerAddress, Stream, StreamEvents } from '../host.ts'
import { shuffledLookup, SocketStream, type SocketOptions } from './tcp.ts'

/**
 * As for Node's `tls.connect`: certificate authorities, a key and certificate... Files are read for
 * each connection, so that a renewed certificate is used from the next one on. No ALPN is offered,
 * since ZooKeeper does not know it.
 */
export interface TlsOptions extends Omit<
  ConnectionOptions,
  'host' | 'port' | 'path' | 'socket' | 'lookup' | 'ALPNProtocols' | 'ALPNCallback'
> {
  /** PEM files in place of `ca`, `cert` and `key`. */
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** The options with the current content of the files. */
function withFiles({ caFile, certFile, keyFile, ...options }: TlsOptions): ConnectionOptions {
  return {
    ...options,
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  }
}

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
  let socket: TLSSocket
  try {
    socket = connect({
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...withFiles(options),
      host,
      port,
      lookup: shuffledLookup(random),
    })
  } catch (error) {
    // A file is missing or holds no certificate. No event may come before the stream is returned.
    setImmediate(() => stream.failed(error as Error))
    return stream
  }
  socket.setNoDelay(true)
  if (unref) socket.unref()
  socket.on('data', (bytes: Uint8Array) => stream.received(bytes, bytes.length))
  stream.attach(socket, 'secureConnect')
  return stream
}
