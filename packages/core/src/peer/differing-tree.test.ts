/** A server whose tree is not the one that the others have, although its log is. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TestEnsemble } from '../../test/support/ensemble.ts'
import type { TestClient } from '../../test/support/test-client.ts'
import type { TestServer } from '../../test/support/test-server.ts'
import type { Leading } from './leading.ts'
import { openAclId } from '../state/tree/tree.ts'

const directory = 'data/version-2'
let ensemble: TestEnsemble
let writer: TestClient
let made = 0

beforeEach(async () => {
  ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' })
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  for (const server of ensemble.servers.values()) server.mayDiffer = true
})

afterEach(() => {
  for (const server of ensemble.servers.values()) expect(server.failures).toEqual([])
})

/** Memory of a server changes: it has a node that no transaction made. */
function corrupt({ peer }: TestServer): void {
  const { tree } = peer!.db
  const none = new Uint8Array(0)
  const node = { data: none, aclId: openAclId, owner: 0n, zxid: 1n, time: 1n }
  tree.insert('/wrong', tree.find('/'), node)
}

/** The same, and what it proposes follows from its wrong tree. */
function corruptWithPrediction(server: TestServer): void {
  corrupt(server)
  const { db } = server.peer!
  const proposer = (Reflect.get(server.peer!, 'role') as Leading).proposer!
  const projection = Reflect.get(proposer, 'projection') as { digest: typeof db.tree.digest }
  projection.digest.set(db.tree.digest)
}

/** Snapshots from before the change are gone. */
async function keepOnlyWrongSnapshot({ disk, journal }: TestServer): Promise<void> {
  const older = (await disk.list(directory)).filter(({ name }) => name.startsWith('snapshot.'))
  await journal!.snapshot()
  for (const { name } of older) await disk.remove(`${directory}/${name}`)
  await disk.syncDirectory(directory)
}

async function keptBy({ disk }: TestServer): Promise<string[]> {
  const names = (await disk.list(directory)).map(({ name }) => name)
  return names.filter((name) => name.startsWith('differing.'))
}

/** The reports of servers about a tree that differs. */
function remedies({ events }: TestServer): string[] {
  return events.flatMap((event) =>
    event.type === 'treeDiffers' ? [`${event.from}: ${event.remedy}`] : [],
  )
}

async function write(count = 1): Promise<void> {
  for (let i = 0; i < count; i++) expect(await writer.create(`/a${made++}`)).toBe(0)
}

async function allAgree(): Promise<void> {
  const servers = [...ensemble.servers.values()]
  await ensemble.until('all agree', () => {
    const trees = new Set(servers.map(({ peer }) => peer?.db.tree.digest.value))
    const zxids = new Set(servers.map(({ peer }) => peer?.db.lastZxid))
    return servers.every(({ isServing }) => isServing) && trees.size === 1 && zxids.size === 1
  })
  for (const { paths } of servers) expect(paths).not.toContain('/wrong')
}

test('a follower leaves its clients and reads its disk again', async () => {
  const { leader, followers } = ensemble
  const [wrong, right] = followers as [TestServer, TestServer]
  writer = await right.connect()
  await write()
  const reader = await wrong.connect()
  corrupt(wrong)
  await write()
  expect(remedies(wrong)).toEqual([])
  await write()
  await ensemble.until('it leaves', () => reader.isClosed)
  await allAgree()
  expect(remedies(wrong)).toEqual(['leader: reload'])
  expect(leader.isLeading).toBe(true)
  expect(leader.events).toContainEqual(
    expect.objectContaining({ type: 'treeDoubted', sid: wrong.id }),
  )
  await write(3)
  expect(remedies(wrong)).toHaveLength(1)
})

test('a follower with a wrong snapshot goes back to an older one, and keeps the wrong one', async () => {
  const [wrong, right] = ensemble.followers as [TestServer, TestServer]
  writer = await right.connect()
  await write()
  corrupt(wrong)
  await wrong.journal!.snapshot()
  await write(2)
  await ensemble.until('it has left', () => remedies(wrong).length === 1)
  await allAgree()
  await write(3)
  await allAgree()
  expect(remedies(wrong)).toEqual(['leader: reload'])
  expect(await keptBy(wrong)).toEqual([expect.stringMatching(/^differing\.snapshot\.1/)])
})

test('without an older one it takes the tree of the leader, and keeps all its files', async () => {
  const { leader, followers } = ensemble
  const [wrong, right] = followers as [TestServer, TestServer]
  writer = await right.connect()
  await write()
  corrupt(wrong)
  await keepOnlyWrongSnapshot(wrong)
  await write(2)
  await ensemble.until('it is back', () => remedies(wrong).length === 2 && wrong.isServing)
  await write(2)
  await ensemble.until('it asks for all', () => remedies(wrong).length > 2 && wrong.isServing)
  await write()
  await allAgree()
  expect(remedies(wrong)).toContain('leader: takeEverything')
  expect(leader.isLeading).toBe(true)
  const kept = await keptBy(wrong)
  expect(kept.some((name) => name.startsWith('differing.snapshot.'))).toBe(true)
  expect(kept.some((name) => name.startsWith('differing.log.'))).toBe(true)
})

test('a leader whose memory has changed makes way, and reads its disk again', async () => {
  const { leader: wrong, followers } = ensemble
  writer = await followers[0]!.connect()
  await write()
  corrupt(wrong)
  writer.askCreate('/last')
  await ensemble.until('it makes way', () => remedies(wrong).length > 0)
  await allAgree()
  expect(remedies(wrong)).toEqual(['prediction: reload'])
  for (const server of followers) expect(remedies(server)).toEqual([])
  writer = await ensemble.leader.connect()
  await write(4)
  await allAgree()
  expect(remedies(wrong)).toHaveLength(1)
})

test('a leader whose log refutes its only snapshot has no vote until it has a right tree', async () => {
  const { leader: wrong, followers } = ensemble
  writer = await followers[0]!.connect()
  await write()
  corrupt(wrong)
  await keepOnlyWrongSnapshot(wrong)
  writer.askCreate('/last')
  await ensemble.until('it makes way', () => remedies(wrong).length > 0)
  await allAgree()
  expect(wrong.isLeading).toBe(false)
  expect(remedies(wrong)).toEqual(['prediction: reload', 'log: reload'])
  for (const server of followers) expect(remedies(server)).toEqual([])
})

test('a server without which there is no quorum keeps its vote, whatever its log says', async () => {
  const { leader: wrong, followers } = ensemble
  const [down, up] = followers as [TestServer, TestServer]
  down.crash()
  await ensemble.serving(2)
  writer = await up.connect()
  await write()
  corrupt(wrong)
  await keepOnlyWrongSnapshot(wrong)
  writer.askCreate('/last')
  await ensemble.until('it makes way', () => remedies(wrong).length > 0)
  await ensemble.serving(2)
  writer = await up.connect()
  await write()
})

test('a leader that a quorum contradicts makes way, and the second time for another one', async () => {
  const { leader: wrong } = ensemble
  for (const remedy of ['quorum: reload', 'quorum: takeEverything']) {
    expect(wrong.isLeading).toBe(true)
    writer = await ensemble.followers[0]!.connect()
    await write()
    corruptWithPrediction(wrong)
    await write()
    writer.askCreate(`/last before ${remedy}`)
    await ensemble.until('it is outvoted', () => remedies(wrong).includes(remedy))
    await allAgree()
    writer = await ensemble.leader.connect()
    await write(3)
    await allAgree()
  }
  expect(wrong.isLeading).toBe(false)
})

test('a follower whose memory has changed reads its disk before it may lead', async () => {
  const { leader, followers } = ensemble
  const [right, wrong] = followers.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [
    TestServer,
    TestServer,
  ]
  writer = await leader.connect()
  await write(2)
  await ensemble.until('all know', () => wrong.lastZxid === leader.lastZxid)
  corrupt(wrong)
  leader.crash()
  await ensemble.serving(2)
  expect(remedies(wrong)).toEqual(['log: reload'])
  expect(wrong.isLeading).toBe(true)
  expect(wrong.paths).toEqual(right.paths)
})

test('digests that differ for good take nobody away for long', async () => {
  const { leader, followers } = ensemble
  writer = await leader.connect()
  const other = followers[0]!
  const differ = (): void => {
    const { digests } = other.peer!.db
    const check = digests.check.bind(digests)
    digests.check = (zxid, expected) => check(zxid, expected + 1n)
  }
  differ()
  for (let i = 0; i < 12; i++) {
    await write()
    await ensemble.serving(3)
  }
  expect(remedies(other)).toEqual(['leader: reload', 'leader: takeEverything', 'leader: none'])
  expect(other.isServing).toBe(true)
  expect(leader.isLeading).toBe(true)
})
