import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { startServer } from '../embedded.ts'
import { checkTls, describeTlsReport, servedCertificates } from './check-tls.ts'
import { initTls, InitTlsError, tlsConfigLines, type InitTlsOptions } from './issue/init-tls.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'zabra-init-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const init = (options: Partial<InitTlsOptions> = {}) =>
  initTls({
    directory,
    servers: [
      { name: 'zk1', hosts: ['zk1.example', '127.0.0.1', '::1'] },
      { name: 'zk2', hosts: [] },
    ],
    clients: ['alice'],
    organization: 'Example',
    days: 90,
    authorityDays: 3650,
    renew: false,
    ...options,
  })

const members = 'server.1=zk1.example:2888:3888\nserver.2=zk2:2888:3888\nserver.3=zk3:2888:3888\n'

function check(lines: string): string {
  const text = `dataDir=/d\nclientPort=2181\ninitLimit=5\nsyncLimit=2\nmyid=1\n${members}${lines}`
  const { config, diagnostics } = loadConfig({ text, env: {} })
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
  return describeTlsReport(checkTls(config!))
}

test('one command makes an authority and certificates for servers and clients', () => {
  const files = init()
  expect(
    files.map(({ path, what, subject }) => [path.slice(directory.length + 1), what, subject]),
  ).toEqual([
    ['ca.pem', 'authority', 'CN=ZooKeeper CA,O=Example'],
    ['ca-key.pem', 'authority key', 'CN=ZooKeeper CA,O=Example'],
    ['zk1.pem', 'server', 'CN=zk1,O=Example'],
    ['zk2.pem', 'server', 'CN=zk2,O=Example'],
    ['client-alice.pem', 'client', 'CN=alice,O=Example'],
  ])
  for (const name of ['ca-key.pem', 'zk1.pem', 'client-alice.pem']) {
    expect(statSync(join(directory, name)).mode & 0o077).toBe(0)
  }
  const report = check(tlsConfigLines(directory, 'zk1').join('\n'))
  expect(report).toContain('TLS for clients: TLS on port 2281')
  expect(report).toContain(
    'TLS for servers: connects by TLS, accepts TLS\n  serves       CN=zk1,O=Example\n',
  )
  expect(report).toContain(
    'names        DNS:zk1.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
  )
  expect(report).not.toMatch(/warning|error/)
})

test('other tools accept what it makes', () => {
  init()
  const openssl = (...args: string[]): string =>
    spawnSync('openssl', args, { encoding: 'utf8', cwd: directory }).stdout
  expect(
    openssl('verify', '-x509_strict', '-CAfile', 'ca.pem', '-purpose', 'sslserver', 'zk1.pem'),
  ).toBe('zk1.pem: OK\n')
  expect(
    openssl(
      'verify',
      '-x509_strict',
      '-CAfile',
      'ca.pem',
      '-purpose',
      'sslclient',
      'client-alice.pem',
    ),
  ).toBe('client-alice.pem: OK\n')
})

test('later runs use the same authority, and replace only the files that they are asked to', () => {
  const before = init()
  const ca = readFileSync(join(directory, 'ca.pem'), 'utf8')
  const again = init({ clients: ['alice', 'bob'] })
  expect(again.map(({ isKept }) => isKept)).toEqual([true, true, true, true, true, false])
  expect(again[2]!.validUntil).toEqual(before[2]!.validUntil)
  const server = readFileSync(join(directory, 'zk1.pem'), 'utf8')
  init({ renew: true })
  expect(readFileSync(join(directory, 'zk1.pem'), 'utf8')).not.toBe(server)
  expect(readFileSync(join(directory, 'ca.pem'), 'utf8')).toBe(ca)
})

test('impossible requests get an error', () => {
  expect(() => init({ clients: ['../x'] })).toThrow(InitTlsError)
  expect(() => init({ clients: ['a', 'a'] })).toThrow(/client-a is named twice/)
  init()
  rmSync(join(directory, 'ca-key.pem'))
  expect(() => init()).toThrow(/ca.pem is there, but not .*ca-key.pem/)
})

test('a check reports problems', () => {
  init({ days: 3 })
  const other = join(directory, 'other')
  init({ directory: other })
  const lines = tlsConfigLines(directory, 'zk2').join('\n')
  expect(check(lines)).toMatch(/warning\s+the certificate expires in 2 days/)
  expect(check(lines)).toMatch(
    /warning\s+the certificate does not name zk1.example, where the others connect to/,
  )
  const mixed = lines.replaceAll(join(directory, 'ca.pem'), join(other, 'ca.pem'))
  expect(check(mixed)).toMatch(
    /no certificate of the trust store has issued the certificate of the server/,
  )
  writeFileSync(join(directory, 'ca.pem'), 'rubbish')
  expect(check(lines)).toMatch(/error\s+ssl.trustStore.location: .*ca.pem: it holds no certificate/)
  expect(check('')).toBe('The configuration uses no TLS.\n')
})

test('a running server is asked for its certificates', async () => {
  init()
  const server = await startServer({
    config: {
      secureClientPort: 0,
      'ssl.keyStore.location': join(directory, 'zk1.pem'),
      'ssl.trustStore.location': join(directory, 'ca.pem'),
    },
  })
  try {
    const { chain, protocol } = await servedCertificates('127.0.0.1', server.secureClientPort, 5000)
    expect(protocol).toBe('TLSv1.3')
    expect(chain.map(({ subject }) => subject)).toEqual([
      'CN=zk1,O=Example',
      'CN=ZooKeeper CA,O=Example',
    ])
  } finally {
    await server.stop()
  }
})
