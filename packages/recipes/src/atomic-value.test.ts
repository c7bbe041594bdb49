import { json, type Client } from '@zabra/client'
import { nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { AtomicValue } from './atomic-value.ts'

const fixture = useServer()

const numbers = (client: Client, path: string) =>
  new AtomicValue<number[]>(client, path, { codec: json(), initial: [] })

test('a value starts with the initial one, and changes step by step', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/steps/value')
  expect(await value.get()).toEqual({ value: [], version: undefined })
  expect(await value.update((list) => [...list, 1])).toEqual({ value: [1], version: 0 })
  expect(await value.set([7])).toEqual({ value: [7], version: 1 })
  expect((await numbers(client, '/steps/value').get()).value).toEqual([7])
})

test('compareAndSet sets only a value that is unchanged since it was read', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/compared')
  const none = await value.get()
  const first = await value.compareAndSet(none, [1])
  expect(first).toEqual({ value: [1], version: 0 })
  expect(await value.compareAndSet(none, [2])).toBeUndefined()
  expect(await value.compareAndSet(first!, [3])).toEqual({ value: [3], version: 1 })
})

test('a value that somebody else creates first is not overwritten unseen', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/foreign')
  const none = await value.get()
  await client.create('/foreign', '[5]')
  expect(await value.compareAndSet(none, [1])).toBeUndefined()
  expect((await value.update((list) => [...list, 6])).value).toEqual([5, 6])
})

test('a value appears with its first change, and never with another one', async () => {
  const [client, other] = [await fixture.open(), await fixture.open()]
  await using live = await numbers(other, '/first/value').live()
  const seen: number[][] = []
  live.onChange(({ value }) => seen.push(value))
  await using value = numbers(client, '/first/value')
  await value.set([1])
  await live.until((now) => now.value.length > 0)
  expect(seen).toEqual([[1]])
})

test('a deleted value is created again by the next change, not before it', async () => {
  const [client, other] = [await fixture.open(), await fixture.open()]
  await other.create('/deleted', '[1]')
  const value = numbers(client, '/deleted')
  const live = await numbers(other, '/deleted').live()
  const seen: number[][] = []
  live.onChange((now) => seen.push(now.value))
  const seenBefore = await value.get()
  await other.delete('/deleted')
  expect(await value.compareAndSet(seenBefore, [2])).toBeUndefined()
  expect(await other.exists('/deleted')).toBeUndefined()
  await value.update((list) => [...list, 3])
  await live.until((now) => now.value.includes(3))
  expect(seen.at(-1)).toEqual([3])
  expect(seen).not.toContainEqual([2])
})

test('a first change with a lost reply happens once', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const value = numbers(client, '/first-lost')
  const observer = numbers(other, '/first-lost')
  const isSeen = (await observer.live()).until((now) => now.value.includes(1))
  const update = value.update((list) => {
    proxy.hold({ direction: 'toClient' })
    return [...list, 1]
  })
  await isSeen
  await observer.update((list) => [...list, 2])
  proxy.reset()
  await proxy.heal()
  expect(await update).toEqual({ value: [1], version: 0 })
  expect((await observer.get()).value).toEqual([1, 2])
  await Promise.all([value.close(), observer.close()])
  expect(await other.children('/first-lost')).toEqual([])
})

test('a first change that is given up leaves no unset value', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const value = numbers(client, '/first-given-up')
  const transaction = client.transaction.bind(client)
  client.transaction = () => {
    proxy.cut()
    return transaction()
  }
  await expect(value.set([1], { timeoutMs: 200 })).rejects.toMatchObject({ code: 'timeout' })
  client.transaction = transaction
  await proxy.heal()
  await client.sync()
  expect(await other.exists('/first-given-up')).toBeUndefined()
})

test('a first change that is given up leaves nothing beside its own outcome', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const other = await fixture.open()
  const value = numbers(client, '/first-unheard')
  const isSeen = (await numbers(other, '/first-unheard').live()).until(
    (now) => now.value.length > 0,
  )
  const update = value.update(
    () => {
      proxy.hold({ direction: 'toClient' })
      return [1]
    },
    { timeoutMs: 300 },
  )
  const late = expect(update).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: true })
  await isSeen
  await late
  proxy.reset()
  await proxy.heal()
  await untilChildren(other, '/first-unheard', 0)
})

test('a transaction can require the new version', async () => {
  const client = await fixture.open()
  await client.create('/leads-to')
  const change = () => client.transaction().set('/leads-to', 'x').check('/leads-to', 1).commit()
  await change()
  await expect(change()).rejects.toMatchObject({ reason: 'badVersion' })
  expect((await client.exists('/leads-to'))?.version).toBe(1)
})

test('a value that cannot be decoded is reported with its path', async () => {
  const client = await fixture.open()
  await client.create('/unclear', '{')
  const unclear = { code: 'codec', path: '/unclear', message: 'not JSON: /unclear' }
  await expect(numbers(client, '/unclear').get()).rejects.toMatchObject(unclear)
  await expect(numbers(client, '/unclear').live()).rejects.toMatchObject(unclear)
})

test('if the change throws, the value stays as it is', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/thrown')
  await value.set([1])
  const update = value.update(() => {
    throw new Error('no')
  })
  await expect(update).rejects.toThrow('no')
  expect((await value.update((list) => [...list, 2])).value).toEqual([1, 2])
})

test('no concurrent change is lost', async () => {
  const clients = await Promise.all(Array.from({ length: 5 }, () => fixture.open()))
  const values = clients.map((client) => numbers(client, '/raced'))
  const changes = values.flatMap((value, i) =>
    Array.from({ length: 10 }, (_, j) => value.update((list) => [...list, i * 10 + j])),
  )
  await Promise.all(changes)
  const { value } = await values[0]!.get()
  expect(value.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i))
})

test('a change with a lost reply happens once', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const value = numbers(client, '/lost')
  const observer = numbers(other, '/lost')
  await value.set([])
  // From now on the object has its witness.
  await value.set([0])
  const isSeen = (await observer.live()).until((now) => now.value.includes(1))
  const update = value.update((list) => {
    // After the read, before the write.
    proxy.hold({ direction: 'toClient' })
    return [...list, 1]
  })
  await isSeen
  // Another client changes it further, so the version alone says nothing.
  await observer.update((list) => [...list, 2])
  proxy.reset()
  await proxy.heal()
  await update
  expect((await observer.get()).value).toEqual([0, 1, 2])
})

test('a change that was not sent is made in the next session', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 400 })
  const value = numbers(client, '/next-session')
  await value.set([0])
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const expired = nextState(client, 'expired')
  const update = value.update((list) => [...list, 1])
  await expired
  await proxy.heal()
  expect((await update).value).toEqual([0, 1])
})

test('after an expiry the object continues', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/expired')
  await value.set([0])
  await expire(client, fixture.connectString)
  expect((await value.update((list) => [...list, 1])).value).toEqual([0, 1])
})

test('a change that is given up does not happen later', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const value = numbers(client, '/given-up')
  await value.set([0])
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const update = value.update((list) => [...list, 1], { timeoutMs: 30 })
  await expect(update).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: true })
  await proxy.heal()
  expect((await value.update((list) => [...list, 2])).value).toEqual([0, 2])
})

test('a witness that somebody has changed or deleted is replaced', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/touched')
  await value.set([])
  await value.set([0])
  const [first] = await client.children('/touched')
  await client.set(`/touched/${first}`, 'x')
  expect((await value.update((list) => [...list, 1])).value).toEqual([0, 1])
  const [second] = await client.children('/touched')
  await client.delete(`/touched/${second}`)
  expect((await value.update((list) => [...list, 2])).value).toEqual([0, 1, 2])
  expect((await value.get()).version).toBe(3)
})

test('closing leaves only the value', async () => {
  const client = await fixture.open()
  {
    await using value = numbers(client, '/left')
    await value.set([1])
    await value.set([2])
    expect(await client.children('/left')).toHaveLength(1)
  }
  expect(await client.children('/left')).toEqual([])
})

test('closing waits for a connection no longer than the session lasts', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 400 })
  const value = numbers(client, '/closed-alone')
  await value.set([1])
  const states: string[] = []
  client.onState(({ name }) => states.push(name))
  proxy.cut()
  await value.close()
  expect(states).toContain('expired')
  expect(states).not.toContain('connected')
})

test('a live value follows all changes', async () => {
  const client = await fixture.open()
  const value = numbers(client, '/live')
  await using live = await value.live()
  expect(live.current).toEqual({ value: [], version: undefined })
  await value.set([1])
  await live.until((now) => now.value[0] === 1)
  await value.set([2])
  await live.until((now) => now.value[0] === 2)
})

test('a read waits for the next session, within its deadline', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 400 })
  const value = numbers(client, '/read-next-session')
  await value.set([0])
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const expired = nextState(client, 'expired')
  const reads = [value.get(), value.get({ consistency: 'local' })]
  await expired
  const limited = value.get({ timeoutMs: 30 })
  await expect(limited).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: false })
  await proxy.heal()
  expect(await Promise.all(reads)).toEqual([
    { value: [0], version: 0 },
    { value: [0], version: 0 },
  ])
})
