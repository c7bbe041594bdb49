/** Roles by identity and by token, and what only some roles may see: the log and sessions. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DescribedApi } from '../../test/support/described-api.ts'
import { EmbeddedEnsemble } from '../../test/support/embedded-ensemble.ts'
import { RawClient } from '../../test/support/raw-client.ts'
import { until } from '../../test/support/until.ts'
import { digestOf } from '../auth/authenticator.ts'
import { StartError } from '../base/start-error.ts'
import { startServer, type StartOptions } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'
import { tokensIn } from './tokens.ts'

const shared = {
  'admin.enableServer': 'true',
  'admin.serverPort': 0,
  'api.anonymous': 'none',
  'admin.identities': `digest:${digestOf('boss:secret')}`,
}
const basic = (user: string): string => `Basic ${Buffer.from(user).toString('base64')}`
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')
const mine = (user: string) => [{ perms: 31, id: { scheme: 'digest', id: digestOf(user) } }]

async function start(config: NonNullable<StartOptions['config']>): Promise<RunningServer> {
  const server = await startServer({ config: { ...shared, ...config } })
  onTestFinished(() => server.stop())
  return server
}

/** The role that the server gives a caller. */
async function roleOf(server: RunningServer, authorization: string): Promise<unknown> {
  const api = new DescribedApi(server, { Authorization: authorization })
  const { status, body } = await api.get('/whoami')
  return status === 200 ? body['role'] : `${status} ${body.error?.code}`
}

function tokenFile(...lines: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-tokens-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'tokens')
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  return file
}

test('identities have the roles of api.identities, and their ACLs apply too', async () => {
  const server = await start({
    'api.identities': `read=digest:${digestOf('ann:1')}; metadata=digest:${digestOf('bob:2')};admin=digest:${digestOf('eve:3')}`,
  })
  expect(await roleOf(server, basic('ann:1'))).toBe('read')
  expect(await roleOf(server, basic('bob:2'))).toBe('metadata')
  expect(await roleOf(server, basic('eve:3'))).toBe('admin')
  expect(await roleOf(server, basic('ann:wrong'))).toBe('none')
  const client = await RawClient.connect(server.clientPort)
  onTestFinished(() => client.close())
  await client.create('/open', 'value')
  await client.must('create', { path: '/eve', data: null, acl: mine('eve:3'), flags: 0 })
  const as = (user: string): DescribedApi => new DescribedApi(server, user)
  expect((await as('ann:1').raw('/data', { path: '/open' })).status).toBe(200)
  expect((await as('ann:1').raw('/data', { path: '/eve' })).status).toBe(403)
  expect((await as('bob:2').get('/node', { path: '/open' })).status).toBe(200)
  expect((await as('bob:2').raw('/data', { path: '/open' })).status).toBe(403)
  expect((await as('ann:1').post('/node', { path: '/made' })).status).toBe(403)
  expect((await as('eve:3').post('/node', { path: '/made' })).status).toBe(200)
})

test('tokens have a role and stand for an identity, and a changed file counts', async () => {
  const file = tokenFile(
    '# name   role  hash  identity',
    `grafana  metadata ${hashOf('t-grafana')}`,
    `deploy   write    ${hashOf('t-deploy')} digest:${digestOf('ann:1')}`,
  )
  const server = await start({ 'api.tokenFile': file })
  const client = await RawClient.connect(server.clientPort)
  onTestFinished(() => client.close())
  await client.must('create', { path: '/ann', data: null, acl: mine('ann:1'), flags: 0 })
  expect(await roleOf(server, 'Bearer t-grafana')).toBe('metadata')
  expect(await roleOf(server, 'bearer t-deploy')).toBe('write')
  expect(await roleOf(server, 'Bearer unknown')).toBe('401 badToken')
  const deploy = new DescribedApi(server, { Authorization: 'Bearer t-deploy' })
  expect((await deploy.get('/whoami')).body['identities']).toEqual([
    { scheme: 'ip', id: '127.0.0.1' },
    { scheme: 'token', id: 'deploy' },
    { scheme: 'digest', id: 'ann' },
  ])
  expect((await deploy.post('/node', { path: '/ann/made' })).status).toBe(200)
  const acl = [{ perms: 'r', scheme: 'auth', id: '' }]
  expect((await deploy.post('/node', { path: '/ann/own', acl })).status).toBe(200)
  const grafana = new DescribedApi(server, { Authorization: 'Bearer t-grafana' })
  expect((await grafana.raw('/data', { path: '/ann' })).status).toBe(403)

  writeFileSync(file, `deploy read ${hashOf('t-deploy')}\n`)
  await expect
    .poll(() => roleOf(server, 'Bearer t-grafana'), { timeout: 5000 })
    .toBe('401 badToken')
  expect(await roleOf(server, 'Bearer t-deploy')).toBe('read')
  writeFileSync(file, 'nonsense\n')
  const isReported = async (): Promise<boolean> => {
    expect(await roleOf(server, 'Bearer t-deploy')).toBe('read')
    return server.log.lines.some(({ message }) => message.includes('cannot read tokens'))
  }
  await expect.poll(isReported, { timeout: 5000 }).toBe(true)
})

test.each([
  ['deploy none 00', 'line 1: the role is one of metadata, read, write, admin'],
  ['# fine\n\ndeploy read 00', 'line 3: the hash is that of sha256sum, 64 hexadecimal digits'],
  [`deploy read ${'0'.repeat(64)} ann`, 'line 1: the identity is SCHEME:ID'],
])('a file of tokens with the lines %j is refused', (text, problem) => {
  expect(() => tokensIn(text)).toThrow(problem)
})

test('a server does not start without its file of tokens', async () => {
  const starting = startServer({ config: { ...shared, 'api.tokenFile': '/nowhere/tokens' } })
  await expect(starting).rejects.toThrow(StartError)
})

test('the log is for administrators, and can be filtered and followed', async () => {
  const server = await start({ 'api.anonymous': 'read', 'admin.serverAddress': '0.0.0.0' })
  const anybody = new DescribedApi(server)
  expect((await anybody.get('/log')).status).toBe(401)
  expect((await anybody.get('/events', { log: 'info' })).status).toBe(403)
  expect((await anybody.get('/events', { sessions: true })).status).toBe(403)
  const boss = new DescribedApi(server, 'boss:secret')
  const { body } = await boss.get<{ lines: { message: string }[] }>('/log', { text: 'session:' })
  expect(body.lines[0]!.message).toContain('session: passwords can be computed')
  expect((await boss.get<{ lines: object[] }>('/log', { level: 'error' })).body.lines).toEqual([])

  const stream = await boss.raw('/events', { log: 'info', sessions: true })
  const client = await RawClient.connect(server.clientPort)
  const id = `0x${BigInt.asUintN(64, client.sessionId).toString(16)}`
  await client.close()
  await boss.post('/node', { path: '/by-hand' })
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of stream.body!) {
    text += decoder.decode(piece as Uint8Array, { stream: true })
    if (text.includes('/by-hand')) break
  }
  expect(text).toContain(`event: session\ndata: {"id":"${id}","what":"opened"`)
  expect(text).toContain(`event: session\ndata: {"id":"${id}","what":"closed"`)
  expect(text).toMatch(/event: log\ndata: .*api: made a change method=POST .*target=\/by-hand/)
})

test('every change is logged with its author, however many there are', async () => {
  const server = await start({})
  const boss = new DescribedApi(server, 'boss:secret')
  for (let i = 0; i < 30; i++) await boss.post('/node', { path: `/n${i}` })
  const changes = server.log.lines.filter(({ message }) => message.startsWith('api: made a change'))
  expect(changes).toHaveLength(30)
  expect(changes[29]!.message).toContain('user=ip:127.0.0.1,digest:boss')
})

test('without a leader administrators still see the log', async () => {
  const { 'admin.serverPort': _, ...config } = shared
  const ensemble = await EmbeddedEnsemble.start({ ...config, 'admin.serverPort': '0' })
  onTestFinished(() => ensemble.dispose())
  const [one, two] = ensemble.followers as [number, number]
  await Promise.all([ensemble.stop(two), ensemble.stop(ensemble.leader)])
  const at = ensemble.server(one)
  await until(() => !at.peer.isServing)
  expect((await new DescribedApi(at, 'boss:secret').get('/log')).status).toBe(200)
  expect((await new DescribedApi(at).get('/log')).status).toBe(401)
})
