import { text } from '@zabra/client'
import { expect, test } from 'vitest'
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

test('a name cannot stand for nothing', async () => {
  const names = await open('/nothing')
  await expect(names.bind('a', '')).rejects.toThrow(TypeError)
  await expect(names.rebind('a', '')).rejects.toThrow(TypeError)
})

test('a name can be waited for and followed', async () => {
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

test('whether a name was bound or unbound is known, though the reply is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const names = new NameService(client, '/lost', { codec: text })
  const other = await open('/lost')
  await names.bind('first', 'y')
  await using live = await other.live('second')
  proxy.mute()
  const bound = names.bind('second', 'x')
  await live.until((value) => value === 'x')
  proxy.heal()
  proxy.drop()
  expect(await bound).toBe(true)
  proxy.mute()
  const unbound = names.unbind('second')
  await live.until((value) => value === undefined)
  proxy.heal()
  proxy.drop()
  expect(await unbound).toBe(true)
})

test('a registered name lives as long as its program, through its sessions', async () => {
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

test('the deadline counts also where the connection is lost meanwhile', async () => {
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
