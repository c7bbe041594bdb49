import { ConnectionLossError, text, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import type { FaultProxy } from '@zabra/testing'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied, outlived } from '../test/support/trouble.ts'
import { NameService } from './name-service.ts'

const fixture = useServer()
const open = async (path: string) => new NameService(await fixture.open(), path, { codec: text })

test('names are bound, looked up, listed and unbound', async () => {
  const names = await open('/names')
  expect(await names.bind('db/primary', '10.0.0.1')).toBe(true)
  expect(await names.bind('db/primary', '10.0.0.2')).toBe(false)
  expect(await names.bind('cache', '10.0.0.3')).toBe(true)
  expect(await names.lookup('db/primary')).toBe('10.0.0.1')
  expect(await names.lookup('db/replica')).toBeUndefined()
  expect(await names.lookup('db')).toBeUndefined()
  expect([await names.list(), await names.list('db'), await names.list('none')]).toEqual([
    ['cache', 'db'],
    ['primary'],
    [],
  ])
  await names.rebind('db/primary', '10.0.0.2')
  await names.rebind('db/replica', '10.0.0.4')
  expect(await names.lookup('db/primary')).toBe('10.0.0.2')
  expect(await names.lookup('db/replica')).toBe('10.0.0.4')
  expect([await names.unbind('cache'), await names.unbind('cache')]).toEqual([true, false])
  expect(await names.lookup('cache')).toBeUndefined()
})

test('a name cannot have an empty value', async () => {
  const names = await open('/nothing')
  await expect(names.bind('a', '')).rejects.toThrow(TypeError)
  await expect(names.rebind('a', '')).rejects.toThrow(TypeError)
  await expect(names.register('a', '')).rejects.toThrow(TypeError)
  await using registration = await names.register('a', 'something')
  await expect(registration.update('')).rejects.toThrow(TypeError)
  expect(await names.lookup('a')).toBe('something')
})

test('a folder with names in it cannot have a value', async () => {
  const names = await open('/folders')
  await names.bind('a/b', 'x')
  const refused = { reason: 'notEmpty', path: '/folders/a' }
  await expect(names.bind('a', 'y')).rejects.toMatchObject(refused)
  await expect(names.rebind('a', 'y')).rejects.toMatchObject(refused)
  expect([await names.lookup('a'), await names.list('a')]).toEqual([undefined, ['b']])
})

test.each(['bind', 'rebind'] as const)(
  'an empty folder is replaced by a name, permanently: %s',
  async (bind) => {
    const client = await fixture.open()
    const names = new NameService(client, `/empty-${bind}`, { codec: text })
    const path = `/empty-${bind}/a`
    await client.ensure(path, { container: true })
    const folder = await client.exists(path)
    await names[bind]('a', 'x')
    expect(await names.lookup('a')).toBe('x')
    // A former container is another node, and no container.
    expect((await client.exists(path))?.czxid).toBeGreaterThan(folder!.czxid)
  },
)

test('of concurrent calls, one replaces an empty folder', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => fixture.open()))
  await clients[0]!.ensure('/contested/a', { container: true })
  const bound = await Promise.all(
    clients.map((client, i) =>
      new NameService(client, '/contested', { codec: text }).bind('a', `of ${i}`),
    ),
  )
  expect(bound.filter(Boolean)).toHaveLength(1)
  const names = new NameService(clients[0]!, '/contested', { codec: text })
  expect(await names.lookup('a')).toBe(`of ${bound.indexOf(true)}`)
})

test('a name is bound even if the reply is lost and somebody has unbound it since', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const names = new NameService(client, '/unbound', { codec: text })
  const other = await open('/unbound')
  await client.ensure('/unbound')
  muteOn(client, proxy)
  const bound = names.bind('a', 'x')
  expect(await other.resolve('a')).toBe('x')
  // It is unbound after the second attempt was refused, and before the read.
  const get = client.get.bind(client) as (...args: unknown[]) => Promise<never>
  client.get = async (...args: unknown[]): Promise<never> => {
    client.get = get
    await other.unbind('a')
    await client.sync()
    return get(...args)
  }
  proxy.reset()
  await proxy.heal()
  expect(await bound).toBe(true)
  expect(await other.lookup('a')).toBe('x')
})

test('a name can be awaited and followed', async () => {
  const names = await open('/followed')
  await expect(names.resolve('later', { timeoutMs: 20 })).rejects.toMatchObject({ code: 'timeout' })
  const resolved = names.resolve('later')
  const other = await open('/followed')
  await using live = await other.live('later')
  expect(live.current).toBeUndefined()
  await other.bind('later', 'here')
  expect(await resolved).toBe('here')
  await other.rebind('later', 'there')
  await live.until((value) => value === 'there')
  await other.unbind('later')
  await live.until((value) => value === undefined)
})

test('the outcome of bind and unbind is known even if the reply is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const names = new NameService(client, '/lost', { codec: text })
  const other = await open('/lost')
  await names.bind('first', 'y')
  await using live = await other.live('second')
  proxy.hold({ direction: 'toClient' })
  const bound = names.bind('second', 'x')
  await live.until((value) => value === 'x')
  proxy.reset()
  await proxy.heal()
  expect(await bound).toBe(true)
  proxy.hold({ direction: 'toClient' })
  const unbound = names.unbind('second')
  await live.until((value) => value === undefined)
  proxy.reset()
  await proxy.heal()
  expect(await unbound).toBe(true)
})

type Change = (path: string, ...rest: unknown[]) => Promise<unknown>

/** The reply to the next change is lost, unless the change is to set a missing node. */
function muteOn(client: Client, proxy: FaultProxy): void {
  const changes = ['create', 'set', 'delete'] as const
  for (const name of changes) {
    const change = client[name].bind(client) as Change
    const muted: Change = async (path, ...rest) => {
      if (name !== 'set' || (await client.exists(path)) !== undefined) {
        for (const each of changes) Reflect.deleteProperty(client, each)
        proxy.hold({ direction: 'toClient' })
      }
      return change(path, ...rest)
    }
    Object.assign(client, { [name]: muted })
  }
}

test('a lost reply does not undo what others have bound since', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const names = new NameService(client, '/since', { codec: text })
  const other = await open('/since')
  const unknown = { code: 'connectionLoss', mayHaveHappened: true }
  const lose = async (act: () => Promise<unknown>, meanwhile: () => Promise<unknown>) => {
    muteOn(client, proxy)
    const outcome = act().catch((error: unknown) => error)
    await meanwhile()
    proxy.reset()
    await proxy.heal()
    expect(await outcome).toMatchObject(unknown)
  }
  await using live = await other.live('a')
  await names.bind('a', 'first')
  await live.until((value) => value === 'first')
  await lose(
    () => names.unbind('a'),
    async () => {
      await live.until((value) => value === undefined)
      await other.bind('a', 'second')
    },
  )
  expect(await other.lookup('a')).toBe('second')
  await lose(
    () => names.rebind('a', 'third'),
    async () => {
      await live.until((value) => value === 'third')
      await other.rebind('a', 'fourth')
    },
  )
  expect(await other.lookup('a')).toBe('fourth')
  await lose(
    () => names.rebind('a', 'fifth'),
    async () => {
      await live.until((value) => value === 'fifth')
      await other.unbind('a')
    },
  )
  expect(await other.lookup('a')).toBeUndefined()
  await lose(
    () => names.rebind('b', 'first'),
    async () => {
      expect(await other.resolve('b')).toBe('first')
      await other.rebind('b', 'second')
    },
  )
  expect(await other.lookup('b')).toBe('second')
})

test('what is lost with the connection is repeated, once it is known not to have happened', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const names = new NameService(client, '/arrived', { codec: text })
  await names.bind('a', 'first')
  let losses = 0
  const loseNext = (name: 'set' | 'delete'): void => {
    const lost = (): Promise<never> => {
      losses++
      Reflect.deleteProperty(client, name)
      proxy.reset()
      return Promise.reject(new ConnectionLossError(true))
    }
    Object.assign(client, { [name]: lost })
  }
  loseNext('set')
  await names.rebind('a', 'second')
  expect(await names.lookup('a')).toBe('second')
  loseNext('delete')
  expect(await names.unbind('a')).toBe(true)
  expect(await names.lookup('a')).toBeUndefined()
  expect(losses).toBe(2)
})

test('a name without a value is rebound if the request did not arrive', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const names = new NameService(client, '/nowhere', { codec: text })
  await client.sync()
  proxy.hold({ direction: 'toClient' })
  const rebound = names.rebind('folder/a', 'x')
  proxy.reset()
  await proxy.heal()
  await rebound
  expect(await names.lookup('folder/a')).toBe('x')
})

test('a name is rebound even if the reply is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  await client.ensure('/rebound')
  const names = new NameService(client, '/rebound', { codec: text })
  const other = await open('/rebound')
  await using live = await other.live('a')
  for (const value of ['made', 'set']) {
    muteOn(client, proxy)
    const rebound = names.rebind('a', value)
    await live.until((now) => now === value)
    proxy.reset()
    await proxy.heal()
    await rebound
  }
  expect(await other.lookup('a')).toBe('set')
})

test('a lost reply to releasing a name spares the next owner', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const first = await new NameService(client, '/handed', { codec: text }).register('a', 'first')
  const other = await fixture.open()
  const waiting = new NameService(other, '/handed', { codec: text }).register('a', 'second')
  await other.sync()
  proxy.hold({ direction: 'toClient' })
  const released = first.release()
  const second = await waiting
  const { token } = second
  proxy.reset()
  await proxy.heal()
  await released
  await other.sync()
  expect(second.presence.current).toBe('present')
  expect(second.token).toBe(token)
})

test('an owner that lost a name to somebody else does not remove it by releasing', async () => {
  const client = await fixture.open()
  const held = await new NameService(client, '/lost-name', { codec: text }).register('a', 'first')
  const other = await fixture.open()
  await other
    .transaction()
    .delete(held.path)
    .create(held.path, 'second', { ephemeral: true })
    .commit()
  const stat = await other.exists(held.path)
  await held.presence.until((now) => now === 'absent')
  await held.release()
  expect((await other.exists(held.path))?.czxid).toBe(stat?.czxid)
})

test('a registered name survives the sessions of its program', async () => {
  const client = await fixture.open()
  const names = new NameService(client, '/registered', { codec: text })
  const other = await open('/registered')
  await using live = await other.live('me')
  const registration = await names.register('me', 'a')
  await live.until((value) => value === 'a')
  await expire(client, fixture.connectString)
  await registration.update('b')
  await live.until((value) => value === 'b')
  await client.close()
  await live.until((value) => value === undefined)
})

test('the deadline applies even if the connection is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  await client.ensure('/deadline')
  const names = new NameService(client, '/deadline', { codec: text })
  const late = { code: 'timeout', mayHaveHappened: true }
  expect(await outlived(proxy, (limits) => names.bind('a', 'x', limits))).toMatchObject(late)
  await client.sync()
  expect(await outlived(proxy, (limits) => names.rebind('a', 'y', limits))).toMatchObject(late)
  await client.sync()
  expect(await outlived(proxy, (limits) => names.unbind('a', limits))).toMatchObject(late)
})
