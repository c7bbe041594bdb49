import { expect, test } from 'vitest'
import {
  CodecError,
  isRefusal,
  json,
  noData,
  OperationError,
  text,
  TransactionError,
  ZabraError,
} from '../src/index.ts'
import { textOf, useServer } from './support/fixture.ts'

const fixture = useServer({ extendedTypesEnabled: 'true' })

test('a node is created, read, changed and deleted', async () => {
  const client = await fixture.open()
  const { path, stat } = await client.create('/a', 'one')
  expect(path).toBe('/a')
  expect(stat.dataLength).toBe(3)
  const changed = await client.set('/a', new Uint8Array([1, 2]), { ifVersion: 0 })
  expect(changed.version).toBe(1)
  const { data, stat: now } = await client.get('/a')
  expect([...data]).toEqual([1, 2])
  expect(now).toEqual(changed)
  await client.delete('/a', { ifVersion: 1 })
  expect(await client.exists('/a')).toBeUndefined()
})

test('null data differs from empty data', async () => {
  const client = await fixture.open()
  await client.create('/none', noData)
  await client.create('/empty', '')
  expect((await client.get('/none')).data).toBe(noData)
  expect((await client.get('/empty')).data).not.toBe(noData)
  const [none, empty] = await client.readAll([{ get: '/none' }, { get: '/empty' }])
  expect(none?.data).toBe(noData)
  expect(empty?.data).toEqual(new Uint8Array(0))
  expect(empty?.data).not.toBe(noData)
  await client.set('/empty', noData)
  await client.transaction().set('/none', '').commit()
  expect((await client.get('/empty')).data).toBe(noData)
  expect((await client.get('/none')).data).not.toBe(noData)
})

test('an error has a code, a path and a zxid', async () => {
  const client = await fixture.open()
  const error = await client.get('/missing').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(OperationError)
  expect(error).toMatchObject({ reason: 'noNode', code: 'noNode', path: '/missing' })
  expect((error as OperationError).zxid).toBeTypeOf('bigint')
  expect(isRefusal(error, 'noNode')).toBe(true)
  expect(isRefusal(error, 'badVersion')).toBe(false)
  await client.create('/refused')
  await expect(client.create('/refused')).rejects.toMatchObject({ reason: 'nodeExists' })
  await expect(client.set('/refused', '', { ifVersion: 7 })).rejects.toMatchObject({
    reason: 'badVersion',
    retriable: false,
  })
})

test('an invalid path is refused before anything is sent', async () => {
  const client = await fixture.open()
  await expect(client.get('a')).rejects.toMatchObject({ reason: 'badArguments', path: 'a' })
  await expect(client.create('/x/../y')).rejects.toMatchObject({ reason: 'badArguments' })
})

test('calls that are not awaited are executed in order', async () => {
  const client = await fixture.open()
  const made = client.create('/order')
  const sets = Array.from({ length: 100 }, (_, i) => client.set('/order', `${i}`))
  const read = client.get('/order', { codec: text })
  await made
  expect((await Promise.all(sets)).map(({ version }) => version)).toEqual(
    Array.from({ length: 100 }, (_, i) => i + 1),
  )
  expect((await read).data).toBe('99')
})

test('options create sequential, ephemeral, container and TTL nodes', async () => {
  const client = await fixture.open()
  await client.ensure('/kinds', { container: true })
  const first = await client.create('/kinds/n-', '', { sequential: true })
  const second = await client.create('/kinds/', '', { sequential: true, ephemeral: true })
  expect(first.path).toBe('/kinds/n-0000000000')
  expect(second.path).toBe('/kinds/0000000001')
  expect(second.stat.ephemeralOwner).toBe(client.session?.id)
  await client.create('/kinds/ttl', '', { ttlMs: 60_000 })
  await client.create('/kinds/container', '', { container: true })
  const numbered = await client.create('/kinds/c-', '', { container: true, sequential: true })
  expect(numbered.path).toBe('/kinds/c-0000000004')
  expect((await client.children('/kinds')).toSorted()).toEqual([
    '0000000001',
    'c-0000000004',
    'container',
    'n-0000000000',
    'ttl',
  ])
  expect(await client.ephemerals('/kinds')).toEqual(['/kinds/0000000001'])
  await expect(
    client.create('/kinds/no', '', { ephemeral: true, container: true }),
  ).rejects.toMatchObject({ reason: 'badArguments' })
})

test('a protected node has a name to find it by', async () => {
  const client = await fixture.open()
  const { path } = await client.create('/p-', 'x', { protect: true, sequential: true })
  expect(path).toMatch(/^\/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-p-\d{10}$/)
})

test('children come with the stat if asked', async () => {
  const client = await fixture.open()
  await client.ensure('/family/child')
  const { children, stat } = await client.childrenWithStat('/family')
  expect(children).toEqual(['child'])
  expect(stat.numChildren).toBe(1)
  expect(await client.countDescendants('/family')).toBe(1)
})

test('ACLs are set and read, and identities shown', async () => {
  const client = await fixture.open()
  await client.addAuth('digest', 'bob:pw')
  await client.create('/secret', 'secret', {
    acl: [{ perms: 31, id: { scheme: 'auth', id: '' } }],
  })
  const stranger = await fixture.open()
  await expect(stranger.get('/secret')).rejects.toMatchObject({ reason: 'noAuth' })
  const { acl } = await client.getAcl('/secret')
  expect(acl).toEqual([
    { perms: 31, id: { scheme: 'digest', id: 'bob:ikIaKsbtGweaHnb/jKn7OHqbunM=' } },
  ])
  await client.setAcl('/secret', [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }])
  expect(textOf((await stranger.get('/secret')).data)).toBe('secret')
  expect(await client.whoAmI()).toContainEqual({ scheme: 'digest', user: 'bob' })
})

test('identities given at the start apply to the first request', async () => {
  const client = await fixture.open({ auth: [{ scheme: 'digest', credentials: 'ann:pw' }] })
  expect(await client.whoAmI()).toContainEqual({ scheme: 'digest', user: 'ann' })
})

test('addAuth rejects if the server refuses the identity', async () => {
  const client = await fixture.open()
  await expect(client.addAuth('nonsense', 'x')).rejects.toMatchObject({ reason: 'authFailed' })
  await client.create('/after-auth')
})

test('a transaction has a result for each operation', async () => {
  const client = await fixture.open()
  await client.create('/t')
  const [created, , stat, gone] = await client
    .transaction()
    .create('/t/a', 'x', { sequential: true })
    .check('/t', 0)
    .set('/t', 'new', { ifVersion: 0 })
    .delete('/t/a0000000000')
    .commit()
  expect(created.path).toBe('/t/a0000000000')
  expect(created.stat?.dataLength).toBe(fixture.isTerse ? undefined : 1)
  expect(stat.version).toBe(1)
  expect(gone).toBeUndefined()
})

test('a refused transaction names the operation, and changes nothing', async () => {
  const client = await fixture.open()
  const error = await client
    .transaction()
    .create('/half')
    .delete('/not-there')
    .create('/other')
    .commit()
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(TransactionError)
  expect((error as TransactionError).zxid).toBeGreaterThan(0n)
  expect(error).toMatchObject({ index: 1, reason: 'noNode', path: '/not-there' })
  expect(await client.exists('/half')).toBeUndefined()
})

test('several reads are one request', async () => {
  const client = await fixture.open()
  await client.ensure('/many/below')
  await client.set('/many', 'data')
  const [data, names, missing] = await client.readAll([
    { get: '/many' },
    { children: '/many' },
    { get: '/many/none' },
  ])
  expect(textOf(data!.data)).toBe('data')
  expect(data!.stat.numChildren).toBe(1)
  expect(names).toEqual(['below'])
  expect(missing).toBeUndefined()
})

test('codecs convert in both directions, and a schema validates', async () => {
  const client = await fixture.open()
  const port = json<{ port: number }>({
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof (value as { port?: unknown }).port === 'number'
          ? { value: value as { port: number } }
          : { issues: [{ message: 'no port' }] },
    },
  })
  await client.create('/config', { port: 1 }, { codec: port })
  const { data } = await client.get('/config', { codec: port })
  expect(data.port).toBe(1)
  await client.set('/config', '{}')
  await expect(client.get('/config', { codec: port })).rejects.toThrow('no port')
  await client.set('/config', 'not json')
  const error = await client.get('/config', { codec: port }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CodecError)
  expect(error).toBeInstanceOf(ZabraError)
  expect(error).toMatchObject({ code: 'codec', path: '/config', retriable: false })
  expect((error as CodecError).message).toBe('not JSON: /config')
  expect((error as CodecError).zxid).toBeGreaterThan(0n)
  const unwritable = client.set('/config', undefined as never, { codec: json() })
  await expect(unwritable).rejects.toMatchObject({ code: 'codec', path: '/config' })
})

test('a chroot is the root of all paths', async () => {
  const client = await fixture.open({}, `${fixture.connectString}/rooted/app`)
  await client.ensure('/')
  const events: string[] = []
  await client.exists('/x', { watch: ({ path, type }) => events.push(`${type} ${path}`) })
  const { path } = await client.create('/x', '', { sequential: false })
  expect(path).toBe('/x')
  expect(events).toEqual(['created /x'])
  const [made] = await client.transaction().create('/y', '', { ephemeral: true }).commit()
  expect(made.path).toBe('/y')
  expect(await client.ephemerals()).toEqual(['/y'])
  expect((await client.children('/')).toSorted()).toEqual(['x', 'y'])
  const outside = await fixture.open()
  expect(await outside.exists('/rooted/app/x')).toBeDefined()
  expect(textOf((await client.getConfig()).data)).toBe('')
})

test('whole trees are created and deleted', async () => {
  const client = await fixture.open()
  await Promise.all(['/tree/a/b/c', '/tree/a/d', '/tree/e'].map((path) => client.ensure(path)))
  expect(await client.countDescendants('/tree')).toBe(5)
  await client.deleteTree('/tree')
  expect(await client.exists('/tree')).toBeUndefined()
  await client.deleteTree('/tree')
})

test('reads of every consistency are answered', async () => {
  const client = await fixture.open()
  await client.create('/consistent', 'x')
  for (const consistency of ['local', 'session', 'linearizable'] as const) {
    const { data } = await client.get('/consistent', { consistency })
    expect(textOf(data)).toBe('x')
  }
})

test('large data arrives whole', async () => {
  const client = await fixture.open()
  const data = new Uint8Array(900_000).map((_, i) => i)
  await client.create('/large', data)
  const reads = await Promise.all([client.get('/large'), client.get('/large')])
  for (const read of reads) expect(Buffer.compare(read.data, data)).toBe(0)
})

test('a removed one-shot watch is not called any more', async () => {
  const client = await fixture.open()
  await client.create('/taken-back')
  const called: string[] = []
  await client.get('/taken-back', { watch: () => called.push('data') })
  await client.exists('/taken-back', { watch: () => called.push('exists') })
  const isChildTold = new Promise<void>((resolve) => {
    void client.children('/taken-back', {
      watch: () => {
        called.push('children')
        resolve()
      },
    })
  })
  await client.sync()
  await client.removeWatches('/taken-back', 'data')
  await client.set('/taken-back', 'x')
  await client.create('/taken-back/child')
  await isChildTold
  expect(called).toEqual(['children'])
  await client.children('/taken-back', { watch: () => called.push('again') })
  await client.removeWatches('/taken-back')
  await client.delete('/taken-back/child')
  await client.sync()
  expect(called).toEqual(['children'])
  // Removing a watch that does not exist succeeds.
  await client.removeWatches('/taken-back')
})
