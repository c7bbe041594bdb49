import { get } from 'node:http'
import { get as getSecurely, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { connect as secured } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/embedded.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { Authority } from './support/certificates.ts'

let authority: Authority
let server: RunningServer | undefined

beforeAll(() => {
  authority = new Authority()
  authority.issueFile('server')
})
afterEach(async () => {
  await server?.stop()
  server = undefined
})
afterAll(() => authority.dispose())

async function serve(config: Record<string, string>): Promise<{ port: number; metrics: number }> {
  server = await startServer({
    config: {
      'admin.enableServer': 'true',
      'admin.serverPort': 0,
      'metricsProvider.className':
        'org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider',
      'metricsProvider.httpHost': '127.0.0.1',
      'metricsProvider.httpPort': 0,
      ...config,
    },
  })
  const portOf = (url: string | undefined): number => Number(new URL(url!).port)
  return { port: portOf(server.adminAddress), metrics: portOf(server.metricsAddress) }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}

const plain = (port: number, path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    get({ port, path, agent: false }, (response) => resolve(textOf(response))).on('error', reject)
  })
const secure = (port: number, path: string, options: RequestOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const all = { port, path, host: 'localhost', agent: false, ...authority.client(), ...options }
    getSecurely(all, (response) => resolve(textOf(response))).on('error', reject)
  })

/** With the header that asks for the identity of the certificate. */
const asked = (
  port: number,
  path: string,
  tls: RequestOptions,
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: 'x509' }
    const all = { port, path, host: 'localhost', agent: false, headers, ...tls }
    getSecurely(all, (response) => {
      textOf(response).then((text) => resolve({ status: response.statusCode!, text }), reject)
    }).on('error', reject)
  })
const statusOf = async (port: number, path: string, tls: RequestOptions): Promise<number> =>
  (await asked(port, path, tls)).status

test('commands and metrics are had over HTTPS alone', async () => {
  const { port, metrics } = await serve({
    ...authority.settings('ssl.quorum.'),
    'admin.forceHttps': 'true',
  })
  expect(server!.adminAddress).toBe(`https://127.0.0.1:${port}`)
  expect(await secure(port, '/commands/ruok')).toContain('"command" : "ruok"')
  const text = await secure(metrics, '/metrics')
  expect(text).toContain('znode_count')
  const [context] = server!.tlsContexts
  const expiry = context!.expiresMs / 1000
  expect(text).toContain(`tls_certificate_expiry_time_seconds{key="administrators"} ${expiry}\n`)
  await expect(plain(port, '/commands/ruok')).rejects.toThrow()
  await expect(plain(metrics, '/metrics')).rejects.toThrow()
})

test('one port accepts both, and a silent client is closed in time', async () => {
  const { port, metrics } = await serve({
    ...authority.settings('ssl.quorum.'),
    'admin.portUnification': 'true',
    'ssl.quorum.handshakeDetectionTimeoutMillis': '400',
  })
  for (let i = 0; i < 3; i++) {
    expect(await secure(port, '/commands/ruok')).toContain('"ruok"')
    expect(await plain(port, '/commands/ruok')).toContain('"ruok"')
    expect(await plain(metrics, '/metrics')).toContain('znode_count')
  }
  const silent = connect(port, '127.0.0.1')
  await new Promise((resolve) => silent.resume().once('close', resolve))
})

test('administrators may need certificates of a separate authority, which prove their identities', async () => {
  const { port } = await serve({
    ...authority.settings('ssl.admin.'),
    'admin.forceHttps': 'true',
    'admin.needClientAuth': 'true',
    'X509AuthenticationProvider.superUser': 'CN=ops,O=zabra',
  })
  await expect(secure(port, '/commands/ruok')).rejects.toThrow()
  const ops = authority.client(authority.issue('ops'))
  expect(await secure(port, '/commands/ruok', ops)).toContain('"ruok"')
  expect(await statusOf(port, '/commands/snapshot', ops)).not.toBe(401)
  // The API accepts the same proof, and tells administrators from others.
  const alice = authority.client(authority.issue('alice'))
  expect(await statusOf(port, '/api/v1/backup/snapshot', ops)).toBe(200)
  expect(await statusOf(port, '/api/v1/backup/snapshot', alice)).toBe(403)
  expect(await statusOf(port, '/api/v1/whoami', alice)).toBe(200)
})

test('a certificate that is only wanted proves an identity, and nobody needs one', async () => {
  const { port } = await serve({
    ...authority.settings('ssl.admin.'),
    'admin.forceHttps': 'true',
    'admin.wantClientAuth': 'true',
    'X509AuthenticationProvider.superUser': 'CN=ops,O=zabra',
  })
  expect(await secure(port, '/commands/ruok')).toContain('"ruok"')
  const ops = authority.client(authority.issue('ops'))
  expect(await statusOf(port, '/api/v1/backup/snapshot', ops)).toBe(200)
  const nobody = await asked(port, '/api/v1/whoami', authority.client())
  expect(nobody.status).toBe(401)
  expect(nobody.text).toContain('did not present a client certificate')
  const stranger = new Authority('Another CA')
  onTestFinished(() => stranger.dispose())
  const { cert, key } = stranger.client(stranger.issue('ops'))
  await expect(secure(port, '/commands/ruok', { cert, key })).rejects.toThrow()
})

test('who comes with a certificate that nobody asked for reads what to set', async () => {
  const { port } = await serve({
    ...authority.settings('ssl.admin.'),
    'admin.forceHttps': 'true',
  })
  const { status, text } = await asked(port, '/api/v1/whoami', authority.client())
  expect(status).toBe(401)
  expect(text).toContain('admin.wantClientAuth')
})

test.each([
  ['sent nothing', undefined],
  ['sent nothing over TLS', ''],
  ['keeps its connection', 'GET /commands/ruok HTTP/1.1'],
  ['reads a stream', 'GET /api/v1/events?path=/ HTTP/1.1'],
])('the server stops while a client %s', async (_, line) => {
  const { port } = await serve({
    ...authority.settings('ssl.admin.'),
    'admin.forceHttps': 'true',
  })
  const options = { port, host: '127.0.0.1' }
  const socket =
    line === undefined ? connect(options) : secured({ ...options, ...authority.client() })
  onTestFinished(() => void socket.destroy())
  const closed = new Promise((resolve) => socket.on('error', resolve).once('close', resolve))
  await once(socket, line === undefined ? 'connect' : 'secureConnect')
  if (line !== undefined && line !== '') {
    socket.write(`${line}\r\nHost: 127.0.0.1\r\n\r\n`)
    await once(socket, 'data')
  }
  socket.resume()
  await server!.stop()
  await closed
})
