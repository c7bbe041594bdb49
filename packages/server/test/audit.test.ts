import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFlags } from '@zabra/protocol'
import { startServer } from '../src/embedded.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { openAcl, RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-audit-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const { username } = userInfo()
const file = (): string => join(folder, 'audit.log')

async function audited(
  config: Record<string, string>,
  work: (client: RawClient) => Promise<void>,
): Promise<string[]> {
  const server = await startServer({
    config: { 'audit.enable': 'true', 'audit.file': file(), ...config },
  })
  const client = await RawClient.connect(server.clientPort)
  const session = `0x${client.sessionId.toString(16)}`
  await work(client)
  if (client.isConnected) await client.close()
  await server.stop()
  const text = readFileSync(file(), 'utf8').trimEnd().replaceAll(session, '0xS')
  return text.split('\n').map((line) => line.replace(/^[-0-9]+ [:,0-9]+ /, ''))
}

const everything = async (client: RawClient): Promise<void> => {
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('bob:pw') })
  await client.create('/a')
  await client.create('/a/s-', '', createFlags.ephemeralSequential)
  await client.call('create', { path: '/a', data: null, acl: openAcl, flags: 0 })
  await client.must('setData', { path: '/a', data: Buffer.from('x'), version: -1 })
  await client.call('setData', { path: '/no', data: null, version: -1 })
  const acl = [
    { perms: 31, id: { scheme: 'auth', id: '' } },
    { perms: 1, id: { scheme: 'world', id: 'anyone' } },
  ]
  await client.must('setACL', { path: '/a', acl, version: -1 })
  await client.must('getData', { path: '/a', watch: false })
  await client.must('createTTL', { path: '/ttl', data: null, acl: openAcl, flags: 5, ttl: 10_000n })
  await client.call('create', { path: '/in\nja', data: null, acl: openAcl, flags: 0 })
  const create = (path: string, flags = 0) =>
    ({ type: 1, request: { path, data: null, acl: openAcl, flags } }) as const
  await client.must('multi', [
    create('/m'),
    create('/m/q-', 2),
    { type: 13, request: { path: '/m', version: -1 } },
    { type: 5, request: { path: '/m', data: null, version: -1 } },
    { type: 2, request: { path: '/ttl', version: -1 } },
  ])
  await client.must('multi', [create('/m2'), create('/m')])
  await client.must('delete', { path: '/m/q-0000000000', version: -1 })
}

test('changes, and attempts at them, are written as Apache writes them', async () => {
  const common = 'session=0xS\tuser=127.0.0.1,bob\tip=127.0.0.1'
  const info = 'INFO audit.Slf4jAuditLogger: '
  const error = 'ERROR audit.Slf4jAuditLogger: '
  expect(await audited({}, everything)).toEqual([
    `${info}user=${username}\toperation=serverStart\tresult=success`,
    `${info}${common}\toperation=create\tznode=/a\tznode_type=persistent\tresult=success`,
    `${info}${common}\toperation=create\tznode=/a/s-0000000000\tznode_type=ephemeral_sequential\tresult=success`,
    `${error}${common}\toperation=create\tznode=/a\tznode_type=persistent\tresult=failure`,
    `${info}${common}\toperation=setData\tznode=/a\tresult=success`,
    `${error}${common}\toperation=setData\tznode=/no\tresult=failure`,
    `${info}${common}\toperation=setAcl\tznode=/a\tacl=auth::cdrwaworld:anyone:r\tresult=success`,
    `${info}${common}\toperation=create\tznode=/ttl\tznode_type=persistent_with_ttl\tresult=success`,
    `${error}${common}\toperation=create\tznode=/in\\u000aja\tznode_type=persistent\tresult=failure`,
    `${info}${common}\toperation=create\tznode=/m\tznode_type=persistent\tresult=success`,
    `${info}${common}\toperation=create\tznode=/m/q-0000000000\tresult=success`,
    `${info}${common}\toperation=setData\tznode=/m\tresult=success`,
    `${info}${common}\toperation=delete\tznode=/ttl\tresult=success`,
    `${error}${common}\toperation=multiOperation\tresult=failure`,
    `${info}${common}\toperation=delete\tznode=/m/q-0000000000\tresult=success`,
    `${info}session=0xS\tuser=${username}\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode=/a/s-0000000000\tresult=success`,
    `${info}user=${username}\toperation=serverStop\tresult=invoked`,
  ])
})

test('the JSON form says zxid, identities and the error as well, and no hash of a password', async () => {
  const lines = await audited({ 'audit.format': 'json' }, everything)
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(events[1]).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    session: '0xS',
    user: '127.0.0.1,bob',
    ip: '127.0.0.1',
    operation: 'create',
    znode: '/a',
    result: 'success',
    znode_type: 'persistent',
    identities: ['ip:127.0.0.1', 'digest:bob'],
    zxid: '0x2',
  })
  expect(events[3]).toMatchObject({ result: 'failure', error: 'nodeExists', zxid: '0x4' })
  expect(events.find(({ operation }) => operation === 'multiOperation')).toMatchObject({
    error: 'nodeExists',
  })
})

test('requests that are refused before they become a transaction are logged too', async () => {
  const config = { 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'digest' }
  const lines = await audited(config, async (client) => {
    await client.call('create', { path: '/a', data: null, acl: openAcl, flags: 0 })
    await client.ended
  })
  expect(lines[1]).toBe(
    'ERROR audit.Slf4jAuditLogger: session=0xS\tuser=127.0.0.1\tip=127.0.0.1\toperation=create\tznode=/a\tznode_type=persistent\tresult=failure',
  )
})

test('a log that has grown is moved away, and only some are kept', async () => {
  const config = { 'audit.maxFileSizeInKb': '2', 'audit.maxFiles': '2' }
  await audited(config, async (client) => {
    for (let i = 0; i < 60; i++) await client.create(`/n${i}`)
  })
  const text = ['.2', '.1', ''].map((end) => readFileSync(file() + end, 'utf8'))
  expect(existsSync(`${file()}.3`)).toBe(false)
  for (const each of text) expect(each.length).toBeLessThanOrEqual(2048)
  const last = [...text.join('').matchAll(/znode=\/n(\d+)/g)].map(([, n]) => Number(n))
  // In order, without a gap, up to the last one.
  expect(last).toEqual(Array.from({ length: last.length }, (_, i) => 60 - last.length + i))
})

test('in an ensemble the server of the client writes, and every server the end of its ephemerals', async () => {
  const logs = join(folder, 'ensemble')
  const ensemble = await EmbeddedEnsemble.start({})
  try {
    for (const id of ensemble.ids) {
      await ensemble.stop(id)
      await ensemble.start(id, { 'audit.enable': 'true', 'audit.file': `${logs}-${id}` })
      await until(() => [...ensemble.servers.values()].every(({ peer }) => peer.isServing))
    }
    const id = ensemble.followers[0]!
    const client = await ensemble.connect(id)
    await client.create('/mine', '', createFlags.ephemeral)
    await client.call('delete', { path: '/none', version: -1 })
    await client.close()
    const text = (of: number): string => readFileSync(`${logs}-${of}`, 'utf8')
    await until(() => ensemble.ids.every((of) => text(of).includes('SessionCloseOrExpire')))
    for (const of of ensemble.ids) {
      const own = of === id ? 1 : 0
      expect(text(of).split('operation=create\t').length - 1).toBe(own)
      expect(text(of).split('operation=delete\tznode=/none\tresult=failure').length - 1).toBe(own)
    }
  } finally {
    await ensemble.dispose()
  }
})

test('a place where no log can be kept keeps the server from starting', async () => {
  const config = { 'audit.enable': 'true', 'audit.file': '/nowhere/audit.log' }
  await expect(startServer({ config })).rejects.toThrow(/audit.file: .nowhere.audit.log: ENOENT/)
})
