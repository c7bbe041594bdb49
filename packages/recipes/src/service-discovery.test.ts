import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire } from '../test/support/trouble.ts'
import { ServiceDiscovery, type DiscoverOptions } from './service-discovery.ts'
import { uriOf } from './service-instance.ts'

const fixture = useServer()

async function discover(base: string, options: DiscoverOptions<unknown> = {}) {
  const service = await new ServiceDiscovery(await fixture.open(), base).discover('web', options)
  onTestFinished(() => service[Symbol.asyncDispose]())
  return service
}

test('an instance is registered in the format of Curator', async () => {
  const client = await fixture.open()
  const before = Date.now()
  await new ServiceDiscovery(client, '/curator').register({
    name: 'web',
    id: 'one',
    address: '10.0.0.1',
    port: 80,
    payload: { zone: 'x' },
    uriSpec: {
      parts: [
        { value: 'scheme', variable: true },
        { value: '://', variable: false },
        { value: 'address', variable: true },
        { value: ':', variable: false },
        { value: 'port', variable: true },
      ],
    },
  })
  const { data, stat } = await client.get('/curator/web/one')
  const written = JSON.parse(Buffer.from(data).toString()) as Record<string, unknown>
  expect(Object.keys(written)).toEqual([
    'name',
    'id',
    'address',
    'port',
    'sslPort',
    'payload',
    'registrationTimeUTC',
    'serviceType',
    'uriSpec',
    'enabled',
  ])
  expect(written).toMatchObject({ sslPort: null, serviceType: 'DYNAMIC', enabled: true })
  expect(Math.abs(Number(written['registrationTimeUTC']) - before)).toBeLessThan(60_000)
  expect(stat.ephemeralOwner).toBe(client.session!.id)
  const service = await discover('/curator')
  expect(uriOf(service.current[0]!)).toBe('http://10.0.0.1:80')
  expect(await new ServiceDiscovery(client, '/curator').list()).toEqual(['web'])
})

test('registrations of Java programs are understood, old and new', async () => {
  const client = await fixture.open()
  await client.ensure('/java/web')
  const old = `{"name":"web","id":"old","address":"h","port":1,"sslPort":null,"payload":
    {"@class":"com.example.Details","zone":"x"},"registrationTimeUTC":1325129459728,
    "serviceType":"DYNAMIC","uriSpec":null}`
  await client.create('/java/web/old', old)
  await client.create('/java/web/new', '{"name":"web","id":"new","enabled":false,"more":1}')
  const problems: string[] = []
  await client.create('/java/web/strange', 'no JSON')
  await client.create('/java/web/nameless', '{}')
  const service = await discover('/java', { onProblem: ({ path }) => problems.push(path) })
  expect(service.current).toEqual([
    {
      name: 'web',
      id: 'old',
      address: 'h',
      port: 1,
      sslPort: null,
      payload: { '@class': 'com.example.Details', zone: 'x' },
      registrationTimeUTC: 1325129459728,
      serviceType: 'DYNAMIC',
      uriSpec: null,
      enabled: true,
    },
  ])
  expect(problems.toSorted()).toEqual(['/java/web/nameless', '/java/web/strange'])
})

test('instances come, change and go, through the sessions of their programs', async () => {
  const service = await discover('/moving')
  expect(service.choose()).toBeUndefined()
  const client = await fixture.open()
  const chosen = service.chosen()
  const registration = await new ServiceDiscovery(client, '/moving').register({
    name: 'web',
    id: 'a',
    port: 1,
  })
  expect((await chosen).port).toBe(1)
  await expire(client, fixture.connectString)
  await registration.presence.until((now) => now === 'present')
  await service.until((instances) => instances.length === 1)
  await registration.update({ ...service.current[0]!, port: 2 })
  await service.until(([only]) => only?.port === 2)
  const [instance] = service.current
  await registration.update({ ...instance!, enabled: false })
  await service.until((instances) => instances.length === 0)
  await registration.update(instance!)
  await service.until((instances) => instances.length === 1)
  await registration.release()
  await service.until((instances) => instances.length === 0)
})

test('instances are chosen in turn, at random, or always the same', async () => {
  const client = await fixture.open()
  for (const id of ['a', 'b', 'c'])
    await new ServiceDiscovery(client, '/chosen').register({ name: 'web', id })
  const inTurn = await discover('/chosen')
  const ids = Array.from({ length: 4 }, () => inTurn.choose()!.id)
  expect(ids).toEqual(['a', 'b', 'c', 'a'])
  const sticky = await discover('/chosen', { strategy: 'sticky' })
  const favourite = sticky.choose()!.id
  expect(Array.from({ length: 5 }, () => sticky.choose()!.id)).toEqual(Array(5).fill(favourite))
  const random = await discover('/chosen', { strategy: 'random' })
  expect(new Set(Array.from({ length: 100 }, () => random.choose()!.id)).size).toBe(3)
  const own = await discover('/chosen', { strategy: (all) => all.at(-1) })
  expect(own.choose()!.id).toBe('c')
})

test('a failing instance is skipped for a while, unless there is no other', async () => {
  const client = await fixture.open()
  for (const id of ['a', 'b'])
    await new ServiceDiscovery(client, '/errors').register({ name: 'web', id })
  const service = await discover('/errors', { strategy: (all) => all[0], errorsLastMs: 500 })
  const a = service.choose()!
  service.noteError(a)
  expect(service.choose()!.id).toBe('a')
  service.noteError(a)
  expect(service.choose()!.id).toBe('b')
  const b = service.choose()!
  service.noteError(b)
  service.noteError(b)
  expect(service.choose()!.id).toBe('a')
  const patient = await discover('/errors', { strategy: (all) => all[0], errorsLastMs: 0 })
  patient.noteError(a)
  patient.noteError(a)
  expect(patient.choose()!.id).toBe('a')
})

test('only dynamic instances can be registered', async () => {
  const client = await fixture.open()
  const discovery = new ServiceDiscovery(client, '/typed')
  // @ts-expect-error: as from JavaScript.
  const registered = discovery.register({ name: 'web', serviceType: 'PERMANENT' })
  await expect(registered).rejects.toThrow(TypeError)
  expect(await client.exists('/typed')).toBeUndefined()
})

test.each([{ name: 'a/b' }, { name: '' }, { name: 'web', id: 'a/b' }])(
  'a service of no proper name is refused: %j',
  async (offer) => {
    const client = await fixture.open()
    await expect(new ServiceDiscovery(client, '/named').register(offer)).rejects.toThrow(TypeError)
  },
)

test('a payload is checked on request, if there is one', async () => {
  const client = await fixture.open()
  await new ServiceDiscovery(client, '/checked').register({ name: 'web', id: 'c' })
  await new ServiceDiscovery(client, '/checked').register({
    name: 'web',
    id: 'a',
    payload: { zone: 1 },
  })
  await new ServiceDiscovery(client, '/checked').register({
    name: 'web',
    id: 'b',
    payload: { zone: 'x' },
  })
  const problems: string[] = []
  await using service = await new ServiceDiscovery(client, '/checked').discover('web', {
    check(payload): { zone: string } {
      const { zone } = payload as { zone: unknown }
      if (typeof zone !== 'string') throw new TypeError('no zone')
      return { zone }
    },
    onProblem: ({ path }) => problems.push(path),
  })
  expect(service.current.map(({ payload }) => payload?.zone)).toEqual(['x', undefined])
  expect(problems).toEqual(['/checked/web/a'])
})
