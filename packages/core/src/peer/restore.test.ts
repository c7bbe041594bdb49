/** A database taken from a snapshot into running servers, told as short stories. */
import { encodeText } from '@zabra/protocol'
import { afterEach, expect, test } from 'vitest'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import type { TestServer } from '../../test/support/test-server.ts'
import { Database } from '../state/database.ts'
import type { EnsembleOptions } from './ensemble-parts.ts'
import { loadDatabase } from '../storage/recovery/load.ts'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { loadRestored, type RestoredDatabase } from '../storage/recovery/restored.ts'
import { writeSnapshot } from '../storage/snapshot/snapshot.ts'
import { TxnLog } from '../storage/log/txn-log.ts'
import { Journal } from './journal.ts'
import { Peer } from './peer.ts'

const directory = 'data/version-2'
const directories = { snapshotDir: directory, logDir: directory }
const databaseOptions = {
  extendedTypes: true,
  digests: true,
  hashSeed: 1,
  acl: { skipAcl: false, schemes: new Set<string>() },
}

let ensemble: TestEnsemble

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

async function threeServing(
  options: Partial<EnsembleOptions> = {},
): Promise<{ leader: TestServer; followers: TestServer[] }> {
  ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' }, options)
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  const { leader, followers } = ensemble
  return { leader, followers }
}

/** A database in which `/kept` is the last thing that was written, and `/later` is not there. */
async function before(leader: TestServer): Promise<RestoredDatabase> {
  const client = await leader.connect()
  await client.create('/kept')
  const { file } = (await leader.journal!.snapshotNow())!
  const restored = await loadRestored(leader.disk, directory, file, databaseOptions)
  await client.create('/later')
  await ensemble.pass(100)
  return restored
}

/** How it went, once that is known. */
function restoring(
  server: TestServer,
  restored: RestoredDatabase,
): { outcome: string | undefined } {
  const seen: { outcome: string | undefined } = { outcome: undefined }
  server
    .peer!.restore(restored)
    .then(() => (seen.outcome = 'restored'))
    .catch((error: Error) => (seen.outcome = error.message))
  return seen
}

function plans(by: TestServer, to: TestServer): string[] {
  return by.events.flatMap((event) =>
    event.type === 'synchronizing' && event.sid === to.id ? [event.plan] : [],
  )
}

test('the leader leads again, and the others get everything from it', async () => {
  const { leader, followers } = await threeServing()
  const seen = restoring(leader, await before(leader))
  await ensemble.until('it is restored', () => seen.outcome !== undefined)
  expect(seen.outcome).toBe('restored')
  await ensemble.serving(3)
  expect(leader.isLeading).toBe(true)
  for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/kept'])
  for (const follower of followers) expect(plans(leader, follower).at(-1)).toBe('snap')
  const client = await followers[0]!.connect()
  expect(await client.create('/after')).toBe(0)
})

test('the members stay who they are, whatever the snapshot says', async () => {
  const rules = { enforceQuota: false, reconfigEnabled: true, closeSessionPaths: true }
  const { leader, followers } = await threeServing({ rules })
  const restored = await before(leader)
  const others = encodeText('server.9=elsewhere:1:2:participant\nversion=fffffffffff')
  restored.db.setConfig(others, 0xfffffffffffn, 0)
  const members = leader.peer!.db.configText
  const seen = restoring(leader, restored)
  await ensemble.until('it is restored', () => seen.outcome !== undefined)
  await ensemble.serving(3)
  for (const { peer } of [leader, ...followers]) expect(peer!.db.configText).toEqual(members)
})

test('a server that was away, and one that lost power right afterwards, come to the same', async () => {
  const { leader, followers } = await threeServing()
  const [away, present] = followers as [TestServer, TestServer]
  const restored = await before(leader)
  away.crash()
  const seen = restoring(leader, restored)
  await ensemble.until('it is restored', () => seen.outcome !== undefined)
  const client = await leader.connect()
  await client.create('/after')
  leader.crash()
  await away.start()
  await ensemble.until('others serve', () => present.isServing && away.isServing)
  await leader.start()
  await ensemble.serving(3)
  for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/after', '/kept'])
})

test('what no quorum has taken over is lost when the others go on without it', async () => {
  const { leader, followers } = await threeServing()
  const restored = await before(leader)
  const client = await followers[0]!.connect()
  ensemble.onSaid = ({ from, name }) => {
    if (from === leader.id && name === 'snap' && leader.isUp) leader.crash()
  }
  restoring(leader, restored)
  await ensemble.until('the leader is gone', () => !leader.isUp)
  ensemble.onSaid = undefined
  await ensemble.until('the others serve', () => followers.every((one) => one.isServing))
  expect(client.isClosed).toBe(true)
  const other = await followers[0]!.connect()
  expect(await other.create('/without')).toBe(0)
  await leader.start()
  await ensemble.serving(3)
  for (const server of ensemble.servers.values()) {
    expect(server.paths).toEqual(['/kept', '/later', '/without'])
  }
})

test('a leader that loses its office while it stores the database votes with it', async () => {
  const { leader, followers } = await threeServing()
  const restored = await before(leader)
  const seen = restoring(leader, restored)
  for (const follower of followers) follower.crash()
  await ensemble.until('it has given up', () => leader.peer!.state === 'looking')
  for (const follower of followers) await follower.start()
  await ensemble.serving(3)
  expect(seen.outcome).toBe('restored')
  for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/kept'])
})

test('nothing has changed where there is no room for it', async () => {
  const { leader } = await threeServing()
  const restored = await before(leader)
  leader.disk.fault = (call, path) =>
    call === 'create' && path.includes('snapshot') ? 'ENOSPC' : undefined
  const seen = restoring(leader, restored)
  await ensemble.until('it has failed', () => seen.outcome !== undefined)
  expect(seen.outcome).toContain('ENOSPC')
  leader.disk.fault = undefined
  await ensemble.serving(3)
  for (const server of ensemble.servers.values()) expect(server.paths).toEqual(['/kept', '/later'])
})

test('a follower says that only the leader can', async () => {
  const { leader, followers } = await threeServing()
  const restored = await before(leader)
  const seen = restoring(followers[0]!, restored)
  await ensemble.until('it has refused', () => seen.outcome !== undefined)
  expect(seen.outcome).toContain('only the leader can restore')
  expect(followers[0]!.isServing).toBe(true)
})

test('wherever the leader loses power, all servers agree afterwards, on the one state or the other', async () => {
  const outcomes = new Set<string>()
  for (let point = 0; ; point++) {
    const { leader } = await threeServing()
    const restored = await before(leader)
    let calls = 0
    leader.disk.fault = () => {
      if (calls++ === point) leader.crash()
      return undefined
    }
    const seen = restoring(leader, restored)
    await ensemble.until('it is over', () => seen.outcome !== undefined || !leader.isUp)
    const isOver = leader.isUp
    if (leader.isUp) leader.disk.fault = undefined
    else await leader.start()
    await ensemble.serving(3)
    const client = await ensemble.leader.connect()
    expect(await client.create('/after')).toBe(0)
    await ensemble.pass(200)
    const states = [...ensemble.servers.values()].map(({ paths }) => paths.join(' '))
    expect(new Set(states).size).toBe(1)
    if (seen.outcome === 'restored') expect(states[0]).toBe('/after /kept')
    outcomes.add(states[0]!)
    for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
    if (isOver) break
  }
  expect([...outcomes].toSorted()).toEqual(['/after /kept', '/after /kept /later'])
})

/** A server of its own on a disk that forgets, and how it is made to write. */
async function alone(disk: MemoryDisk): Promise<{ peer: Peer; journal: Journal }> {
  const { db } = await loadDatabase(disk, directories, databaseOptions)
  const log = new TxnLog(disk, { directory, preAllocBytes: 0, lastZxid: db.lastZxid })
  const peer = new Peer(
    db,
    {
      serverId: 1,
      tickMs: 1000,
      sessionTimeoutMsMin: 1000,
      sessionTimeoutMsMax: 20_000,
      outstandingMax: 100,
      frameBytesMax: 1024,
      sessionlessTimeoutMs: 5000,
      requiredSchemes: [],
      rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
      reclaim: { checkIntervalMs: 60_000, perMinuteMax: 1, neverUsedMsMax: 0 },
    },
    { authenticator: { schemes: new Set(), authenticate: () => undefined }, trace: () => {} },
    { nowMs: 0, wallMs: 1_700_000_000_000 },
  )
  const delay = { done: Promise.resolve(), cut: () => {} }
  const host = { monotonicMs: () => 0, wallMs: () => 0, random: () => 0, delay: () => delay }
  const journal = new Journal(
    { source: peer, log, disk, host, trace: () => {}, turn: (work) => work() },
    {
      ...directories,
      snapCount: 1000,
      snapBytes: undefined,
      logBytesMax: undefined,
      slowSyncMs: 1000,
      retainCount: 3,
      retainBytes: 0,
      purges: false,
      snapshotMethod: 'plain',
      compression: undefined,
    },
    () => {},
  )
  return { peer, journal }
}

/** A database with nothing in it but a session, which the snapshot of a server of its own has. */
async function anotherDatabase(): Promise<RestoredDatabase> {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const db = new Database(databaseOptions)
  db.createSystemNodes()
  db.session(77n, 5000)
  db.advance(5n)
  const { file } = await writeSnapshot(disk, directory, db.snapshotSource())
  return loadRestored(disk, directory, file, databaseOptions)
}

test('a server of its own that loses power while it restores has the one state or the other', async () => {
  const outcomes = new Set<string>()
  for (let point = 0; ; point++) {
    const disk = new MemoryDisk({ forgetful: true })
    const { peer, journal } = await alone(disk)
    let calls = 0
    let found: MemoryDisk | undefined
    disk.fault = () => {
      if (calls++ !== point) return found === undefined ? undefined : 'EIO'
      disk.crash()
      found = disk.copy()
      return 'EIO'
    }
    const outcome = peer.restore(await anotherDatabase(), journal)
    await outcome.catch(() => {})
    const { db } = await loadDatabase(found ?? disk.copy(), directories, databaseOptions)
    outcomes.add(`${db.lastZxid}: ${[...db.sessions.keys()].join()}`)
    if (found !== undefined) continue
    await outcome
    expect([...peer.db.sessions.keys()]).toEqual([77n])
    expect(peer.isServing).toBe(true)
    break
  }
  expect([...outcomes].toSorted()).toEqual(['0: ', '5: 77'])
})
