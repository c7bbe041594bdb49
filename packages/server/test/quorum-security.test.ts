import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  encode,
  encodeInitialMessage,
  encodePacket,
  errorCodes,
  LearnerInfo,
  packetTypes,
} from '@zabra/protocol'
import { Authority } from './support/certificates.ts'
import { freePorts } from './support/free-ports.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { ConnectionLostError, RawClient } from './support/raw-client.ts'
import { until } from './support/until.ts'

let authority: Authority
let ensemble: EmbeddedEnsemble | undefined

beforeAll(() => {
  authority = new Authority()
  authority.issueFile('server')
  authority.write('users', '# servers\nzk=pass=word\n')
  authority.write('other-users', 'zk=wrong\n')
})
afterEach(async () => {
  await ensemble?.dispose()
  ensemble = undefined
})
afterAll(() => authority.dispose())

const tls = (): Record<string, string> => authority.settings('ssl.quorum.')
const sasl = (users = 'users'): Record<string, string> => ({
  'quorum.auth.enableSasl': 'true',
  'quorum.auth.learnerRequireSasl': 'true',
  'quorum.auth.serverRequireSasl': 'true',
  'quorum.auth.usersFile': authority.path(users),
})

/** Every server serves what was written through every other one. */
async function expectWorking({ ids, servers }: EmbeddedEnsemble, prefix: string): Promise<void> {
  for (const id of ids) {
    const writer = await RawClient.connect(servers.get(id)!.clientPort)
    await writer.create(`/${prefix}-${id}`)
    await writer.close()
    for (const server of servers.values()) {
      const reader = await RawClient.connect(server.clientPort)
      await reader.must('sync', { path: '/' })
      await reader.must('exists', { path: `/${prefix}-${id}`, watch: false })
      await reader.close()
    }
  }
}

test.each([
  ['TLS', () => ({ ...tls(), sslQuorum: 'true' })],
  ['TLS 1.2', () => ({ ...tls(), sslQuorum: 'true', 'ssl.quorum.enabledProtocols': 'TLSv1.2' })],
  ['SASL', () => sasl()],
  [
    'TLS and SASL on ports for both',
    () => ({ ...tls(), ...sasl(), sslQuorum: 'true', portUnification: 'true' }),
  ],
])('servers speak %s, an observer among them, and replace a leader', async (_, settings) => {
  ensemble = await EmbeddedEnsemble.start(settings(), { withObserver: true })
  await expectWorking(ensemble, 'first')
  const { leader } = ensemble
  await ensemble.stop(leader)
  await until(() => [...ensemble!.servers.values()].every(({ peer }) => peer.isServing))
  await ensemble.start(leader)
  await until(() => ensemble!.server(leader).peer.isServing)
  await expectWorking(ensemble, 'second')
})

test('a server without TLS reaches nothing on ports that insist on it', async () => {
  ensemble = await EmbeddedEnsemble.start({ ...tls(), sslQuorum: 'true' })
  const ports = [...ensemble.server(1).config.ensemble!.servers.values()].map(
    ({ addresses }) => addresses[0]!,
  )
  for (const { electionPort } of ports) {
    const socket = connect(electionPort, '127.0.0.1', () => socket.write(Buffer.alloc(64)))
    socket.on('error', () => {})
    const said: Buffer[] = []
    socket.on('data', (bytes) => said.push(bytes))
    await new Promise((resolve) => socket.once('close', resolve))
    // At most a TLS alert.
    expect(Buffer.concat(said).subarray(0, 1).toString('hex')).toMatch(/^(15)?$/)
  }
})

test.each([
  [
    'of another authority',
    () => {
      const other = new Authority('Other CA', authority.path('other'))
      other.issueFile('server')
      return { 'ssl.quorum.keyStore.location': other.path('server.pem') }
    },
  ],
  [
    'for another host',
    () => ({
      'ssl.quorum.keyStore.location': authority.issueFile('elsewhere', { hosts: ['zk9.example'] }),
    }),
  ],
  [
    'without a password',
    () => ({
      'quorum.auth.enableSasl': 'false',
      'quorum.auth.learnerRequireSasl': 'false',
      'quorum.auth.serverRequireSasl': 'false',
    }),
  ],
  ['with a wrong password', () => ({ 'quorum.auth.usersFile': authority.path('other-users') })],
])('a server %s does not join', async (_, settings) => {
  ensemble = await EmbeddedEnsemble.start({ ...tls(), ...sasl(), sslQuorum: 'true' })
  const [stranger] = ensemble.followers
  await ensemble.stop(stranger!)
  await ensemble.start(stranger!, settings())
  const client = await RawClient.connect(ensemble.server(ensemble.leader).clientPort)
  // The others keep working in the meantime.
  for (let i = 0; i < 20; i++) {
    await client.create(`/n${i}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  expect(ensemble.server(stranger!).peer.isServing).toBe(false)
  await client.close()
  await ensemble.stop(stranger!)
  await ensemble.start(stranger!)
  await until(() => ensemble!.server(stranger!).peer.isServing)
})

test('a certificate speaks for its own member alone, on the quorum and on the election port', async () => {
  const ids = [1, 2, 3]
  const ports = await freePorts(6)
  const hostOf = (id: number): string => `127.0.0.${id + 10}`
  const members = ids.map((id) => [
    `server.${id}`,
    `${hostOf(id)}:${ports[2 * id - 2]}:${ports[2 * id - 1]}`,
  ])
  const identities = ids.map((id) => authority.issue(`member-${id}`, { hosts: [hostOf(id)] }))
  const certificate = (id: number): Record<string, string> => ({
    'ssl.quorum.keyStore.location': authority.write(
      `member-${id}.pem`,
      authority.pemOf(identities[id - 1]!),
    ),
  })
  ensemble = await EmbeddedEnsemble.start(
    { ...tls(), sslQuorum: 'true', ...Object.fromEntries(members) },
    { settingsOf: certificate },
  )
  const { leader } = ensemble
  const [own, other] = ensemble.followers
  const quorumPort = ports[2 * leader - 2]!
  const electionPort = ports[2 * leader - 1]!
  /**
   * The first bytes of the answer to a connection with the certificate of `own`; empty if it is
   * closed.
   */
  const answerTo = (port: number, bytes: Uint8Array): Promise<Buffer> =>
    new Promise((resolve) => {
      const options = { ...authority.client(identities[own! - 1]), host: hostOf(leader), port }
      const socket = connectTls(options, () => socket.write(bytes))
      socket.on('error', () => {})
      socket.once('data', (data: Buffer) => {
        resolve(data)
        socket.destroy()
      })
      socket.once('close', () => resolve(Buffer.alloc(0)))
    })
  const helloFrom = (id: number): Uint8Array =>
    encodePacket(
      'observerInfo',
      0n,
      encode(LearnerInfo, { serverId: BigInt(id), protocolVersion: 0x10000, configVersion: 0n }),
    )
  expect(await answerTo(quorumPort, helloFrom(other!))).toHaveLength(0)
  expect((await answerTo(quorumPort, helloFrom(own!))).readInt32BE(0)).toBe(packetTypes.leaderInfo)
  const introductionOf = (id: number): Uint8Array =>
    encodeInitialMessage({ serverId: BigInt(id), addresses: [`${hostOf(id)}:1`] })
  expect(await answerTo(electionPort, introductionOf(other!))).toHaveLength(0)
  await expectWorking(ensemble, 'after')
})

/**
 * Writes one node after the other, through any server that serves, and records acknowledged ones.
 */
class Load {
  readonly acknowledged: string[] = []
  private readonly target: EmbeddedEnsemble
  private readonly name: string
  private isOver = false
  private readonly running: Promise<void>

  constructor(target: EmbeddedEnsemble, name: string) {
    this.target = target
    this.name = name
    this.running = this.run()
  }

  async stop(): Promise<string[]> {
    this.isOver = true
    await this.running
    return this.acknowledged
  }

  private async run(): Promise<void> {
    for (let i = 0; !this.isOver;) {
      const serving = [...this.target.servers.values()].filter(({ peer }) => peer.isServing)
      const server = serving[i % Math.max(1, serving.length)]
      if (server === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        continue
      }
      try {
        const client = await RawClient.connect(server.clientPort, { patienceMs: 2000 })
        while (!this.isOver) {
          const path = `/${this.name}-${i++}`
          const { err } = await client.call('create2', {
            path,
            data: null,
            acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
            flags: 0,
          })
          if (err === errorCodes.ok) this.acknowledged.push(path)
        }
        await client.close()
      } catch (error) {
        if (!(error instanceof ConnectionLostError) && !/ECONN/.test(String(error))) throw error
      }
    }
  }
}

test('an ensemble moves from plain to TLS and back by restarts of one server at a time, under load', async () => {
  ensemble = await EmbeddedEnsemble.start({})
  const load = new Load(ensemble, 'move')
  const steps: Record<string, string>[] = [
    { ...tls(), portUnification: 'true' },
    { ...tls(), portUnification: 'true', sslQuorum: 'true' },
    { ...tls(), sslQuorum: 'true' },
    { ...tls(), portUnification: 'true', sslQuorum: 'true' },
    { ...tls(), portUnification: 'true' },
    {},
  ]
  for (const step of steps) await rollOver(ensemble, step)
  const acknowledged = await load.stop()
  expect(acknowledged.length).toBeGreaterThan(20)
  await expectAll(ensemble, acknowledged)
}, 90_000)

test('the authority changes under load: both are trusted, then the certificates change, without a restart', async () => {
  const old = new Authority('Old CA', authority.path('old'))
  const next = new Authority('Next CA', authority.path('next'))
  const both = `${old.pem}${next.pem}`
  const keyStore = authority.path('rolling-server.pem')
  const trustStore = authority.path('rolling-ca.pem')
  authority.write('rolling-server.pem', old.pemOf(old.issue('server')))
  authority.write('rolling-ca.pem', old.pem)
  ensemble = await EmbeddedEnsemble.start({
    sslQuorum: 'true',
    'ssl.quorum.keyStore.location': keyStore,
    'ssl.quorum.trustStore.location': trustStore,
  })
  const load = new Load(ensemble, 'authority')
  const { servers } = ensemble
  const settled = async (reloads: number): Promise<void> =>
    until(() =>
      [...servers.values()].every(({ tlsContexts }) => tlsContexts[0]!.reloads >= reloads),
    )
  authority.write('rolling-ca.pem', both)
  await settled(1)
  authority.write('rolling-server.pem', next.pemOf(next.issue('server')))
  await settled(2)
  authority.write('rolling-ca.pem', next.pem)
  await settled(3)
  // New connections, all of them with the new certificates.
  await ensemble.stop(ensemble.leader)
  await until(() => [...servers.values()].every(({ peer }) => peer.isServing))
  const missing = ensemble.ids.find((id) => !servers.has(id))!
  await ensemble.start(missing)
  await until(() => servers.get(missing)!.peer.isServing)
  await expectAll(ensemble, await load.stop())
}, 60_000)

async function rollOver(target: EmbeddedEnsemble, settings: Record<string, string>): Promise<void> {
  for (const id of target.ids) {
    await target.stop(id)
    await target.start(id, settings)
    await until(() => [...target.servers.values()].every(({ peer }) => peer.isServing))
  }
}

async function expectAll({ servers }: EmbeddedEnsemble, paths: readonly string[]): Promise<void> {
  for (const { clientPort } of servers.values()) {
    const client = await RawClient.connect(clientPort)
    await client.must('sync', { path: '/' })
    const { children } = await client.must('getChildren', { path: '/', watch: false })
    const there = new Set(children)
    expect(paths.filter((path) => !there.has(path.slice(1)))).toEqual([])
    await client.close()
  }
}
