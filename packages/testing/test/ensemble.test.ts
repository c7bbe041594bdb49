/** The faults of an ensemble, in the order of docs/testing.md. */
import { existsSync } from 'node:fs'
import { connect, SessionExpiredError, type Client } from '@zabra/client'
import { expect, onTestFinished, test } from 'vitest'
import { nextState, startEnsemble, until, untilState, type Ensemble } from '../src/index.ts'

async function start(options: Parameters<typeof startEnsemble>[0] = {}): Promise<Ensemble> {
  const ensemble = await startEnsemble(options)
  onTestFinished(() => ensemble.stop({ kill: true }))
  return ensemble
}

async function open(servers: string, sessionTimeoutMs = 10_000): Promise<Client> {
  const client = await connect(servers, { sessionTimeoutMs })
  onTestFinished(() => client.close())
  return client
}

test('a single server serves, keeps its data over kill and restart, and goes without a trace', async () => {
  const ensemble = await start({ servers: 1 })
  const [server] = ensemble.servers
  const client = await open(ensemble.connectString)
  await client.create('/kept', 'x')
  expect(await ensemble.leader()).toBe(server)
  await server!.kill()
  expect(server!.state).toBe('stopped')
  await untilState(client, 'suspended')
  await server!.start()
  expect(await client.get('/kept')).toMatchObject({ stat: { version: 0 } })
  await client.close()
  await ensemble.stop()
  expect(existsSync(server!.directory)).toBe(false)
})

test('when the leader is killed another leads, and the session goes on', async () => {
  const ensemble = await start()
  const client = await open(ensemble.connectString)
  await client.create('/ephemeral', '', { ephemeral: true })
  const leader = await ensemble.leader()
  await leader.kill()
  const next = await ensemble.leader()
  expect(next).not.toBe(leader)
  expect(await client.exists('/ephemeral')).toBeDefined()
  await leader.start()
  await ensemble.untilServing()
  expect(leader.role).toBe('follower')
  expect((await ensemble.followers()).length).toBe(2)
})

test('a leader that stands still is replaced, and follows when it goes on', async () => {
  const ensemble = await start()
  const old = await ensemble.leader()
  await old.pause()
  expect([old.state, old.role, old.isServing]).toEqual(['paused', undefined, false])
  const next = await ensemble.leader()
  expect(next).not.toBe(old)
  await old.resume()
  await until(() => old.role === 'follower')
})

test('a server that stands still keeps its connections and answers nothing until it goes on', async () => {
  const ensemble = await start({ servers: 1 })
  const client = await open(ensemble.connectString, 60_000)
  await ensemble.server(1).pause()
  const write = client.create('/late', '')
  let isAnswered = false
  void write.then(() => (isAnswered = true))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect([isAnswered, client.state.name]).toEqual([false, 'connected'])
  await ensemble.server(1).resume()
  await write
})

test('a pause with an end goes on by itself', async () => {
  const ensemble = await start({ servers: 1 })
  await ensemble.server(1).pause({ forMs: 50 })
  const client = await open(ensemble.connectString)
  await client.create('/after', '')
})

test('a leader that is cut off from the others is replaced; healed, all are one again', async () => {
  const ensemble = await start()
  const old = await ensemble.leader()
  const others = ensemble.servers.filter((server) => server !== old)
  ensemble.partition([old], others)
  await until(() => others.some(({ role, isServing }) => role === 'leader' && isServing))
  const client = await open(others.map((server) => server.connectString).join(','))
  await client.create('/by-the-majority', '')
  await until(() => !old.isServing)
  await ensemble.heal()
  const atOld = await open(old.connectString)
  await atOld.sync('/')
  expect(await atOld.exists('/by-the-majority')).toBeDefined()
})

test('what is held in one direction still comes in the other', async () => {
  const ensemble = await start()
  const leader = await ensemble.leader()
  const [follower] = await ensemble.followers()
  // It receives nothing, and leaves its leader.
  ensemble.hold({ from: [leader], to: [follower!] })
  await until(() => !follower!.isServing)
  expect(await ensemble.leader()).toBe(leader)
  await ensemble.heal()
  expect(follower!.role).toBe('follower')
})

test('a client link can be on one side of a partition, while other clients reach everybody', async () => {
  const ensemble = await start()
  const link = await ensemble.clientLink()
  const lonely = await open(link.connectString, 4000)
  const other = await open(ensemble.connectString)
  ensemble.partition([link])
  const [state] = await Promise.all([nextState(lonely, 'expired'), other.create('/other', '')])
  expect(state.name).toBe('expired')
  await ensemble.heal()
  await lonely.connected()
  expect(await lonely.exists('/other')).toBeDefined()
})

test('a session is ended by its client, or by its id for clients of others', async () => {
  const ensemble = await start()
  const client = await open(ensemble.connectString)
  await client.create('/gone', '', { ephemeral: true })
  await ensemble.expire(client)
  const witness = await open(ensemble.connectString)
  expect(await witness.exists('/gone')).toBeUndefined()
  await client.connected()
  const { id } = client.session!
  const expired = nextState(client, 'expired')
  await ensemble.expire(id)
  expect((await expired).session.id).toBe(id)
})

test('calls of a client whose session ends fail with what happened', async () => {
  const ensemble = await start({ servers: 1 })
  const client = await connect(ensemble.connectString, { onExpiry: 'end' })
  onTestFinished(() => client.close())
  await ensemble.expire(client)
  await expect(client.get('/')).rejects.toThrow(SessionExpiredError)
})

test('a server that lost its disk gets everything back from its leader', async () => {
  const ensemble = await start()
  const client = await open(ensemble.connectString)
  await client.create('/kept', '')
  const [follower] = await ensemble.followers()
  expect(() => follower!.loseDisk()).toThrow('server')
  await follower!.stop()
  follower!.loseDisk()
  await follower!.start()
  await until(() => follower!.isServing)
  const atFollower = await open(follower!.connectString)
  expect(await atFollower.exists('/kept')).toBeDefined()
})

test('a slow server answers late, and a slow network too', async () => {
  const ensemble = await start({ servers: 1 })
  const client = await open(ensemble.connectString)
  ensemble.server(1).slow(60)
  const before = performance.now()
  await client.exists('/')
  expect(performance.now() - before).toBeGreaterThan(110)
  await ensemble.heal()
  ensemble.slow(60)
  const again = performance.now()
  await client.exists('/')
  expect(performance.now() - again).toBeGreaterThan(110)
})

test('a stopped server refuses connections, and clients find another', async () => {
  const ensemble = await start()
  const client = await open(ensemble.connectString)
  const server = ensemble.serverAt((client.state as { server: string }).server)!
  await server.stop()
  await client.sync('/')
  expect(ensemble.serverAt((client.state as { server: string }).server)).not.toBe(server)
  await expect(
    connect(server.connectString, { timeoutMs: 300, connectTimeoutMs: 300 }),
  ).rejects.toThrow('ECONNREFUSED')
})

test('observers follow and do not vote', async () => {
  const ensemble = await start({ servers: 3, observers: 1 })
  expect(ensemble.server(4).role).toBe('observer')
  await ensemble.server(1).kill()
  await ensemble.server(2).kill()
  // One of three voters is left.
  await until(() => !ensemble.server(4).isServing)
})

test('settings that do not exist are refused when it starts', async () => {
  const config = { tickTime: 'soon' }
  await expect(startEnsemble({ servers: 1, config })).rejects.toThrow(
    /server 1 does not start: .*expected a whole number, got "soon"/,
  )
  await expect(startEnsemble({ servers: 0 })).rejects.toThrow('servers is 1 or more')
  const members = { reconfigEnabled: 'true' }
  await expect(startEnsemble({ config: members })).rejects.toThrow('cannot have reconfigEnabled')
  const typo = { server: 3 } as object
  await expect(startEnsemble(typo)).rejects.toThrow('no option server; did you mean servers?')
})

test('a wait that takes too long says how the servers are', async () => {
  const ensemble = await start()
  await ensemble.server(1).stop()
  await ensemble.server(2).stop()
  await expect(ensemble.leader({ timeoutMs: 50 })).rejects.toThrow(
    /not within 50 ms: a server leads; server 1 is stopped, server 2 is stopped, server 3 is/,
  )
})
