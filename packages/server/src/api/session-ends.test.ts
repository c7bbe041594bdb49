import { expect, onTestFinished, test } from 'vitest'
import { DescribedApi } from '../../test/support/described-api.ts'
import { EmbeddedEnsemble } from '../../test/support/embedded-ensemble.ts'
import { RawClient } from '../../test/support/raw-client.ts'
import { until } from '../../test/support/until.ts'
import { startServer } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'

const withApi = { 'admin.enableServer': 'true', 'admin.serverPort': '0' }

interface End {
  readonly id: string
  readonly verdict: string
  readonly seen: readonly string[]
  readonly unknown: readonly string[]
  readonly lastHeardMsAgo: number
  readonly heldBy: string | null
  readonly isDecidedHere: boolean
  readonly connections: readonly { readonly end: string | null; readonly address: string }[]
}

async function start(): Promise<RunningServer> {
  const server = await startServer({ config: { ...withApi, tickTime: '200' } })
  onTestFinished(() => server.stop())
  return server
}

const hex = (id: bigint): string => `0x${BigInt.asUintN(64, id).toString(16)}`

async function endOf(server: RunningServer, session: bigint): Promise<End> {
  await until(() => server.peer.sessionEnds.endOf(session) !== undefined)
  const { body } = await new DescribedApi(server).get<{ sessions: readonly End[] }>(
    '/sessions/expired',
    { id: hex(session), closed: true },
  )
  return body.sessions[0]!
}

test('silent clients, broken connections and closed ones get different verdicts', async () => {
  const server = await start()
  const silent = await RawClient.connect(server.clientPort, { timeoutMs: 2000 })
  const broken = await RawClient.connect(server.clientPort, { timeoutMs: 2000 })
  const gone = await RawClient.connect(server.clientPort, { timeoutMs: 2000 })
  const closed = await RawClient.connect(server.clientPort, { timeoutMs: 2000 })
  broken.socket.resetAndDestroy()
  gone.socket.end()
  await closed.call('closeSession', {})
  expect(await endOf(server, silent.sessionId)).toMatchObject({
    verdict: 'silent',
    isDecidedHere: true,
    unknown: [],
    connections: [{ end: null, address: '127.0.0.1' }],
  })
  expect(await endOf(server, broken.sessionId)).toMatchObject({
    verdict: 'disconnected',
    connections: [{ end: 'broken' }],
  })
  expect(await endOf(server, gone.sessionId)).toMatchObject({
    verdict: 'disconnected',
    connections: [{ end: 'client' }],
  })
  expect(await endOf(server, closed.sessionId)).toMatchObject({ verdict: 'closed' })
  const { lastHeardMsAgo } = await endOf(server, silent.sessionId)
  expect(lastHeardMsAgo).toBeGreaterThanOrEqual(2000)
  const metrics = await (await fetch(`${server.adminAddress}/commands/monitor`)).json()
  expect(metrics).toMatchObject({
    silent_sessions_expired_by_verdict: 1,
    disconnected_sessions_expired_by_verdict: 2,
  })
  const command = await fetch(`${server.adminAddress}/commands/expired_sessions`)
  const { expired_sessions: told } = (await command.json()) as {
    expired_sessions: readonly { session_id: string; verdict: string }[]
  }
  expect(told).toHaveLength(3)
})

test('a server that stalled says so', async () => {
  const server = await start()
  const client = await RawClient.connect(server.clientPort, { timeoutMs: 600 })
  const end = performance.now() + 1000
  while (performance.now() < end);
  const ended = await endOf(server, client.sessionId)
  expect(ended.verdict).toBe('stalled')
  expect(ended.seen[0]).toMatch(/^This server stood still for/)
})

test('in an ensemble the leader knows the server of a client, and that server knows its connections', async () => {
  const ensemble = await EmbeddedEnsemble.start({ ...withApi, tickTime: '100', syncLimit: '20' })
  onTestFinished(() => ensemble.dispose())
  const servers = [...ensemble.servers.values()]
  const leader = servers.find(({ ensembleState }) => ensembleState === 'leading')!
  const follower = servers.find(({ ensembleState }) => ensembleState === 'following')!
  const client = await RawClient.connect(follower.clientPort, { timeoutMs: 800 })
  client.socket.resetAndDestroy()
  expect(await endOf(follower, client.sessionId)).toMatchObject({
    verdict: 'disconnected',
    isDecidedHere: false,
    unknown: ['when the leader last heard of it: ask the leader'],
    connections: [{ end: 'broken' }],
  })
  expect(await endOf(leader, client.sessionId)).toMatchObject({
    isDecidedHere: true,
    heldBy: String(follower.config.ensemble?.serverId),
    connections: [],
  })
})
