import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { zabraFor, type Said, type Zabra } from './support/zabra.ts'

const folder = mkdtempSync(join(tmpdir(), 'zabra-history-'))
let server: RunningServer
let client: Client
let zabra: Zabra

/** The same question to the server and to its files. */
let sources: readonly (readonly string[])[]

beforeAll(async () => {
  server = await startServer({
    config: { dataDir: folder, 'admin.enableServer': 'true', 'admin.serverPort': 0 },
  })
  zabra = zabraFor(server.connectString)
  client = await connect(server.connectString)
  sources = [
    ['--admin', server.adminAddress!],
    ['--data-dir', folder],
  ]
  await client.create('/app', 'top')
  await client.create('/app/config', 'one')
  await client.set('/app/config', 'two')
  await client.create('/app/gone', 'lost')
  await client.delete('/app/gone')
})
afterAll(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function fromBoth(...words: string[]): Promise<Said> {
  const [online, offline] = await Promise.all(sources.map((source) => zabra(...words, ...source)))
  expect(offline).toEqual({ ...online!, stdout: withoutClients(online!.stdout) })
  return offline!
}

/** Files do not say which client a session belonged to. */
const withoutClients = (stdout: string): string =>
  stdout.replaceAll(/"client":\{.*?\}/g, '"client":null').replaceAll(' (127.0.0.1)', '')

interface Change {
  readonly zxid: string
  readonly kind: string
  readonly path: string
}

async function changesOf(path: string): Promise<Change[]> {
  const { stdout } = await fromBoth('history', 'versions', path, '--json')
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Change)
}

test('the server names its admin port', async () => {
  const [asked, named] = await Promise.all([
    zabra('history', 'versions', '/app/config', '--json'),
    zabra('history', 'versions', '/app/config', '--json', '--admin', server.adminAddress!),
  ])
  expect(asked.code).toBe(0)
  expect(asked).toEqual(named)
})

test('changes are listed the same from a server and from its files', async () => {
  const { code, stdout } = await fromBoth('history', 'ls', '/app', '--data')
  expect(code).toBe(0)
  const lines = stdout.trim().split('\n')
  expect(lines).toHaveLength(5)
  expect(lines[0]).toMatch(/^\S+Z 0x\S+ +delete +\/app\/gone by session 0x/)
  expect(lines[2]).toMatch(/ set +\/app\/config version 1 3 bytes by session 0x\S+ "two"$/)
  const none = await fromBoth('history', 'ls', '/elsewhere')
  expect(none).toMatchObject({ code: 1, stdout: '' })
})

test('a server names the client of a change', async () => {
  const admin = sources[0]!
  const { stdout } = await zabra('history', 'versions', '/app/config', ...admin)
  expect(stdout).toMatch(/ by session 0x\S+ \(127\.0\.0\.1\)$/m)
  const { stdout: json } = await zabra('history', 'versions', '/app/config', '--json', ...admin)
  const [line] = json.split('\n')
  expect(JSON.parse(line!)).toMatchObject({
    client: { address: '127.0.0.1', identities: ['ip:127.0.0.1'], isOfApi: false },
  })
})

test('a node, its data and a subtree are shown as they were', async () => {
  const [, created] = await changesOf('/app/config')
  const then = created!.zxid
  expect((await fromBoth('history', 'at', '/app/config', then)).stdout).toBe('one\n')
  expect((await fromBoth('history', 'at', '/app/config', then, '--stat')).stdout).toMatch(
    /^version +0$/m,
  )
  await fromBoth('history', 'at', '/app/config', then, '--json')
  const [, made] = await changesOf('/app/gone')
  const { stdout } = await fromBoth('history', 'at', '/app', made!.zxid, '--tree')
  expect(stdout).toBe(
    '/app 3 bytes version 0\n/app/config 3 bytes version 1\n/app/gone 4 bytes version 0\n',
  )
  const missing = await Promise.all(
    sources.map((source) => zabra('history', 'at', '/app/gone', then, ...source)),
  )
  expect(missing.map(({ code }) => code)).toEqual([4, 4])
})

test('two moments are compared', async () => {
  const [deleted, made] = await changesOf('/app/gone')
  const [, first] = await changesOf('/app/config')
  const diff = await fromBoth('history', 'diff', '/app', first!.zxid, made!.zxid, '--data')
  expect(diff.code).toBe(1)
  expect(diff.stdout).toBe(
    '~ /app/config\n    before "one"\n    after  "two"\n+ /app/gone\n    after  "lost"\n',
  )
  const none = await fromBoth('history', 'diff', '/app/config', made!.zxid, deleted!.zxid)
  expect(none).toMatchObject({ code: 0, stdout: '' })
})

test('what was deleted comes back, and so does an old version', async () => {
  const admin = sources[0]!
  expect((await zabra('history', 'undelete', '/app/gone', '--dry-run', ...admin)).stdout).toMatch(
    /^would create 1 nodes, 4 bytes/,
  )
  expect((await zabra('history', 'undelete', '/app/gone', ...admin)).code).toBe(0)
  expect(Buffer.from((await client.get('/app/gone')).data).toString()).toBe('lost')
  const [, created] = (await changesOf('/app/config')).slice(-2)
  const stale = await zabra('history', 'restore', '/app/config', created!.zxid, '-v', '7', ...admin)
  expect(stale.code).toBe(6)
  const done = await zabra('history', 'restore', '/app/config', created!.zxid, ...admin)
  expect(done.code).toBe(0)
  expect(Buffer.from((await client.get('/app/config')).data).toString()).toBe('one')
})

test('zabra why says what servers saw of sessions', async () => {
  const other = await connect(server.connectString)
  const sessionId = `0x${BigInt.asUintN(64, other.session!.id).toString(16)}`
  await other.close()
  const none = await zabra('why', '0x1234', ...sources[0]!)
  expect(none.code).toBe(1)
  const { code, stdout } = await zabra('why', sessionId, '--closed', ...sources[0]!)
  expect(code).toBe(0)
  expect(stdout).toMatch(/: closed\n +It was closed on request\.$/m)
})
