import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startServer } from '../src/embedded.ts'
import type { Logger } from '../src/base/logger.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { freePorts } from './support/free-ports.ts'
import { RawClient, textOf } from './support/raw-client.ts'

const ids = [1, 2, 3]

let folder: string
let lines: Record<string, string>
const servers = new Map<number, RunningServer>()
/** Called for every line that a server logs; each logs when it begins to lead or to follow. */
let onSaid = (): void => {}
const say = (): void => onSaid()
const logger: Logger = { info: say, warn: say, error: say }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-ensemble-'))
  const ports = await freePorts(ids.length * 2)
  lines = Object.fromEntries(
    ids.map((id, i) => [`server.${id}`, `127.0.0.1:${ports[2 * i]}:${ports[2 * i + 1]}`]),
  )
})

afterEach(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()))
  servers.clear()
  rmSync(folder, { recursive: true, force: true })
})

test('three servers elect a leader, and a write to one is visible on all', async () => {
  await Promise.all(ids.map(start))
  await serving(3)
  expect(roles()).toContain('leading')
  expect(roles().filter((role) => role === 'following')).toHaveLength(2)
  const writer = await connect(follower())
  await writer.create('/a', 'one')
  await writer.must('setData', { path: '/a', data: Buffer.from('two'), version: 0 })
  for (const id of ids) {
    const reader = await connect(id)
    await reader.must('sync', { path: '/a' })
    const { data, stat } = await reader.must('getData', { path: '/a', watch: false })
    expect(textOf(data)).toBe('two')
    expect(stat.version).toBe(1)
    await reader.close()
  }
  await writer.close()
})

test('when the leader stops, the others continue with everything acknowledged', async () => {
  await Promise.all(ids.map(start))
  await serving(3)
  const old = leader()
  const client = await connect(old)
  await client.create('/kept', 'x')
  await client.must('create', { ...node('/mine'), flags: 1 })
  const { sessionId, password, lastZxid } = client
  await stop(old)
  await serving(2)
  const session = { sessionId, password }
  const moved = await connect(follower(), { session, lastZxidSeen: lastZxid })
  expect(moved.sessionId).toBe(sessionId)
  await moved.must('exists', { path: '/kept', watch: false })
  const { stat } = await moved.must('exists', { path: '/mine', watch: false })
  expect(stat.ephemeralOwner).toBe(sessionId)
  await moved.create('/after', 'y')
  await moved.close()
  await start(old)
  await serving(3)
  const back = await connect(old)
  await back.must('sync', { path: '/' })
  await back.must('exists', { path: '/after', watch: false })
  expect((await back.call('exists', { path: '/mine', watch: false })).err).toBe(-101)
  await back.close()
})

test('a server whose disk was lost gets everything from the leader', async () => {
  await Promise.all(ids.map(start))
  await serving(3)
  const lost = follower()
  const writer = await connect(leader())
  await stop(lost)
  await serving(2)
  for (let i = 0; i < 20; i++) await writer.create(`/n${i}`, `${i}`)
  rmSync(dataDir(lost), { recursive: true, force: true })
  await start(lost)
  await serving(3)
  const reader = await connect(lost)
  await reader.must('sync', { path: '/' })
  const { children } = await reader.must('getChildren', { path: '/', watch: false })
  expect(children).toHaveLength(21)
  await reader.close()
  await writer.close()
})

test('a watch on one server fires for a write on another', async () => {
  await Promise.all(ids.map(start))
  await serving(3)
  const [watching, writing] = ids.filter((id) => id !== leader())
  const watcher = await connect(watching!)
  const writer = await connect(writing!)
  await watcher.call('exists', { path: '/w', watch: true })
  await writer.create('/w', '')
  expect(await watcher.nextEvent()).toMatchObject({ type: 1, path: '/w' })
  await watcher.close()
  await writer.close()
})

test('without a quorum nothing is served', async () => {
  await start(1)
  const alone = servers.get(1)!
  expect(alone.peer.isServing).toBe(false)
  await expect(RawClient.connect(alone.clientPort, { patienceMs: 2000 })).rejects.toThrow()
})

// --- the words of these tests --------------------------------------------------------------------

const dataDir = (id: number): string => join(folder, String(id))

async function start(id: number): Promise<void> {
  const config = {
    ...lines,
    myid: String(id),
    dataDir: dataDir(id),
    initLimit: '10',
    syncLimit: '5',
    tickTime: '400',
    preAllocSize: '64',
  }
  servers.set(id, await startServer({ config, logger }))
  onSaid()
}

async function stop(id: number): Promise<void> {
  await servers.get(id)?.stop()
  servers.delete(id)
}

function connect(
  id: number,
  options?: Parameters<typeof RawClient.connect>[1],
): Promise<RawClient> {
  return RawClient.connect(servers.get(id)!.clientPort, options)
}

function roles(): (string | undefined)[] {
  return [...servers.values()].map((server) => server.ensembleState)
}

function leader(): number {
  for (const [id, server] of servers) if (server.ensembleState === 'leading') return id
  throw new Error('there is no leader')
}

function follower(): number {
  for (const [id, server] of servers) if (server.ensembleState === 'following') return id
  throw new Error('there is no follower')
}

/** Waits until this many servers serve; the deadline is the test's. */
async function serving(count: number): Promise<void> {
  while ([...servers.values()].filter(({ peer }) => peer.isServing).length < count) {
    await new Promise<void>((resolve) => {
      onSaid = resolve
    })
  }
}

function node(path: string) {
  const acl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
  return { path, data: null, acl, flags: 0 }
}
