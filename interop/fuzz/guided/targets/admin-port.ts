import { connect } from 'node:net'
import { startServer, type RunningServer } from '@zabra/server'
import type { Route } from '../../../../packages/server/src/api/route.ts'
import { routes } from '../../../../packages/server/src/api/routes/index.ts'
import type { Schema } from '../../../../packages/server/src/api/schema.ts'
import type { Target } from '../target.ts'

const bytesOf = (...texts: readonly string[]): Uint8Array[] =>
  texts.map((text) => new Uint8Array(Buffer.from(text.replaceAll('\n', '\r\n'))))
const answerMsMax = 5000
/** Half a request has no answer, so this side ends it. */
const patienceMs = 30

let server: Promise<RunningServer> | undefined

/** A value that the schema accepts. */
function sampleOf({
  type,
  enum: words,
  pattern,
  properties = {},
  items,
  minimum,
}: Schema): unknown {
  if (words !== undefined) return words[0]
  switch ([type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties).map(([name, schema]) => [
          name,
          name === 'path' ? '/zookeeper/a' : sampleOf(schema),
        ]),
      )
    case 'array':
      return items === undefined ? [] : [sampleOf(items)]
    case 'integer':
    case 'number':
      return minimum ?? 1
    case 'boolean':
      return true
    default:
      return pattern === undefined ? '0x1' : 'r'
  }
}

const samples = { path: '/zookeeper', text: '0x1', integer: '1', flag: 'true' } as const

/** A request of a route with all its parameters, and one with those that it needs. */
function requestsOf({ method, path, parameters = {}, body }: Route): string[] {
  const all = Object.entries(parameters).map(([name, { kind, words, isRequired }]) => ({
    pair: `${name}=${kind === 'choice' ? words![0]! : samples[kind]}`,
    isRequired,
  }))
  const content = body === undefined ? '' : JSON.stringify(sampleOf(body))
  const head =
    method === 'GET' ? '' : `Content-Type: application/json\nContent-Length: ${content.length}\n`
  return [all, all.filter(({ isRequired }) => isRequired === true)].map((chosen) => {
    const query = chosen.map(({ pair }) => pair).join('&')
    return `${method} /api/v1${path}?${query} HTTP/1.1\nHost: localhost\n${head}\n${content}`
  })
}

/** Requests to the admin port as they arrive on a socket. An answer of 500 is a fault. */
export const adminPort: Target = {
  name: 'admin-port',
  seeds: () =>
    bytesOf(
      ...routes.flatMap(requestsOf),
      'GET /commands/mntr HTTP/1.1\nHost: localhost\n\n',
      'GET /commands/stat HTTP/1.1\nHost: localhost\nAuthorization: digest a:b\n\n',
      'POST /commands/restore HTTP/1.1\nHost: localhost\nContent-Type: application/octet-stream\nContent-Length: 3\n\nabc',
      'GET /api/v1/whoami HTTP/1.1\nHost: localhost\nAuthorization: Basic YTpi\n\n',
      'GET /api/v1/data?path=/zookeeper HTTP/1.1\nHost: localhost\nRange: bytes=0-5\nIf-Range: "0"\n\n',
      'PUT /api/v1/data?path=/zookeeper HTTP/1.1\nHost: localhost\nContent-Type: application/octet-stream\nContent-Length: 3\n\nabc',
      'OPTIONS /api/v1/node HTTP/1.1\nHost: localhost\nOrigin: http://localhost:8080\n\n',
      'GET /api/openapi.json HTTP/1.1\nHost: localhost\n\n',
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

/**
 * The answer. This side sends no more after `bytes`, but ends the connection only later, because
 * the server drops requests whose client has left.
 */
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
    socket.write(bytes)
    const patience = setTimeout(() => socket.end(), patienceMs)
    socket.once('close', () => clearTimeout(patience))
  })
}
