import { expect, onTestFinished, test } from 'vitest'
import { startServer, type RunningServer } from '../src/index.ts'
import { RawClient } from './support/raw-client.ts'

async function start(config: Record<string, string>): Promise<RunningServer> {
  const server = await startServer({ config })
  onTestFinished(() => server.stop())
  return server
}

test('connections beyond connection_throttle_tokens are closed', async () => {
  const server = await start({
    connection_throttle_tokens: '2',
    connection_throttle_fill_time: '3600000',
  })
  const first = await RawClient.connect(server.clientPort)
  await RawClient.connect(server.clientPort)
  await expect(RawClient.connect(server.clientPort)).rejects.toThrow()
  expect(server.peer.stats.connectionsRejected).toBe(1)
  await first.create('/still-served')
})

test('with weights, a bucket is for so many global sessions, and resuming one costs less', async () => {
  const server = await start({
    connection_throttle_tokens: '2',
    connection_throttle_fill_time: '3600000',
    connection_throttle_weight_enabled: 'true',
  })
  const first = await RawClient.connect(server.clientPort)
  await first.abandon()
  // Three of six tokens are left: enough for a reconnect, but not for a new session after it.
  await RawClient.connect(server.clientPort, { session: first })
  await expect(RawClient.connect(server.clientPort)).rejects.toThrow()
})

test('a request beyond largeRequestMaxBytes costs its connection', async () => {
  const server = await start({ largeRequestThreshold: '1000', largeRequestMaxBytes: '5000' })
  const client = await RawClient.connect(server.clientPort)
  await client.create('/fits', Buffer.alloc(4000))
  await expect(client.create('/too-large', Buffer.alloc(6000))).rejects.toThrow()
  expect(server.peer.stats.largeRequestsRejected).toBe(1)
})
