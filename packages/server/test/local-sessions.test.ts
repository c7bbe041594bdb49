import { afterEach, expect, test } from 'vitest'
import { startServer } from '../src/embedded.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { openAcl, RawClient } from './support/raw-client.ts'

const enabled = {
  localSessionsEnabled: 'true',
  localSessionsUpgradingEnabled: 'true',
  '4lw.commands.whitelist': 'srvr,mntr,dump',
}

let ensemble: EmbeddedEnsemble | undefined
afterEach(async () => {
  await ensemble?.dispose()
  ensemble = undefined
})

test('a session is local until it creates an ephemeral node', async () => {
  ensemble = await EmbeddedEnsemble.start(enabled)
  const [here, there] = ensemble.followers as [number, number]
  const client = await ensemble.connect(here)
  expect(await sessions(here)).toBe('global 0, local 1')
  expect(await sessions(there)).toBe('global 0, local 0')
  expect(sets(await ensemble.ask(here, 'dump'))).toEqual([
    'Local Session Sets (1)/(1):',
    'Global Sessions(0):',
  ])
  await client.create('/a', 'x')
  const session = { sessionId: client.sessionId, password: client.password }
  await expect(ensemble.connect(there, { session })).rejects.toThrow('refused')

  await client.create('/mine', 'y', 1)
  expect(await sessions(here)).toBe('global 1, local 0')
  expect(sets(await ensemble.ask(here, 'dump'))).toEqual([
    'Local Session Sets (0)/(0):',
    'Global Sessions(1):',
  ])
  expect(sets(await ensemble.ask(ensemble.leader, 'dump'))).toEqual([
    'Local Session Sets (0)/(0):',
    'Global Session Sets (1)/(1):',
  ])
  const moved = await ensemble.connect(there, { session, lastZxidSeen: client.lastZxid })
  expect(moved.sessionId).toBe(client.sessionId)
  await moved.close()
  await client.abandon()
})

test('a local session that may not become global gets no ephemeral node', async () => {
  ensemble = await EmbeddedEnsemble.start({ localSessionsEnabled: 'true' })
  for (const id of [ensemble.leader, ensemble.followers[0]!]) {
    const client = await ensemble.connect(id)
    const { err } = await client.call('create', ephemeral)
    expect(err).toBe(-120)
    await client.close()
  }
})

test('a server on its own has no local sessions', async () => {
  const server = await startServer({ config: enabled })
  try {
    const client = await RawClient.connect(server.clientPort)
    expect(server.peer.lastZxid).toBe(1n)
    expect(server.peer.localSessions).toBeUndefined()
    expect((await client.call('create', ephemeral)).err).toBe(0)
    await client.close()
  } finally {
    await server.stop()
  }
})

const ephemeral = { path: '/e', data: null, acl: openAcl, flags: 1 }

async function sessions(id: number): Promise<string> {
  const lines = await ensemble!.ask(id, 'mntr')
  const [global] = /(?<=zk_global_sessions\t)\d+/.exec(lines)!
  const [local] = /(?<=zk_local_sessions\t)\d+/.exec(lines)!
  return `global ${global}, local ${local}`
}

const sets = (dump: string): string[] => dump.match(/^.*Session.*:$/gm)!.filter(isAboutLife)
const isAboutLife = (line: string): boolean => !/dump|Ephemerals/.test(line)
