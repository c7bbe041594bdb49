import { sign, X509Certificate } from 'node:crypto'
import { renameSync, symlinkSync } from 'node:fs'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ask } from './support/ask.ts'
import { startServer } from '../src/embedded.ts'
import type { Logger } from '../src/base/logger.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { derChildren, derTags, readDer } from '../src/tls/der.ts'
import { ecdsaWithSha256, type Identity } from '../src/tls/issue/certificate.ts'
import { bitString, sequence } from '../src/tls/issue/der-writer.ts'
import { Authority } from './support/certificates.ts'
import { RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

/** After version, serial number, signature, issuer and validity. */
const subjectField = 5

let authority: Authority
const servers: RunningServer[] = []

beforeAll(() => {
  authority = new Authority()
  authority.issueFile('server')
})
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
})
afterAll(() => authority.dispose())

class Log implements Logger {
  readonly lines: string[] = []
  info(line: string): void {
    this.lines.push(line)
  }
  warn(line: string): void {
    this.lines.push(line)
  }
  error(line: string): void {
    this.lines.push(line)
  }
  has(pattern: RegExp): boolean {
    return this.lines.some((line) => pattern.test(line))
  }
}

async function serve(config: Record<string, string>, logger?: Logger): Promise<RunningServer> {
  const server = await startServer({
    config: { secureClientPort: 0, ...authority.settings('ssl.'), ...config },
    ...(logger === undefined ? {} : { logger }),
  })
  servers.push(server)
  return server
}

async function identities(port: number, tls?: ConnectionOptions): Promise<string[]> {
  const client = await RawClient.connect(port, tls === undefined ? {} : { tls })
  const { clientInfo } = await client.must('whoAmI', {})
  await client.close()
  return (clientInfo ?? []).map(({ authScheme, user }) => `${authScheme}:${user}`)
}

test('a client with a certificate has the identity of its subject', async () => {
  const { secureClientPort } = await serve({})
  const subject = [
    ['C', 'DE'],
    ['O', 'Acme, Inc.'],
    ['CN', ' alice'],
  ] as const
  const tls = authority.client(authority.issue('alice', { subject }))
  expect(await identities(secureClientPort, tls)).toEqual([
    'ip:127.0.0.1',
    'x509:CN=\\ alice,O=Acme\\, Inc.,C=DE',
  ])
})

test('the super user may have a certificate', async () => {
  const { secureClientPort } = await serve({
    'X509AuthenticationProvider.superUser': 'CN=root,O=zabra',
  })
  const root = await RawClient.connect(secureClientPort, {
    tls: authority.client(authority.issue('root')),
  })
  const acl = [{ perms: 31, id: { scheme: 'x509', id: 'CN=bob,O=zabra' } }]
  await root.must('create', { path: '/bob', data: null, acl, flags: 0 })
  expect((await root.call('getData', { path: '/bob', watch: false })).err).toBe(0)
  for (const [name, expected] of [
    ['bob', 0],
    ['eve', -102],
  ] as const) {
    const tls = authority.client(authority.issue(name))
    const client = await RawClient.connect(secureClientPort, { tls })
    expect((await client.call('getData', { path: '/bob', watch: false })).err).toBe(expected)
    await client.close()
  }
  await root.close()
})

test('an ACL for auth holds the subject of the certificate', async () => {
  const { secureClientPort } = await serve({})
  const client = await RawClient.connect(secureClientPort, {
    tls: authority.client(authority.issue('alice')),
  })
  const acl = [{ perms: 31, id: { scheme: 'auth', id: '' } }]
  await client.must('create', { path: '/a', data: null, acl, flags: 0 })
  const { acl: stored } = await client.must('getACL', { path: '/a' })
  expect(stored).toEqual([{ perms: 31, id: { scheme: 'x509', id: 'CN=alice,O=zabra' } }])
  await client.close()
})

test('need, want and none decide about clients without a certificate', async () => {
  const stranger = new Authority('Stranger')
  try {
    const outcome = async (port: number, tls: ConnectionOptions): Promise<string> =>
      identities(port, tls).then(
        (ids) => (ids.length > 1 ? 'known' : 'unknown'),
        () => 'refused',
      )
    const foreign = { ...stranger.client(stranger.issue('eve')), ca: authority.pem }
    const own = authority.client(authority.issue('alice'))
    const expired = authority.client(
      authority.issue('old', { from: new Date(Date.now() - 10 * 86_400_000), days: 1 - 2 }),
    )
    for (const [clientAuth, ...expected] of [
      ['need', 'refused', 'refused', 'refused', 'known'],
      ['want', 'unknown', 'refused', 'refused', 'known'],
      ['none', 'unknown', 'unknown', 'unknown', 'unknown'],
    ] as const) {
      const { secureClientPort: port } = await serve({ 'ssl.clientAuth': clientAuth })
      const outcomes = []
      for (const tls of [authority.client(), foreign, expired, own])
        outcomes.push(await outcome(port, tls))
      expect([clientAuth, ...outcomes]).toEqual([clientAuth, ...expected])
    }
  } finally {
    stranger.dispose()
  }
})

test('a port for both takes TLS, plain clients and four-letter words', async () => {
  const server = await startServer({
    config: { 'client.portUnification': 'true', ...authority.settings('ssl.') },
  })
  servers.push(server)
  const { clientPort } = server
  expect(await identities(clientPort)).toEqual(['ip:127.0.0.1'])
  const tls = authority.client(authority.issue('alice'))
  expect(await identities(clientPort, tls)).toEqual(['ip:127.0.0.1', 'x509:CN=alice,O=zabra'])
  expect(await ask(clientPort, 'ruok')).toBe('imok')
  expect(await askSecurely(clientPort, 'ruok', tls)).toBe('imok')
})

test('a silent client on a port for both is treated as plain, and closed in time', async () => {
  const server = await startServer({
    config: {
      'client.portUnification': 'true',
      'ssl.handshakeDetectionTimeoutMillis': '50',
      'nio.sessionlessCnxnTimeout': '100',
      ...authority.settings('ssl.'),
    },
  })
  servers.push(server)
  const socket = connectPlain(server.clientPort, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  await until(() => server.sockets.size === 1)
  await new Promise((resolve) => socket.resume().once('close', resolve))
  expect(server.peer.stats.sessionlessExpired).toBe(1)
})

test('handshakes that are not finished, and plain bytes, end in time and are counted', async () => {
  const log = new Log()
  const server = await serve({ 'ssl.handshakeDetectionTimeoutMillis': '50' }, log)
  for (const bytes of ['', '\x16\x03\x01', 'ruok', '\x00\x00\x00\x2d\x00']) {
    const socket = connectPlain(server.secureClientPort, '127.0.0.1', () =>
      socket.write(bytes, 'latin1'),
    )
    socket.on('error', () => {})
    await new Promise((resolve) => socket.resume().once('close', resolve))
  }
  await until(() => server.handshakes.failed === 4)
  expect(server.handshakes.underWay).toBe(0)
  expect(
    log.has(/tls: handshake with client failed address=127.0.0.1 error="it did not finish/),
  ).toBe(true)
  expect(
    log.has(/tls: handshake with client failed address=127.0.0.1 error="wrong version number/),
  ).toBe(true)
})

test('handshakes that are not finished give way to those that wait', async () => {
  const log = new Log()
  const limit = { 'netty.server.outstandingHandshake.limit': '2' }
  const server = await serve({ ...limit, 'ssl.clientAuth': 'none' }, log)
  const unfinished: Socket[] = []
  for (let i = 0; i < 2; i++) {
    unfinished.push(connectPlain(server.secureClientPort, '127.0.0.1'))
    await until(() => server.handshakes.underWay === i + 1)
  }
  const socket = await secure(server.secureClientPort, authority.client())
  expect(server.peer.stats.limitsReached.handshakes).toBe(1)
  expect(log.has(/client: connection waits, too many TLS handshakes .*Handshake.limit/)).toBe(true)
  await until(() => unfinished.some(({ closed }) => closed))
  for (const each of [...unfinished, socket]) each.destroy()
  await until(() => server.handshakes.underWay === 0)
})

test('more connections than may wait for a handshake are closed', async () => {
  const limit = { 'netty.server.outstandingHandshake.limit': '1' }
  const server = await serve({ ...limit, 'ssl.clientAuth': 'none' })
  const sockets: Socket[] = []
  for (let i = 0; i < 4; i++) {
    sockets.push(connectPlain(server.secureClientPort, '127.0.0.1').resume())
    await until(() => i === 0 || server.peer.stats.limitsReached.handshakes === i)
    await until(() => server.handshakes.underWay === 1)
  }
  await until(() => sockets[3]!.closed)
  for (const each of sockets) each.destroy()
})

test('connections from one address count with TLS as well, from the handshake to their end', async () => {
  const { secureClientPort } = await serve({ maxClientCnxns: '1', 'ssl.clientAuth': 'none' })
  const tls = authority.client()
  // The server may notice the end of the previous connection a moment later.
  const connectSoon = async (triesLeft = 100): Promise<RawClient> => {
    try {
      return await RawClient.connect(secureClientPort, { tls })
    } catch (error) {
      if (triesLeft === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
      return connectSoon(triesLeft - 1)
    }
  }
  for (let i = 0; i < 3; i++) {
    const client = await connectSoon()
    await expect(secure(secureClientPort, tls)).rejects.toThrow()
    await client.close()
  }
})

test('protocols and cipher suites are those that are configured', async () => {
  const { secureClientPort } = await serve({
    'ssl.enabledProtocols': 'TLSv1.2',
    'ssl.ciphersuites': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_EMPTY_RENEGOTIATION_INFO_SCSV',
    'ssl.clientAuth': 'none',
  })
  const socket = await secure(secureClientPort, authority.client())
  expect([socket.getProtocol(), socket.getCipher().name]).toEqual([
    'TLSv1.2',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
  ])
  socket.destroy()
  await expect(
    secure(secureClientPort, { ...authority.client(), minVersion: 'TLSv1.3' }),
  ).rejects.toThrow()
})

test('a revoked certificate is refused, and a new list takes effect without a restart', async () => {
  const [alice, bob] = [authority.issue('alice'), authority.issue('bob')]
  authority.write('crl.pem', authority.revoke(alice))
  const server = await serve({ 'ssl.crl': 'true', 'ssl.crl.location': authority.path('crl.pem') })
  const { secureClientPort: port } = server
  await expect(identities(port, authority.client(alice))).rejects.toThrow()
  expect(await identities(port, authority.client(bob))).toHaveLength(2)
  authority.write('crl.pem', authority.revoke(alice, bob))
  await until(() => server.tlsContexts[0]!.reloads === 1)
  await expect(identities(port, authority.client(bob))).rejects.toThrow()
})

test('a revocation list that is missing or out of date is reported', async () => {
  const log = new Log()
  const other = new Authority('Other CA', authority.path('other'))
  authority.write('two.pem', `${authority.pem}${other.pem}`)
  authority.write('old.pem', authority.revocationList([], new Date(Date.now() - 60_000)))
  const server = await serve(
    {
      'ssl.trustStore.location': authority.path('two.pem'),
      'ssl.crl': 'true',
      'ssl.crl.location': authority.path('old.pem'),
    },
    log,
  )
  expect(log.has(/there is no revocation list of CN=Other CA,O=zabra, so all of its/)).toBe(true)
  expect(log.has(/revocation list is out of date, .* issuer="CN=Test CA,O=zabra"/)).toBe(true)
  const bob = authority.client(authority.issue('bob'))
  await expect(identities(server.secureClientPort, bob)).rejects.toThrow()
})

test('a damaged revocation list keeps the server from starting', async () => {
  const pem = authority.revoke()
  const cut = pem.replace(/\n[^-\n]+\n(?=-----END)/, '\n')
  authority.write('cut.pem', cut)
  const config = { 'ssl.crl': 'true', 'ssl.crl.location': authority.path('cut.pem') }
  await expect(serve(config)).rejects.toThrow(/ssl.crl: a revocation list is damaged/)
})

test('a new certificate is served without a restart, a bad one refused and the old one kept', async () => {
  const log = new Log()
  const [first, second] = [authority.issue('first'), authority.issue('second')]
  authority.write('one.pem', authority.pemOf(first))
  authority.write('two.pem', authority.pemOf(second))
  // As orchestrators do it: a link to the current file, replaced by renaming.
  symlinkSync('one.pem', authority.path('current.pem'))
  const server = await serve(
    { 'ssl.keyStore.location': authority.path('current.pem'), 'ssl.clientAuth': 'none' },
    log,
  )
  const [context] = server.tlsContexts
  const served = async (): Promise<string> => {
    const socket = await secure(server.secureClientPort, authority.client())
    const { serialNumber } = socket.getPeerX509Certificate()!
    socket.destroy()
    return serialNumber
  }
  const before = await RawClient.connect(server.secureClientPort, { tls: authority.client() })
  expect(await served()).toBe(first.certificate.serialNumber)
  symlinkSync('two.pem', authority.path('next.pem'))
  renameSync(authority.path('next.pem'), authority.path('current.pem'))
  await until(() => context!.reloads === 1)
  expect(await served()).toBe(second.certificate.serialNumber)
  expect(context!.expiresMs).toBe(Date.parse(second.certificate.validTo))
  authority.write('two.pem', 'rubbish')
  await until(() => context!.failedReloads > 0)
  expect(await served()).toBe(second.certificate.serialNumber)
  expect(
    log.has(/cannot load changed files, keeping the old certificate .*ssl.keyStore.location/),
  ).toBe(true)
  // Open connections survive all that.
  await before.must('exists', { path: '/', watch: false })
  await before.close()
})

test('a certificate that expires soon is a warning at the start', async () => {
  const log = new Log()
  await serve({ 'ssl.keyStore.location': authority.issueFile('short', { days: 5 }) }, log)
  expect(
    log.has(/certificate expires soon use=clients subject="CN=short,O=zabra" .* daysLeft=[45]$/),
  ).toBe(true)
})

test('names in certificates of clients are checked where that is asked for', async () => {
  const { secureClientPort } = await serve({ 'ssl.clientHostnameVerification': 'true' })
  const fitting = authority.client(authority.issue('alice'))
  expect(await identities(secureClientPort, fitting)).toHaveLength(2)
  const other = authority.client(authority.issue('bob', { hosts: ['bob.example'] }))
  await expect(identities(secureClientPort, other)).rejects.toThrow()
})

test('unusable settings keep the server from starting, with a reason', async () => {
  const cases: [Record<string, string>, RegExp][] = [
    [
      { 'ssl.keyStore.location': '/nowhere.pem' },
      /ssl.keyStore.location: .nowhere.pem: there is no such file/,
    ],
    [{ 'ssl.keyStore.location': authority.path('ca.pem') }, /has no private key/],
    [{ 'ssl.keyStore.type': 'BCFKS' }, /BCFKS is the type of a Java library/],
    [{ 'ssl.enabledProtocols': 'TLSv1.1' }, /none of TLSv1.1 is offered/],
    [{ 'ssl.ciphersuites': 'TLS_NONE_WITH_NOTHING' }, /none of them is available/],
    [{ 'ssl.crl': 'true' }, /there is no revocation list/],
    [{ 'ssl.ocsp': 'true' }, /ssl.ocsp: is true, but zabra cannot ask/],
    [{ 'ssl.clientAuth': 'maybe' }, /expected one of none, want, need/],
    [{ 'ssl.trustStore.location': '' }, /so that no certificate of anybody can be checked/],
  ]
  for (const [config, expected] of cases) {
    await expect(serve(config)).rejects.toThrow(expected)
  }
})

function secure(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ...options }, () => resolve(socket))
    socket.once('error', reject)
  })
}

async function askSecurely(port: number, word: string, tls: ConnectionOptions): Promise<string> {
  const socket = await secure(port, tls)
  socket.write(word)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

/** The certificate of a name whose length is written in more bytes than necessary. */
function issueWithLongLength(name: string): Identity {
  const identity = authority.issue(name)
  const [body] = derChildren(readDer(identity.certificate.raw))
  const fields = derChildren(body!).map((field, i) => {
    if (i !== subjectField) return field.bytes
    const length = Buffer.from([derTags.sequence, 0x85, 0, 0, 0, 0, field.content.length])
    return Buffer.concat([length, field.content])
  })
  const changed = sequence(...fields)
  const signature = sign('sha256', changed, authority.identity.key)
  const der = sequence(changed, ecdsaWithSha256, bitString(signature))
  return { certificate: new X509Certificate(der), key: identity.key }
}

test('a certificate that OpenSSL accepts and this server cannot read is refused', async () => {
  const log = new Log()
  const server = await serve({}, log)
  const { secureClientPort } = server
  const strange = authority.client(issueWithLongLength('strange'))
  await expect(identities(secureClientPort, strange)).rejects.toThrow()
  expect(log.has(/handshake with client failed .*its certificate cannot be used/)).toBe(true)
  const alice = authority.client(authority.issue('alice'))
  expect(await identities(secureClientPort, alice)).toContain('x509:CN=alice,O=zabra')
})
