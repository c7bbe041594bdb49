import { expect, onTestFinished, test } from 'vitest'
import {
  Client,
  ClosedError,
  connect,
  ConnectionLossError,
  SessionExpiredError,
} from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'
import { Proxy } from './support/proxy.ts'

const fixture = useServer()

test('connect resolves to a connected client, and disposing of it ends its session', async () => {
  const watcher = await fixture.open()
  {
    await using client = await connect(fixture.connectString, { sessionTimeoutMs: 1000 })
    expect(client.state).toMatchObject({ name: 'connected', resumed: false, readOnly: false })
    expect(client.session?.timeoutMs).toBe(1000)
    await client.create('/mine', '', { ephemeral: true })
  }
  expect(await watcher.exists('/mine')).toBeUndefined()
})

test('calls made before there is a connection wait for it', async () => {
  const client = new Client({ servers: fixture.connectString })
  expect(client.state.name).toBe('connecting')
  await client.create('/early')
  await client.close()
})

test('a closed client refuses calls, and closing it twice does no harm', async () => {
  const client = await fixture.open()
  const pending = client.create('/before-close')
  await Promise.all([client.close(), client.close()])
  expect((await pending).path).toBe('/before-close')
  expect(client.state.name).toBe('closed')
  await expect(client.get('/')).rejects.toBeInstanceOf(ClosedError)
  await expect(client.connected()).rejects.toBeInstanceOf(ClosedError)
})

test('a suspended client ends its session on the next connection', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await fixture.open()
  await client.create('/let-go', '', { ephemeral: true })
  const suspended = nextState(client, 'suspended')
  proxy.drop()
  await suspended
  await client.close()
  expect(await other.exists('/let-go', { consistency: 'linearizable' })).toBeUndefined()
})

test('a lost connection suspends the session, and the next one resumes it', async () => {
  const { client, proxy } = await fixture.openProxied()
  const { id } = client.session!
  await client.create('/kept', '', { ephemeral: true })
  const suspended = nextState(client, 'suspended')
  const resumed = nextState(client, 'connected')
  proxy.drop()
  const { expiresAtMs, session } = await suspended
  expect(session.id).toBe(id)
  expect(expiresAtMs).toBeGreaterThan(client.nowMs())
  expect(await resumed).toMatchObject({ resumed: true, session: { id } })
  expect((await client.exists('/kept'))?.ephemeralOwner).toBe(id)
})

test('a pending read is repeated after a lost connection, a write is not', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.create('/lost')
  proxy.mute()
  const read = client.get('/lost')
  const write = client.set('/lost', 'x')
  const unhappy = write.catch((reason: unknown) => reason)
  await nextTurns()
  const suspended = nextState(client, 'suspended')
  proxy.drop()
  await suspended
  proxy.heal()
  const error = await unhappy
  expect(error).toBeInstanceOf(ConnectionLossError)
  expect(error).toMatchObject({ mayHaveHappened: true, path: '/lost', retriable: false })
  expect((await read).stat).toBeDefined()
  const { stat } = await client.get('/lost', { consistency: 'session' })
  expect(stat.version).toBe(1)
})

test('calls made while suspended wait, and are executed in order', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.create('/waiting')
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const calls = [client.set('/waiting', '1'), client.set('/waiting', '2')]
  proxy.heal()
  expect((await Promise.all(calls)).map(({ version }) => version)).toEqual([1, 2])
})

test('a client that is cut off knows when its session has expired, and makes another one', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 400 })
  const { id } = client.session!
  const suspended = nextState(client, 'suspended')
  const expired = nextState(client, 'expired')
  proxy.cut()
  const { expiresAtMs } = await suspended
  const call = client.get('/').catch((reason: unknown) => reason)
  await expired
  expect(client.nowMs()).toBeGreaterThanOrEqual(expiresAtMs)
  expect(await call).toBeInstanceOf(SessionExpiredError)
  proxy.heal()
  await client.connected()
  expect(client.state).toMatchObject({ resumed: false })
  expect(client.session?.id).not.toBe(id)
  await client.get('/')
})

test('a listener of the expiry may close the client', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 300 })
  const closed = new Promise<void>((resolve, reject) => {
    client.onState(({ name }) => {
      if (name === 'expired') client.close().then(resolve, reject)
    })
  })
  proxy.cut()
  await closed
  expect(client.state.name).toBe('closed')
})

test('identities survive the end of a session', async () => {
  const client = await fixture.open({
    session: { id: 12345n, password: new Uint8Array(16) },
    auth: [{ scheme: 'digest', credentials: 'eve:pw' }],
  })
  expect(client.state).toMatchObject({ resumed: false })
  expect(await client.whoAmI()).toContainEqual({ scheme: 'digest', user: 'eve' })
})

test('with `end`, expiry closes the client', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 400, onExpiry: 'end' })
  const names: string[] = []
  client.onState(({ name }) => names.push(name))
  const closed = nextState(client, 'closed')
  proxy.cut()
  await closed
  expect(names).toEqual(['suspended', 'expired', 'closed'])
  await expect(client.get('/')).rejects.toBeInstanceOf(SessionExpiredError)
})

test('an idle session is kept alive by heartbeats', async () => {
  const client = await fixture.open({ sessionTimeoutMs: 2000 })
  const states: string[] = []
  client.onState(({ name }) => states.push(name))
  const expiry = client.aliveUntilMs
  const { id } = client.session!
  await new Promise((resolve) => setTimeout(resolve, expiry - client.nowMs() + 1))
  await client.get('/')
  expect(client.session?.id).toBe(id)
  // Without them the client would have left its server after two thirds of the timeout.
  expect(states).toEqual([])
})

test('a session is taken over by its id and password', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.create('/handed-on', '', { ephemeral: true })
  const { id, password } = client.session!
  const { lastZxid } = client
  proxy.cut()
  const heir = await fixture.open({ session: { id, password, lastZxid } })
  expect(heir.state).toMatchObject({ resumed: true, session: { id } })
  expect((await heir.exists('/handed-on'))?.ephemeralOwner).toBe(id)
})

test('connecting that is given up does not end the session that it was to take over', async () => {
  const first = await fixture.open({ sessionTimeoutMs: 8000 })
  const session = (await first.detach())!
  const proxy = await Proxy.start(fixture.port)
  onTestFinished(() => proxy.stop())
  proxy.cut()
  const given = new AbortController()
  const servers = proxy.connectString
  const connecting = connect(servers, { session, signal: given.signal, sessionTimeoutMs: 8000 })
  given.abort(new Error('enough'))
  proxy.heal()
  await expect(connecting).rejects.toThrow('enough')
  const next = await fixture.open({ session })
  expect(next.state).toMatchObject({ resumed: true, session: { id: session.id } })
})

test('an aborted call rejects with the reason of its signal', async () => {
  const { client, proxy } = await fixture.openProxied()
  await expect(client.get('/', { signal: AbortSignal.abort('no') })).rejects.toBe('no')
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const controller = new AbortController()
  const call = client.create('/aborted', '', { signal: controller.signal })
  controller.abort('changed my mind')
  await expect(call).rejects.toBe('changed my mind')
  proxy.heal()
  expect(await client.exists('/aborted')).toBeUndefined()
})

test('many calls may share one signal', async () => {
  const client = await fixture.open()
  const warnings: Error[] = []
  const warn = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', warn)
  onTestFinished(() => void process.off('warning', warn))
  const controller = new AbortController()
  const calls = Array.from({ length: 50 }, () => client.get('/', { signal: controller.signal }))
  await Promise.all(calls)
  const late = Array.from({ length: 50 }, () => client.get('/', { signal: controller.signal }))
  controller.abort('enough')
  const outcomes = await Promise.allSettled(late)
  expect(new Set(outcomes.map((outcome) => outcome.status))).toEqual(new Set(['rejected']))
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})

test('a call has a deadline', async () => {
  const { client, proxy } = await fixture.openProxied()
  proxy.mute()
  await expect(client.set('/', '', { timeoutMs: 20 })).rejects.toMatchObject({
    code: 'timeout',
    mayHaveHappened: true,
  })
  proxy.heal()
  proxy.drop()
  await client.get('/')
})

test('a protected create with a lost reply leaves one node, and finds it', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.ensure('/guarded')
  proxy.mute()
  const create = client.create('/guarded/n-', '', { protect: true, sequential: true })
  const other = await fixture.open()
  await expect.poll(() => other.children('/guarded')).toHaveLength(1)
  proxy.heal()
  proxy.drop()
  const { path } = await create
  expect((await client.children('/guarded')).map((name) => `/guarded/${name}`)).toEqual([path])
})

test('a protected create that is given up leaves nothing', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.ensure('/given-up')
  proxy.mute()
  const controller = new AbortController()
  const create = client.create('/given-up/n', '', { protect: true, signal: controller.signal })
  const other = await fixture.open()
  await expect.poll(() => other.children('/given-up')).toHaveLength(1)
  controller.abort('enough')
  await expect(create).rejects.toBe('enough')
  proxy.heal()
  proxy.drop()
  await expect.poll(() => other.children('/given-up')).toHaveLength(0)
})

test('a protected create that is given up by the default deadline leaves nothing', async () => {
  const { client, proxy } = await fixture.openProxied({ callTimeoutMs: 100 })
  await client.patient.ensure('/given-up-late')
  proxy.mute()
  const create = client.create('/given-up-late/n', '', { protect: true })
  await expect(create).rejects.toMatchObject({ code: 'timeout' })
  const other = await fixture.open()
  expect(await other.children('/given-up-late')).toHaveLength(1)
  proxy.heal()
  proxy.drop()
  await expect.poll(() => other.children('/given-up-late')).toHaveLength(0)
})

test('a patient client does not have the default deadline', async () => {
  const { client, proxy } = await fixture.openProxied({ callTimeoutMs: 50 })
  proxy.mute()
  const patient = client.patient.get('/')
  await expect(client.get('/')).rejects.toMatchObject({ code: 'timeout' })
  proxy.heal()
  proxy.drop()
  await patient
  expect(client.patient.patient).toBe(client.patient)
})

test('connecting can be given up', async () => {
  const { proxy } = await fixture.openProxied()
  proxy.cut()
  await expect(connect(proxy.connectString, { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'timeout',
    cause: { message: 'the connection ended' },
  })
})

/** Enough time for the requests to have left. */
async function nextTurns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

test('the error of connect names the servers and the reasons', async () => {
  const proxy = await Proxy.start(fixture.port)
  const { connectString } = proxy
  await proxy.stop()
  const refused = connect(connectString, { timeoutMs: 1000 })
  await expect(refused).rejects.toThrow(
    `no connection to ${connectString} (connect ECONNREFUSED ${connectString}) within 1000 ms`,
  )
  const client = new Client({ servers: connectString, callTimeoutMs: 1000 })
  onTestFinished(() => client.close())
  const error = await client.get('/').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'timeout', cause: { code: 'ECONNREFUSED' } })
})

test('a call made in a listener of the expiry belongs to the next session', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 400 })
  const asked = new Promise<unknown>((resolve) => {
    client.onState(({ name }) => {
      if (name === 'expired') resolve(client.create('/expired-anew', '', { ephemeral: true }))
    })
  })
  const expired = nextState(client, 'expired')
  proxy.cut()
  await expired
  proxy.heal()
  expect(await asked).toMatchObject({ stat: { ephemeralOwner: client.session!.id } })
})

test('a call made in a listener of a suspension waits for the next connection', async () => {
  const { client, proxy } = await fixture.openProxied()
  const asked = new Promise<unknown>((resolve) => {
    client.onState(({ name }) => {
      if (name === 'suspended') resolve(client.create('/asked-while-suspended'))
    })
  })
  proxy.drop()
  expect(await asked).toMatchObject({ path: '/asked-while-suspended' })
})

test('all listeners get states in order, even if one of them closes the client', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 400 })
  const names: string[] = []
  client.onState(({ name }) => {
    if (name === 'expired') void client.close()
  })
  client.onState(({ name }) => names.push(name))
  const closed = nextState(client, 'closed')
  proxy.cut()
  await closed
  await Promise.resolve()
  expect(names).toEqual(['suspended', 'expired', 'closed'])
})

test('listeners of close are called before the server is told', async () => {
  const client = await fixture.open()
  const heard: string[] = []
  const stop = client.onClosing(() => heard.push('stopped'))
  client.onClosing(() => heard.push(client.state.name))
  client.onClosing(() => void client.close())
  stop()
  await client.close()
  expect(heard).toEqual(['connected'])
})

test('calls made before close are answered, even if there is no connection yet', async () => {
  const client = new Client({ servers: fixture.connectString })
  const asked = client.exists('/')
  await client.close()
  expect(await asked).toBeDefined()
})

test('a client that takes over a session and is closed before it is connected ends the session', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  const other = await fixture.open()
  await client.create('/gone-on', '', { ephemeral: true })
  const { session, lastZxid } = client
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const next = new Client({
    servers: fixture.connectString,
    session: { id: session!.id, password: session!.password, lastZxid },
  })
  await next.close()
  expect(await other.exists('/gone-on', { consistency: 'linearizable' })).toBeUndefined()
})

test('a refused identity of the options closes the client, however late', async () => {
  const auth = [{ scheme: 'no-such-scheme', credentials: 'x' }]
  const proxy = await Proxy.start(fixture.port)
  onTestFinished(() => proxy.stop())
  proxy.cut()
  const late = new Client({ servers: proxy.connectString, callTimeoutMs: 1, auth })
  onTestFinished(() => late.close())
  await expect(late.exists('/')).rejects.toMatchObject({ code: 'timeout' })
  const closed = nextState(late, 'closed')
  proxy.heal()
  await closed
  const session = { id: 12_345n, password: new Uint8Array(16) }
  const resuming = new Client({ servers: fixture.connectString, session, auth })
  onTestFinished(() => resuming.close())
  await nextState(resuming, 'closed')
})
