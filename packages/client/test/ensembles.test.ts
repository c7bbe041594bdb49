import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { EmbeddedEnsemble } from '../../server/test/support/embedded-ensemble.ts'
import { Client, type ClientOptions } from '../src/index.ts'
import { nextState, textOf } from './support/fixture.ts'

let ensemble: EmbeddedEnsemble
beforeAll(async () => {
  ensemble = await EmbeddedEnsemble.start({ tickTime: '200', 'readonlymode.enabled': 'true' })
})
afterAll(() => ensemble.dispose())

async function open(ids: readonly number[], options: Partial<ClientOptions> = {}): Promise<Client> {
  const servers = ensemble.connectString(...ids)
  const client = new Client({ servers, sessionTimeoutMs: 4000, ...options })
  onTestFinished(() => client.close())
  await client.connected()
  return client
}

test('a client moves with its session when its server stops', async () => {
  const client = await open([1, 2, 3])
  await client.create('/moving', 'x', { ephemeral: true })
  const { state } = client
  const id = state.name === 'connected' ? ensemble.idAt(state.server) : 0
  const resumed = nextState(client, 'connected')
  await ensemble.stop(id)
  const { server, resumed: isResumed } = await resumed
  expect(isResumed).toBe(true)
  expect(ensemble.idAt(server)).not.toBe(id)
  expect((await client.exists('/moving'))?.ephemeralOwner).toBe(client.session?.id)
  await ensemble.start(id)
})

test('a linearizable read shows earlier writes of other clients', async () => {
  const [writer, reader] = await Promise.all([open([1]), open([2])])
  await writer.create('/fresh', '')
  await reader.sync()
  for (let i = 0; i < 50; i++) {
    await writer.set('/fresh', `${i}`)
    const { data } = await reader.get('/fresh', { consistency: 'linearizable' })
    expect(textOf(data)).toBe(`${i}`)
  }
})

test('a read-only client uses a server without a quorum, and leaves it for one with a quorum', async () => {
  const client = await open([1], { readOnly: true, sessionTimeoutMs: 2000 })
  await client.create('/read-only', 'x')
  await Promise.all([ensemble.stop(2), ensemble.stop(3)])
  await expect
    .poll(() => client.state.name === 'connected' && client.state.readOnly, { timeout: 15_000 })
    .toBe(true)
  expect(textOf((await client.get('/read-only')).data)).toBe('x')
  await expect(client.set('/read-only', 'y')).rejects.toMatchObject({ reason: 'notReadOnly' })
  await Promise.all([ensemble.start(2), ensemble.start(3)])
  await expect
    .poll(() => client.state.name === 'connected' && !client.state.readOnly, { timeout: 15_000 })
    .toBe(true)
  await client.set('/read-only', 'y')
})

test('members are changed, and a change based on an old configuration is refused', async () => {
  await using changing = await EmbeddedEnsemble.start({
    tickTime: '200',
    reconfigEnabled: 'true',
    skipACL: 'yes',
  })
  const client = new Client({ servers: changing.connectString(2, 3) })
  onTestFinished(() => client.close())
  const before = await client.getConfig()
  const lines = textOf(before.data).split('\n')
  // With equal histories the last one leads: the first can leave unnoticed.
  const line = lines.find((each) => each.startsWith('server.1='))!
  const first = `${line};${changing.connectString(1)}`
  const told = new Promise<void>((resolve) => {
    void client.getConfig({ watch: () => resolve() })
  })

  const left = await client.reconfig({ leaving: ['1'] })
  expect(textOf(left.data)).not.toContain('server.1=')
  await told
  const version = /^version=([0-9a-f]+)$/m.exec(textOf(left.data))?.[1]
  const stale = client.reconfig({ joining: first, ifVersion: 1n })
  await expect(stale).rejects.toMatchObject({ reason: 'badVersion' })
  const joined = await client.reconfig({ joining: first, ifVersion: BigInt(`0x${version}`) })
  expect(textOf(joined.data)).toContain(first)
})
