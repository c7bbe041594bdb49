/** Transactions that would be longer than servers accept from each other and from their logs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startServer } from '../src/embedded.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

/** Makes a transaction of 16 kB too long. */
const settings = { 'jute.maxbuffer': '8000' }
const ephemerals = 200
const pathOf = (i: number): string => `/${'long'.repeat(25)}-${i}`

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function createMany(client: RawClient): Promise<void> {
  for (let i = 0; i < ephemerals; i++)
    await client.must('create', { path: pathOf(i), data: null, acl: open, flags: 1 })
}

const open = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

test('a session with many nodes ends, and later transactions are read again', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'zabra-large-'))
  closers.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const first = await startServer({ config: { ...settings, dataDir } })
  const owner = await RawClient.connect(first.clientPort)
  await createMany(owner)
  await owner.close()
  const other = await RawClient.connect(first.clientPort)
  expect((await other.call('exists', { path: pathOf(7), watch: false })).err).toBe(-101)
  await other.create('/later')
  await other.close()
  await first.stop()

  const second = await startServer({ config: { ...settings, dataDir } })
  closers.push(() => second.stop())
  const client = await RawClient.connect(second.clientPort)
  expect((await client.call('exists', { path: pathOf(7), watch: false })).err).toBe(-101)
  await client.must('exists', { path: '/later', watch: false })
  await client.close()
})

test('an ensemble continues when a session with many nodes ends', async () => {
  const ensemble = await EmbeddedEnsemble.start(settings)
  closers.push(() => ensemble.dispose())
  const { leader } = ensemble
  const [follower] = ensemble.followers
  const owner = await ensemble.connect(follower!)
  await createMany(owner)
  await owner.close()
  const other = await ensemble.connect(follower!)
  await other.create('/later')
  expect((await other.call('exists', { path: pathOf(7), watch: false })).err).toBe(-101)
  await other.close()
  expect(ensemble.leader).toBe(leader)
  const digests = (): unknown[] =>
    [...ensemble.servers.values()].map(({ peer }) => peer.db.tree.digest.value)
  await until(() => new Set(digests()).size === 1)
})

test('a list that would grow beyond that is refused', async () => {
  const server = await startServer({ config: settings })
  closers.push(() => server.stop())
  const client = await RawClient.connect(server.clientPort)
  for (let i = 0; i < 60; i++)
    await client.call('auth', { type: 0, scheme: 'digest', auth: Buffer.from(`user-${i}:pw`) })
  const acl = Array.from({ length: 31 }, (_, i) => ({
    perms: i + 1,
    id: { scheme: 'auth', id: '' },
  }))
  expect((await client.call('create', { path: '/a', data: null, acl, flags: 0 })).err).toBe(-114)
  await client.must('create', { path: '/a', data: null, acl: [acl[30]!], flags: 0 })
  await client.close()
})
