import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { startServer } from '@zabra/server'
import { expect, onTestFinished, test } from 'vitest'
import { Client, connect } from '../src/index.ts'
import { useServer } from './support/fixture.ts'

const fixture = useServer()
const pem = (name: string): string =>
  readFileSync(new URL(`support/tls/${name}.pem`, import.meta.url), 'utf8')

/** A TLS server in front of the one under test, which sees plain bytes. */
async function startTls(requestCert = false): Promise<number> {
  const options = { key: pem('key'), cert: pem('cert'), ca: pem('cert'), requestCert }
  const server = createServer(options, (socket) => {
    const target = connectTcp(fixture.port, '127.0.0.1')
    socket.pipe(target).pipe(socket)
    socket.on('error', () => target.destroy())
    target.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test('a client connects to a server with a trusted certificate', async () => {
  const port = await startTls()
  await using client = await connect(`localhost:${port}`, { tls: { ca: pem('cert') } })
  const data = new Uint8Array(300_000).fill(7)
  await client.create('/over-tls', data)
  // Not `toEqual`: that compares each byte, which takes longer than the session timeout of this
  // server.
  const { data: read } = await client.get('/over-tls')
  expect(Buffer.compare(read, data)).toBe(0)
  await Promise.all(Array.from({ length: 50 }, () => client.get('/over-tls')))
})

test('a client presents its own certificate if it has one', async () => {
  const port = await startTls(true)
  const tls = { ca: pem('cert'), key: pem('key'), cert: pem('cert') }
  await using client = await connect(`127.0.0.1:${port}`, { tls })
  expect(await client.exists('/')).toBeDefined()
})

/** For another server under test that has a TLS port. */
const { ZABRA_TEST_TLS_PORT: givenPort } = process.env

async function securePort(): Promise<number> {
  if (givenPort !== undefined) return Number(givenPort)
  const path = (name: string): string =>
    fileURLToPath(new URL(`support/tls/${name}.pem`, import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'zabra-client-tls-'))
  writeFileSync(join(folder, 'server.pem'), pem('key') + pem('cert'))
  const config = {
    secureClientPort: 0,
    'ssl.keyStore.location': join(folder, 'server.pem'),
    'ssl.trustStore.location': path('cert'),
  }
  const server = await startServer({ config })
  onTestFinished(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })
  return server.secureClientPort
}

test('a client connects to a server with its own TLS', async () => {
  const tls = { ca: pem('cert'), key: pem('key'), cert: pem('cert') }
  await using client = await connect(`localhost:${await securePort()}`, { tls })
  await client.create('/own-tls', 'x')
  expect(await client.whoAmI()).toContainEqual({ scheme: 'x509', user: 'CN=localhost' })
})

test('a client does not connect to a server without a trusted certificate', async () => {
  const port = await startTls()
  const client = new Client({ servers: `localhost:${port}`, tls: true })
  await expect(client.connected({ timeoutMs: 300 })).rejects.toMatchObject({ code: 'timeout' })
  await client.close()
})

test('certificates in files are read for each connection', async () => {
  const [port, otherPort] = [await startTls(), await startTls()]
  const folder = mkdtempSync(join(tmpdir(), 'zabra-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const caFile = join(folder, 'ca.pem')
  let onWarning = (_line: string): void => {}
  const logger = { warn: (line: string) => onWarning(line) }
  const client = new Client({ servers: `localhost:${port}`, tls: { caFile }, logger })
  onTestFinished(() => client.close())
  await expect(client.connected({ timeoutMs: 300 })).rejects.toThrow(/ENOENT.*ca\.pem/)
  writeFileSync(caFile, pem('cert'))
  await client.connected()
  expect(await client.exists('/')).toBeDefined()

  // Files that were read for the first connection are not used for the second.
  const refused = new Promise<void>((resolve) => {
    onWarning = (line) => {
      if (/cannot connect.*ENOENT.*ca\.pem/.test(line)) resolve()
    }
  })
  rmSync(caFile)
  client.setServers(`localhost:${otherPort}`)
  await refused
  writeFileSync(caFile, pem('cert'))
  await client.connected()
})

test('a file that holds no certificate is the reason of a failed attempt, not an exception', async () => {
  const port = await startTls(true)
  const folder = mkdtempSync(join(tmpdir(), 'zabra-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const certFile = join(folder, 'cert.pem')
  writeFileSync(certFile, pem('cert').slice(0, 100))
  const client = new Client({
    servers: `localhost:${port}`,
    tls: { ca: pem('cert'), key: pem('key'), certFile },
  })
  onTestFinished(() => client.close())
  await expect(client.connected({ timeoutMs: 300 })).rejects.toThrow(/PEM/)
  writeFileSync(certFile, pem('cert'))
  await client.connected()
  expect(await client.exists('/')).toBeDefined()
})
