import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { digestOf } from '../src/auth/authenticator.ts'
import { startServer } from '../src/embedded.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { Authority } from './support/certificates.ts'
import { freePorts } from './support/free-ports.ts'
import { RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

test.each([
  ['plain', () => ({})],
  ['TLS', secured],
])(
  'over %s an observer goes to the follower, and its clients read, write and keep their sessions',
  async (_, settings) => {
    const folder = mkdtempSync(join(tmpdir(), 'zabra-observers-'))
    const security = settings(folder)
    const ports = await freePorts(7)
    // Two voters, hence one follower, and one port for observers on this address.
    const lines = [1, 2, 3].map((id) => [
      `server.${id}`,
      `127.0.0.1:${ports[2 * id - 2]}:${ports[2 * id - 1]}:${id < 3 ? 'participant' : 'observer'}`,
    ])
    const said: string[] = []
    const servers: RunningServer[] = []
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(folder, { recursive: true, force: true })
    })
    for (const id of [1, 2, 3]) {
      const config = {
        ...Object.fromEntries(lines),
        ...security,
        observerMasterPort: String(ports[6]),
        myid: String(id),
        dataDir: join(folder, String(id)),
        initLimit: '10',
        syncLimit: '5',
        tickTime: '400',
        'admin.enableServer': 'true',
        'admin.serverPort': '0',
        'admin.identities': `digest:${digestOf('user:password')}`,
        preAllocSize: '64',
      }
      const say = (text: string): void => void (id === 3 && said.push(text))
      servers.push(await startServer({ config, logger: { info: say, warn: say, error: say } }))
    }
    await until(() => servers.every(({ peer }) => peer.isServing))
    const follower = servers.findIndex(({ ensembleState }) => ensembleState === 'following') + 1
    expect(said.at(-1)).toBe(`zab: following leader=${follower} epoch=1`)
    const [observer] = servers.filter(({ ensembleState }) => ensembleState === 'observing')
    const client = await RawClient.connect(observer!.clientPort, { timeoutMs: 2000 })
    await client.create('/mine', 'x', 1)
    await expectServed(servers, follower, 3)
    const other = await RawClient.connect(servers[0]!.clientPort)
    const { stat } = await other.must('exists', { path: '/mine', watch: true })
    expect(stat.ephemeralOwner).toBe(client.sessionId)
    await other.create('/theirs', 'y')
    await client.must('sync', { path: '/' })
    await client.must('exists', { path: '/theirs', watch: false })
    await client.close()
    expect(await other.nextEvent()).toMatchObject({ type: 2, path: '/mine' })
    await other.close()
  },
)

/** Monitoring shows the observer at its follower, and not at the leader. */
async function expectServed(
  servers: readonly RunningServer[],
  follower: number,
  observer: number,
): Promise<void> {
  const leader = 3 - follower
  const command = async (id: number, name: string): Promise<unknown> => {
    const { adminAddress } = servers[id - 1]!
    const headers = { Authorization: 'digest user:password' }
    return (await fetch(`${adminAddress}/commands/${name}`, { headers })).json()
  }
  // A session and a znode.
  const served = { synced_observers: 1, observers: [{ sid: observer, requests: 2 }] }
  expect(await command(follower, 'observers')).toMatchObject(served)
  expect(await command(leader, 'observers')).toMatchObject({ synced_observers: 0, observers: [] })
  expect(await command(follower, 'monitor')).toMatchObject({ synced_observers: 1 })
  expect(await command(leader, 'monitor')).toMatchObject({ synced_observers: 0 })
  expect(await command(observer, 'monitor')).toMatchObject({ observer_master_id: follower })
  expect(await command(observer, 'leader')).toMatchObject({ leader_id: leader })
  await command(follower, 'observer_connection_stat_reset')
  expect(await command(follower, 'observers')).toMatchObject({ observers: [{ requests: 0 }] })
}

function secured(folder: string): Record<string, string> {
  const authority = new Authority('Test CA', join(folder, 'tls'))
  authority.issueFile('server')
  return { ...authority.settings('ssl.quorum.'), sslQuorum: 'true' }
}
