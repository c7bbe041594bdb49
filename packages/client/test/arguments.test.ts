/** Mistakes of untyped programs are refused with a clear error, and nothing is sent. */
import { expect, onTestFinished, test } from 'vitest'
import {
  acl,
  Client,
  connect,
  json,
  permissions,
  retry,
  settle,
  type Acl,
  type ClientOptions,
  type Codec,
  type SaslOptions,
} from '../src/index.ts'
import { useServer } from './support/fixture.ts'

const fixture = useServer()
const wrong = <T>(value: unknown): T => value as T

test.each([null, NaN, '0', 1.5, -1, 2 ** 31, {}])(
  'a version is a whole number: %s deletes nothing',
  async (ifVersion) => {
    const client = await fixture.open()
    await client.ensure('/versioned')
    const options = { ifVersion: wrong<number>(ifVersion) }
    const refused = /^ifVersion is the version of a node, or 'any', not /
    await expect(client.delete('/versioned', options)).rejects.toThrow(refused)
    await expect(client.set('/versioned', '', options)).rejects.toThrow(refused)
    expect(() => client.transaction().delete('/versioned', options)).toThrow(refused)
    expect(await client.exists('/versioned')).toMatchObject({ version: 0 })
  },
)

test('a version may be negative, since servers continue at the smallest after the largest', async () => {
  const client = await fixture.open()
  await client.ensure('/counted-on')
  await expect(client.delete('/counted-on', { ifVersion: -(2 ** 31) })).rejects.toMatchObject({
    reason: 'badVersion',
  })
})

test('invalid option values are refused', async () => {
  const client = await fixture.open()
  await expect(client.get('/', { watch: wrong(false) })).rejects.toThrow(
    'watch is a function, not false',
  )
  await expect(client.get('/', { consistency: wrong('linearisable') })).rejects.toThrow(
    "consistency is 'local' or 'session' or 'linearizable', not 'linearisable'",
  )
  await expect(client.get('/', { timeoutMs: NaN })).rejects.toThrow('from 0 on, not NaN')
  await expect(client.connected({ timeoutMs: -1 })).rejects.toThrow('from 0 on, not -1')
  await expect(client.create('/t', '', { ttlMs: 1.5 })).rejects.toThrow(
    'ttlMs is a whole number of milliseconds, not 1.5: /t',
  )
})

test.each<[Partial<ClientOptions>, string]>([
  [{ sessionTimeoutMs: NaN }, 'sessionTimeoutMs is a number of milliseconds, not NaN'],
  [{ sessionTimeoutMs: wrong('10s') }, "not '10s'"],
  [{ sessionTimeoutMs: wrong('4000') }, "not '4000'"],
  [{ requestBytesMax: NaN }, 'requestBytesMax is a number from 0 on, not NaN'],
  [{ answerPollMicros: wrong('0') }, "answerPollMicros is a number from 0 on, not '0'"],
  [{ retry: { repeatsMax: -1 } }, 'retry.repeatsMax is a number from 0 on, not -1'],
  [{ acl: wrong(acl.open[0]) }, 'acl is a list of { perms, id: { scheme, id } }'],
  [{ callTimeoutMs: -5 }, 'callTimeoutMs is a number of milliseconds from 0 on, not -5'],
  [{ keepAlive: wrong('Worker') }, "keepAlive is 'loop' or 'worker', not 'Worker'"],
  [{ onExpiry: wrong('close') }, "onExpiry is 'renew' or 'end', not 'close'"],
  [{ auth: wrong('digest:a:b') }, 'auth is a list of { scheme, credentials }'],
  [{ session: wrong({ id: 1 }) }, 'the id of a session is a bigint, not 1'],
])('a client is not made with %o', (options, message) => {
  expect(() => new Client({ servers: fixture.connectString, ...options })).toThrow(message)
})

test('the server limits a session timeout that is too long', async () => {
  const [long, longest] = await Promise.all(
    [1e9, Infinity].map((sessionTimeoutMs) => fixture.open({ sessionTimeoutMs })),
  )
  expect(longest!.session?.timeoutMs).toBe(long!.session?.timeoutMs)
})

test.each([
  ['text', 'text'],
  ['a promise', Promise.resolve(new Uint8Array(1))],
])('a codec that encodes to %s is refused', async (_, made) => {
  const client = await fixture.open()
  const codec: Codec<number> = { encode: () => wrong(made), decode: () => 1 }
  await expect(client.create('/never-made', 1, { codec })).rejects.toThrow(
    'a codec encodes to a Uint8Array',
  )
})

test('a request that is longer than servers accept has no other effect', async () => {
  const client = await fixture.open()
  const states: string[] = []
  client.onState(({ name }) => states.push(name))
  const large = new Uint8Array(1_200_000)
  await expect(client.create('/large', large)).rejects.toThrow(/^a request of 1200\d\d\d bytes/)
  await expect(client.create('/large', large, { protect: true })).rejects.toThrow(RangeError)
  await expect(client.transaction().create('/large', large).commit()).rejects.toThrow(RangeError)
  await client.sync()
  expect(states).toEqual([])
})

test('a client has a default ACL for the nodes it creates', async () => {
  const owner = await fixture.open({
    auth: [{ scheme: 'digest', credentials: 'me:secret' }],
    acl: [...acl.creator, ...acl.read],
  })
  const stranger = await fixture.open()
  await owner.create('/owned')
  await owner.transaction().create('/owned/t').commit()
  await owner.ensure('/owned/e/f')
  onTestFinished(() => owner.deleteTree('/owned'))
  const expected = [...acl.digest('me', 'secret'), ...acl.read]
  for (const path of ['/owned', '/owned/t', '/owned/e', '/owned/e/f']) {
    expect((await owner.getAcl(path)).acl).toEqual(expected)
    await expect(stranger.set(path, 'x')).rejects.toMatchObject({ reason: 'noAuth' })
    await stranger.get(path)
  }
  await owner.create('/owned/open', '', { acl: acl.digest('me', 'secret', permissions.read) })
  await expect(stranger.get('/owned/open')).rejects.toMatchObject({ reason: 'noAuth' })
})

test('a node that may not be read exists', async () => {
  const owner = await fixture.open({ auth: [{ scheme: 'digest', credentials: 'a:b' }] })
  await owner.create('/unreadable', '', { acl: acl.creator })
  const stranger = await fixture.open()
  await stranger.ensure('/unreadable')
})

test('errors show paths as the caller wrote them, below the chroot', async () => {
  const root = await fixture.open()
  await root.create('/chrooted')
  const client = await fixture.open({}, `${fixture.connectString}/chrooted`)
  await client.create('/e', '', { ephemeral: true })
  await expect(client.ensure('/e/y')).rejects.toMatchObject({ path: '/e/y' })
})

test('an ACL of another client is refused, and not stored without permissions', async () => {
  const client = await fixture.open()
  await client.create('/its-acl')
  const foreign = { permission: 31, id: { scheme: 'world', id: 'anyone' } }
  for (const bad of [[foreign], acl.open[0], 'open', [{ perms: 31 }], [null]]) {
    const list = wrong<readonly Acl[]>(bad)
    const refused = /^acl is a list of /
    await expect(client.create('/other-acl', '', { acl: list })).rejects.toThrow(refused)
    await expect(client.setAcl('/its-acl', list)).rejects.toThrow(refused)
    await expect(client.ensure('/other-acl/a', { acl: list })).rejects.toThrow(refused)
    expect(() => client.transaction().create('/other-acl', '', { acl: list })).toThrow(refused)
  }
  expect((await client.getAcl('/its-acl')).acl).toEqual(acl.open)
  expect(await client.exists('/other-acl')).toBeUndefined()
})

test('a number or a function in place of options is refused', async () => {
  const client = await fixture.open()
  await expect(
    client.get(
      '/',
      wrong(() => {}),
    ),
  ).rejects.toThrow('a read takes an object with options, not a function')
  await expect(client.delete('/typo', wrong(5))).rejects.toThrow(
    'delete takes an object with options, not a number',
  )
  await expect(connect(fixture.connectString, wrong(5000))).rejects.toThrow(TypeError)
})

test('an option that a create in a transaction does not have is refused, not ignored', async () => {
  const client = await fixture.open()
  for (const option of [
    { protect: true },
    { timeoutMs: 5 },
    { signal: new AbortController().signal },
  ])
    expect(() => client.transaction().create('/ignored', '', wrong(option))).toThrow(
      `create in a transaction has no option ${Object.keys(option)[0]}`,
    )
})

/** Every call with options, given one that none has. */
const calls: Readonly<Record<string, (client: Client, typo: object) => unknown>> = {
  connected: (client, typo) => client.connected(typo),
  detach: (client, typo) => client.detach(typo),
  addAuth: (client, typo) => client.addAuth('digest', 'a:b', typo),
  create: (client, typo) => client.create('/typo', '', typo),
  'parents of create': (client, typo) => client.create('/typo/a', '', { parents: typo }),
  delete: (client, typo) => client.delete('/typo', typo),
  set: (client, typo) => client.set('/', '', typo),
  put: (client, typo) => client.put('/typo', '', typo),
  setJson: (client, typo) => client.setJson('/typo', {}, typo),
  setAcl: (client, typo) => client.setAcl('/typo', acl.open, typo),
  commit: (client, typo) => client.transaction().create('/typo').commit(typo),
  get: (client, typo) => client.get('/', typo),
  find: (client, typo) => client.find('/', typo),
  getJson: (client, typo) => client.getJson('/', typo),
  exists: (client, typo) => client.exists('/', typo),
  children: (client, typo) => client.children('/', typo),
  childrenWithStat: (client, typo) => client.childrenWithStat('/', typo),
  getAcl: (client, typo) => client.getAcl('/', typo),
  countDescendants: (client, typo) => client.countDescendants('/', typo),
  ephemerals: (client, typo) => client.ephemerals('/', typo),
  readAll: (client, typo) => client.readAll([{ get: '/' }], typo),
  sync: (client, typo) => client.sync('/', typo),
  whoAmI: (client, typo) => client.whoAmI(typo),
  getConfig: (client, typo) => client.getConfig(typo),
  reconfig: (client, typo) => client.reconfig(typo),
  watch: async (client, typo) => client.watch('/', typo),
  checkWatches: (client, typo) => client.checkWatches('/', 'any', typo),
  removeWatches: (client, typo) => client.removeWatches('/', 'any', typo),
  ensure: (client, typo) => client.ensure('/typo', typo),
  deleteTree: (client, typo) => client.deleteTree('/typo', typo),
  retry: (client, typo) => retry(client, () => client.sync(), typo),
  settle: (client, typo) => settle(client, () => client.sync(), typo),
  connect: (client, typo) => connect(client.toJSON()['servers']!, typo),
  'retry of a client': (client, typo) => connect(client.toJSON()['servers']!, { retry: typo }),
  'sasl of a client': async () => {
    const sasl = wrong<SaslOptions>({ username: 'a', password: 'b', timeoutMS: 1 })
    return new Client({ servers: fixture.connectString, sasl })
  },
}

test.each(Object.entries(calls))('%s refuses an option that it does not have', async (_, call) => {
  const client = await fixture.open()
  const made = call(client, { timeoutMS: 1 })
  await expect(made).rejects.toThrow(/has no option timeoutMS/)
  await expect(made).rejects.toThrow(TypeError)
  expect(await client.exists('/typo')).toBe(undefined)
})

test('an option of other calls is refused too', async () => {
  const client = await fixture.open()
  const options = wrong<object>({ watch: () => {} })
  await expect(client.getAcl('/', options)).rejects.toThrow('a read has no option watch')
  await expect(client.children('/', wrong({ codec: json() }))).rejects.toThrow('no option codec')
  await expect(client.delete('/', wrong({ codec: json() }))).rejects.toThrow('no option codec')
})

test('a deadline is a number', async () => {
  const client = await fixture.open()
  for (const timeoutMs of ['5', null, {}])
    await expect(client.get('/', { timeoutMs: wrong(timeoutMs) })).rejects.toThrow(
      'timeoutMs is a number of milliseconds',
    )
  await expect(client.addAuth('digest', 'a:b', { timeoutMs: NaN })).rejects.toThrow(RangeError)
})

test('the kind of a watch is one of those that exist', async () => {
  const client = await fixture.open()
  await expect(client.checkWatches('/', wrong('child'))).rejects.toThrow(
    /^type is '.*, not 'child'/,
  )
  await expect(client.removeWatches('/', wrong('child'))).rejects.toThrow(
    "type is 'data' or 'children' or 'any', not 'child'",
  )
})
