import { afterEach, beforeEach, expect, test } from 'vitest'
import { digestOf } from '../src/auth/authenticator.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { until } from './support/until.ts'

const headers = {
  Authorization: 'digest user:password',
  'Content-Type': 'application/octet-stream',
}
const settings = {
  'admin.enableServer': 'true',
  'admin.serverPort': '0',
  'admin.rateLimiterIntervalInMS': '0',
  'admin.identities': `digest:${digestOf('user:password')}`,
}

let ensemble: EmbeddedEnsemble

beforeEach(async () => {
  ensemble = await EmbeddedEnsemble.start(settings)
})

afterEach(() => ensemble.dispose())

async function take({ adminAddress }: RunningServer): Promise<Uint8Array> {
  const response = await fetch(`${adminAddress}/commands/snapshot`, { headers })
  return new Uint8Array(await response.arrayBuffer())
}

function restore({ adminAddress }: RunningServer, body: Uint8Array): Promise<Response> {
  return fetch(`${adminAddress}/commands/restore`, { method: 'POST', headers, body })
}

function paths({ peer }: RunningServer): string[] {
  const { tree } = peer.db
  return [...tree.children(tree.find('/'))].map((id) => tree.pathOf(id)).toSorted()
}

const all = (): RunningServer[] => [...ensemble.servers.values()]

test('every server gets what the leader restores, and continues from there', async () => {
  const leader = ensemble.server(ensemble.leader)
  const writer = await ensemble.connect(ensemble.followers[0]!)
  await writer.create('/kept')
  const taken = await take(leader)
  for (let i = 0; i < 20; i++) await writer.create(`/later-${i}`)
  const before = writer.lastZxid

  const response = await restore(leader, taken)
  expect(await response.text()).toContain('"error" : null')
  expect(response.status).toBe(200)
  await until(() => all().every(({ peer }) => peer.isServing))

  for (const server of all()) expect(paths(server)).toEqual(['/kept', '/zookeeper'])
  for (const id of ensemble.ids) {
    // No client is rejected for having seen a later zxid.
    const client = await ensemble.connect(id, { lastZxidSeen: before })
    await client.create(`/by-${id}`)
    await client.close()
  }
  const { lastZxid } = ensemble.server(ensemble.leader).peer
  await until(() => all().every(({ peer }) => peer.lastZxid >= lastZxid))
  expect(new Set(all().map(({ peer }) => peer.db.tree.digest.value)).size).toBe(1)
  for (const { peer } of all()) expect(peer.stats.digestMismatches).toBe(0)
})

test('a restored database survives the restart of all servers, one that was away among them', async () => {
  const away = ensemble.followers[0]!
  const writer = await ensemble.connect(ensemble.leader)
  await writer.create('/kept')
  const taken = await take(ensemble.server(ensemble.leader))
  await writer.create('/later')
  await ensemble.stop(away)
  const response = await restore(ensemble.server(ensemble.leader), taken)
  expect(await response.text()).toContain('"error" : null')
  for (const id of ensemble.servers.keys()) await ensemble.stop(id)
  await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
  await until(() => all().every(({ peer }) => peer.isServing))
  for (const server of all()) expect(paths(server)).toEqual(['/kept', '/zookeeper'])
})

test('a snapshot from an ensemble with more epochs does not lie in the future here', async () => {
  const older = await EmbeddedEnsemble.start(settings)
  try {
    for (let i = 0; i < 3; i++) {
      const leader = older.leader
      await older.stop(leader)
      await until(() => older.leader !== undefined)
      await older.start(leader)
      await until(() => [...older.servers.values()].every(({ peer }) => peer.isServing))
    }
    const writer = await older.connect(older.leader)
    await writer.create('/from-afar')
    const taken = await take(older.server(older.leader))
    let response = await restore(ensemble.server(ensemble.leader), taken)
    if (response.status === 503) {
      // Another server won the election that skipped those epochs.
      await until(() => all().every(({ peer }) => peer.isServing))
      response = await restore(ensemble.server(ensemble.leader), taken)
    }
    expect(await response.text()).toContain(`"last_zxid" : ${writer.lastZxid}`)
    const { lastZxid } = ensemble.server(ensemble.leader).peer
    expect(lastZxid).toBeGreaterThan(writer.lastZxid)
    await until(() => all().every(({ peer }) => peer.isServing))
    for (const server of all()) expect(paths(server)).toContain('/from-afar')
  } finally {
    await older.dispose()
  }
})

test('a follower refuses, names the leader, and continues to serve', async () => {
  const follower = ensemble.server(ensemble.followers[0]!)
  const taken = await take(follower)
  const response = await restore(follower, taken)
  expect(response.status).toBe(503)
  expect(await response.text()).toContain('only the leader can restore')
  expect(follower.peer.isServing).toBe(true)
})
