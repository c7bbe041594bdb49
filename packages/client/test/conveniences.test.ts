/** Helpers that programs would otherwise write themselves. */
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import {
  acl,
  Client,
  ClosedError,
  ConnectionLossError,
  connect,
  formatZxid,
  isRefusal,
  joinPath,
  json,
  nodeName,
  OperationError,
  parentPath,
  permissions,
  retry,
  settle,
  text,
  type ClientOptions,
  type CreateOptions,
  type StandardSchema,
  type WatchEvent,
} from '../src/index.ts'
import { textOf, useServer } from './support/fixture.ts'

const fixture = useServer()
const wrong = <T>(value: unknown): T => value as T

test('find returns undefined for a missing node, and throws every other error', async () => {
  const client = await fixture.open()
  expect(await client.find('/nowhere')).toBeUndefined()
  await client.create('/found', 'x')
  expect(await client.find('/found', { codec: text })).toMatchObject({ data: 'x' })
  await client.create('/unreadable-by-find', '', { acl: acl.world('cdwa') })
  await expect(client.find('/unreadable-by-find')).rejects.toMatchObject({ reason: 'noAuth' })
})

test('put creates a node or sets it, with its parents if asked', async () => {
  const client = await fixture.open()
  expect(await client.put('/put', 'a')).toMatchObject({ version: 0 })
  expect(await client.put('/put', 'b')).toMatchObject({ version: 1 })
  await expect(client.put('/put-in/a/b', 'c')).rejects.toMatchObject({ reason: 'noNode' })
  await client.put('/put-in/a/b', { deep: true }, { codec: json(), parents: true })
  expect((await client.getJson('/put-in/a/b')).data).toEqual({ deep: true })
})

test('JSON needs no codec, and a schema validates it', async () => {
  const client = await fixture.open()
  await client.create('/json', '{}')
  const schema: StandardSchema<{ n: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof (value as { n?: unknown }).n === 'number'
          ? { value: value as { n: number } }
          : { issues: [{ message: 'no n' }] },
    },
  }
  const { version } = await client.setJson('/json', { n: 1 }, { schema })
  expect((await client.getJson('/json', { schema })).data.n).toBe(1)
  await client.setJson('/json', {}, { ifVersion: version })
  await expect(client.getJson('/json', { schema })).rejects.toThrow('no n: /json')
})

test('a namespace is the same session with paths below one of its own', async () => {
  const root = await fixture.open()
  await root.ensure('/spaces/app')
  const client = await fixture.open({}, `${fixture.connectString}/spaces`)
  const app = client.namespace('/app')
  expect(app).toBe(client.namespace('/app'))
  expect(app.chroot).toBe('/spaces/app')
  expect(app.session).toBe(client.session)
  const events: WatchEvent[] = []
  await app.exists('/a', { watch: (event) => events.push(event) })
  const changes = app.watch('/', { recursive: true })
  await changes.ready
  const { path } = await app.create('/a', 'x')
  expect(path).toBe('/a')
  expect(textOf((await root.get('/spaces/app/a')).data)).toBe('x')
  expect(await changes.next()).toMatchObject({ value: { type: 'created', path: '/a' } })
  await changes.return()
  expect(events).toMatchObject([{ type: 'created', path: '/a' }])
  await expect(app.namespace('/b').get('/c')).rejects.toMatchObject({ path: '/c' })
  const [created] = await app.transaction().create('/t').commit()
  expect(created.path).toBe('/t')
  expect(app.patient.chroot).toBe('/spaces/app')
  expect(app.patient).not.toBe(client.patient)
})

test('path helpers join and split', () => {
  expect(joinPath('/', 'a', 'b')).toBe('/a/b')
  expect(joinPath('/a', '/b')).toBe('/a/b')
  expect(joinPath('/')).toBe('/')
  expect([parentPath('/a/b'), parentPath('/a'), nodeName('/a/b')]).toEqual(['/a', '/', 'b'])
})

test('ACL helpers make ACLs, and invalid permissions are refused', () => {
  expect(acl.digest('ann', 'pw', 'r')).toMatchObject([
    { perms: permissions.read, id: { scheme: 'digest' } },
  ])
  expect(acl.world('cdrwa')).toEqual(acl.open)
  expect(acl.ip('10.0.0.0/8', 'rw')[0]!.perms).toBe(permissions.read | permissions.write)
  expect(acl.world(permissions.read)).toEqual(acl.read)
  for (const perms of ['', 'rx', 'all', 0, 32, 1.5])
    expect(() => acl.world(perms)).toThrow("permissions are letters of 'cdrwa', not ")
})

test.each<[Partial<ClientOptions>, string]>([
  [
    wrong({ sessionTimeout: 5 }),
    'a client has no option sessionTimeout; did you mean sessionTimeoutMs?',
  ],
  [wrong({ sesionTimeoutMs: 5 }), 'did you mean sessionTimeoutMs?'],
  [wrong({ zzz: 5 }), 'a client has no option zzz'],
])('an unknown option of a client is refused by name: %o', async (options, message) => {
  expect(() => new Client({ servers: '127.0.0.1:1', ...options })).toThrow(message)
  await expect(connect('127.0.0.1:1', options)).rejects.toThrow(message)
})

test('an unknown option of a call is refused by name, and nothing is sent', async () => {
  const client = await fixture.open()
  const options = wrong<CreateOptions>({ ephemral: true })
  const refused = 'create has no option ephemral; did you mean ephemeral?'
  await expect(client.create('/typo', '', options)).rejects.toThrow(refused)
  expect(() => client.transaction().create('/typo', '', options)).toThrow(
    refused.replace('create', 'create in a transaction'),
  )
  await expect(client.get('/', wrong({ timeout: 5 }))).rejects.toThrow('did you mean timeoutMs?')
  await expect(client.set('/', '', wrong({ version: 5 }))).rejects.toThrow('no option version')
  expect(() => client.watch('/', wrong({ recursively: true }))).toThrow('did you mean recursive?')
  expect(await client.exists('/typo')).toBeUndefined()
})

test('a stat is safe for JSON, and has times as numbers', async () => {
  const client = await fixture.open()
  const { stat } = await client.create('/stat', 'x', { ephemeral: true })
  const { stat: read } = await client.get('/stat')
  const [set] = await client.transaction().set('/stat', 'y').commit()
  const [found] = await client.readAll([{ get: '/stat' }])
  for (const one of [stat, read, set, found!.stat]) {
    expect(Math.abs(one.mtimeMs - Date.now())).toBeLessThan(60_000)
    expect(JSON.parse(JSON.stringify(one))).toMatchObject({
      czxid: formatZxid(stat.czxid),
      ephemeralOwner: formatZxid(client.session!.id),
      ctimeMs: stat.ctimeMs,
      dataLength: 1,
    })
  }
  expect(formatZxid(-1n)).toBe('0xffffffffffffffff')
})

test('neither a client nor its session shows secrets', async () => {
  const client = await fixture.open({ auth: [{ scheme: 'digest', credentials: 'ann:s3cret' }] })
  const password = Buffer.from(client.session!.password).toString('hex').match(/../g)!.join(' ')
  const views = [client, { nested: client }, client.patient, client.namespace('/a'), client.state]
  for (const view of views) {
    for (const shown of [inspect(view, { depth: 9 }), JSON.stringify(view)]) {
      expect(shown).not.toContain('s3cret')
      expect(shown).not.toContain(password)
      expect(shown).not.toContain('password')
    }
  }
  expect(inspect(client)).toContain(`session: '${formatZxid(client.session!.id)}'`)
  expect({ ...client.session }.password).toHaveLength(16)
})

test('an invalid path is the same error everywhere', async () => {
  const client = await fixture.open()
  const refusal = { name: 'OperationError', code: 'badArguments' }
  const attempts = ['a', '', '/a/', '/a//b', 5, undefined].flatMap((path) => {
    const bad = wrong<string>(path)
    return [
      () => client.get(bad),
      () => client.create(bad, '', { sequential: true }),
      () => client.transaction().check(bad),
      () => client.watch(bad),
      () => client.namespace(bad),
    ]
  })
  for (const attempt of attempts) {
    // A sequential path may end with a slash.
    const error = await Promise.resolve()
      .then(() => attempt() as unknown)
      .catch((reason: unknown) => reason)
    if (isRefusal(error, 'noNode')) continue
    expect(error).toMatchObject(refusal)
  }
  expect(() => new Client({ servers: 'h:1/a//b' })).toThrow(OperationError)
})

test('errors below a chroot name it, and a missing chroot is reported as such', async () => {
  const client = await fixture.open({}, `${fixture.connectString}/no-such-root`)
  await expect(client.get('/')).rejects.toThrow(
    "the chroot /no-such-root does not exist (noNode): client.ensure('/') creates it",
  )
  await expect(client.create('/a')).rejects.toThrow(
    'there is no such node (noNode): /a (below the chroot /no-such-root)',
  )
  await expect(client.transaction().create('/a').commit()).rejects.toThrow(
    '(below the chroot /no-such-root)',
  )
})

test('the stack of an error names the caller, if enabled', async () => {
  const client = await fixture.open({ callerStacks: true })
  async function readsWhatIsNotThere(): Promise<void> {
    await client.get('/not-there')
  }
  const error = await readsWhatIsNotThere().catch((reason: unknown) => reason as Error)
  expect(error).toMatchObject({ code: 'noNode' })
  expect((error as Error).stack).toContain('readsWhatIsNotThere')
  expect((error as Error).stack).toMatch(/^OperationError: there is no such node/)
})

test('an error of the program keeps its own stack', async () => {
  const client = await fixture.open({ callerStacks: true })
  const reason = new Error('enough')
  const { stack } = reason
  const given = new AbortController()
  const late = client.get('/', { signal: given.signal })
  given.abort(reason)
  await expect(late).rejects.toBe(reason)
  const failure = new TypeError('a mistake in the codec')
  const at = failure.stack
  const decode = (): never => {
    throw failure
  }
  await expect(client.get('/', { codec: { ...text, decode } })).rejects.toBe(failure)
  expect([reason.stack, failure.stack]).toEqual([stack, at])
})

test('retry repeats what is safe to repeat, until it has an answer', async () => {
  const { client, proxy } = await fixture.openProxied()
  await client.create('/retried')
  const losses: string[] = []
  let isCut = false
  const stat = await retry(
    client,
    (limits) => {
      const set = client.set('/retried', 'x', limits)
      if (!isCut) proxy.drop()
      isCut = true
      return set
    },
    { timeoutMs: 10_000, onRetry: ({ code }) => losses.push(code) },
  )
  expect(stat.version).toBeGreaterThanOrEqual(1)
  expect(losses).toEqual(['connectionLoss'])
  await expect(retry(client, () => client.get('/never'))).rejects.toMatchObject({ code: 'noNode' })
  let attempts = 0
  const lost = retry(
    client,
    () => {
      attempts++
      throw new ConnectionLossError(false)
    },
    { attemptsMax: 3 },
  )
  await expect(lost).rejects.toBeInstanceOf(ConnectionLossError)
  expect(attempts).toBe(3)
})

test('settle finds out whether a write with a lost reply happened', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await fixture.open()
  /** The first attempt happens, and its reply is lost. */
  const losing = (write: () => Promise<unknown>, hasHappened: () => Promise<unknown>) => {
    let attempts = 0
    return async (): Promise<unknown> => {
      if (attempts++ > 0) return write()
      proxy.mute()
      const first = write()
      first.catch(() => {})
      while ((await hasHappened()) !== true) await other.sync()
      proxy.drop()
      proxy.heal()
      return first
    }
  }
  const isThere = async (path: string): Promise<boolean> => (await other.exists(path)) !== undefined
  const create = losing(
    () => client.create('/settled', 'mine'),
    () => isThere('/settled'),
  )
  expect(await settle(client, create, { done: 'nodeExists' })).toBeUndefined()
  await expect(
    settle(client, () => client.create('/settled'), { done: 'nodeExists' }),
  ).rejects.toMatchObject({ code: 'nodeExists' })

  const set = losing(
    () => client.set('/settled', 'new', { ifVersion: 0 }),
    async () => (await other.exists('/settled'))?.version === 1,
  )
  const look = async (): Promise<string | undefined> => {
    const { data } = await client.get('/settled', { codec: text, consistency: 'session' })
    return data === 'new' ? 'looked' : undefined
  }
  expect(await settle(client, set, { look })).toBe('looked')

  const remove = losing(
    () => client.delete('/settled'),
    async () => !(await isThere('/settled')),
  )
  expect(await settle(client, remove, { done: 'noNode' })).toBeUndefined()
})

test('settle does not call a write undone because a read that was to find out was lost', async () => {
  const client = await fixture.open()
  const write = (): never => {
    throw new ConnectionLossError(true)
  }
  const look = (): never => {
    throw new ConnectionLossError(false)
  }
  const settled = settle(client, write, { look, attemptsMax: 2 })
  await expect(settled).rejects.toMatchObject({ code: 'connectionLoss', mayHaveHappened: true })
})

test('the error of a client that ended by itself says why', () => {
  const cause = new Error('the worker thread of the session is gone')
  expect(new ClosedError({ cause, path: '/a' }).message).toBe(
    'the client is closed (the worker thread of the session is gone): /a',
  )
})

test('a lost read changed nothing, and does not claim that it was not sent', () => {
  const { message } = new ConnectionLossError(false, { path: '/a' })
  expect(message).toBe('the connection was lost: /a: nothing was changed')
})

test('a client counts its requests', async () => {
  const { client, proxy } = await fixture.openProxied()
  onTestFinished(() => proxy.heal())
  await client.create('/counted', 'x')
  for (let i = 0; i < 5; i++) await client.get('/counted')
  await client.get('/not-counted').catch(() => {})
  const { operations, latency, ...rest } = client.stats()
  expect(operations['getData']).toMatchObject({ count: 6, refused: 1 })
  expect(operations['create2']).toMatchObject({ count: 1, refused: 0 })
  expect(latency.count).toBeGreaterThanOrEqual(7)
  expect(latency.quantileMs(0.5)).toBeGreaterThan(0)
  expect(latency.quantileMs(0.5)).toBeLessThanOrEqual(latency.quantileMs(1))
  expect(latency.quantileMs(1)).toBe(latency.maxMs)
  expect(latency.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(latency.count)
  expect(rest).toMatchObject({ inFlight: 0, waiting: 0, connections: 1, suspensions: 0 })
  expect(rest.bytesSent).toBeGreaterThan(100)
  expect(rest.bytesReceived).toBeGreaterThan(100)
})

test('a namespace that the program has dropped is forgotten', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const client = await fixture.open()
  const kept = client.namespace('/kept')
  const dropped = new WeakRef(client.namespace('/dropped'))
  // A weak reference holds its object until the current turn ends.
  await setImmediate()
  collect()
  expect(dropped.deref()).toBeUndefined()
  expect(client.namespace('/kept')).toBe(kept)
})

test('many watches share a signal without a warning of Node', async () => {
  const client = await fixture.open()
  const warnings: Error[] = []
  const hear = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const controller = new AbortController()
  const watches = Array.from({ length: 30 }, () => client.watch('/', { signal: controller.signal }))
  await Promise.all(watches.map(({ ready }) => ready))
  controller.abort(new Error('enough'))
  for (const one of watches) await expect(one.next()).rejects.toThrow('enough')
  await setImmediate()
  expect(warnings).toEqual([])
})
