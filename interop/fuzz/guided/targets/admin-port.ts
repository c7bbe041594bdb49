import { connect } from 'node:net'
import { startServer, type RunningServer } from '@zabra/server'
import type { Target } from '../target.ts'

const bytesOf = (...texts: readonly string[]): Uint8Array[] =>
  texts.map((text) => new Uint8Array(Buffer.from(text.replaceAll('\n', '\r\n'))))
const answerMsMax = 5000

let server: Promise<RunningServer> | undefined

/** Requests to the admin port as they arrive on a socket. An answer of 500 is a fault. */
export const adminPort: Target = {
  name: 'admin-port',
  seeds: () =>
    bytesOf(
      'GET /commands/mntr HTTP/1.1\nHost: localhost\n\n',
      'GET /commands/stat HTTP/1.1\nHost: localhost\nAuthorization: digest a:b\n\n',
      'POST /commands/restore HTTP/1.1\nHost: localhost\nContent-Type: application/octet-stream\nContent-Length: 3\n\nabc',
      'GET /api/v1/znodes?path=/zookeeper&limit=5 HTTP/1.1\nHost: localhost\n\n',
      'GET /api/v1/tree/zookeeper?depth=2 HTTP/1.1\nHost: localhost\n\n',
      'GET /api/openapi.json HTTP/1.1\nHost: localhost\n\n',
      'PUT /api/v1/znodes/a HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 17\n\n{"data":"aGVsbG8="}',
      'GET /metrics HTTP/1.1\nHost: localhost\n\n',
      'GET / HTTP/1.1\nHost: localhost\nAccept-Encoding: gzip\n\n',
      'GET /readyz HTTP/1.0\n\n',
    ),
  async run(input) {
    server ??= startServer({ config: { 'admin.enableServer': 'true', 'admin.serverPort': 0 } })
    const { adminAddress } = await server
    const answer = await ask(Number(new URL(adminAddress!).port), input)
    if (/^HTTP\/1\.1 500/m.test(answer)) throw new Error(`an answer of 500: ${answer}`)
  },
}

/** Everything that is answered before the connection ends; sends nothing more after `bytes`. */
function ask(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let answer = ''
    socket.on('data', (data: Buffer) => (answer += data.toString('latin1')))
    // A stream of events does not end by itself.
    socket.once('data', () => setTimeout(() => socket.destroy(), 5))
    socket.on('error', () => {})
    socket.once('close', () => resolve(answer))
    socket.setTimeout(answerMsMax, () => socket.destroy())
    socket.end(bytes)
  })
}
