import { get } from 'node:http'
import { get as getSecurely, request, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
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
  const statusOf = (path: string, tls: RequestOptions): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: 'x509' }
      const all = { port, path, host: 'localhost', agent: false, method: 'GET', headers, ...tls }
      request(all, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
        .on('error', reject)
        .end()
    })
  expect(await statusOf('/commands/snapshot', ops)).not.toBe(401)
  // The API accepts the same proof, and tells administrators from others.
  const alice = authority.client(authority.issue('alice'))
  expect(await statusOf('/api/v1/backup/snapshot', ops)).toBe(200)
  expect(await statusOf('/api/v1/backup/snapshot', alice)).toBe(403)
  expect(await statusOf('/api/v1/whoami', alice)).toBe(200)
})
