import { setImmediate } from 'node:timers/promises'
import { nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../../test/support/server.ts'
import { openProxied } from '../../test/support/trouble.ts'
import { Outbox, type Letter } from './outbox.ts'

const fixture = useServer()
const { signal } = new AbortController()
const letter: Letter = { name: 'letter-', data: new Uint8Array(0), ephemeral: false, signal }

test('a letter posted just when everything is sent is sent as well', async () => {
  const client = await fixture.open()
  await client.ensure('/letters')
  const turnsMax = 12
  for (let turns = 0; turns < turnsMax; turns++) {
    const outbox = new Outbox(client, '/letters', '/witnesses')
    await outbox.post(letter)
    for (let i = 0; i < turns; i++) await Promise.resolve()
    await outbox.post(letter)
    await outbox.close()
  }
  expect(await client.children('/letters')).toHaveLength(2 * turnsMax)
  expect(await client.children('/witnesses')).toEqual([])
})

test('nobody waits behind letters whose senders have all given up', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  await client.ensure('/given-up')
  const outbox = new Outbox(client, '/given-up', '/given-up-witnesses')
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const [one, two] = [new AbortController(), new AbortController()]
  const posts = [one, two].map(({ signal: own }) => outbox.post({ ...letter, signal: own }))
  const outcomes = Promise.allSettled(posts)
  // By then it waits to be sent.
  await setImmediate()
  one.abort(new Error('first'))
  two.abort(new Error('second'))
  expect(await outcomes).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  // It does not wait for the first batch.
  await outbox.close()
  await proxy.heal()
  await outbox.post(letter)
  expect(await client.children('/given-up')).toHaveLength(1)
})

test('letters given up on their way are created once at most, and delay nobody', async () => {
  const other = await fixture.open()
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  await client.ensure('/on-the-way')
  const outbox = new Outbox(client, '/on-the-way', '/on-the-way-witnesses')
  await outbox.post(letter)
  const controller = new AbortController()
  proxy.hold({ direction: 'toClient' })
  const post = outbox.post({ ...letter, signal: controller.signal })
  await untilChildren(other, '/on-the-way', 2)
  controller.abort(new Error('enough'))
  await expect(post).rejects.toThrow('enough')
  proxy.reset()
  await proxy.heal()
  await outbox.post(letter)
  expect(await other.children('/on-the-way')).toHaveLength(3)
  await outbox.close()
  await untilChildren(other, '/on-the-way-witnesses', 0)
})

test('a letter that is too long for a request fails alone', async () => {
  const client = await fixture.open({ requestBytesMax: 2000 })
  const outbox = new Outbox(client, '/long', '/long-witnesses')
  const bytesOf = (length: number): Letter => ({ ...letter, data: new Uint8Array(length) })
  const posts = [1, 3000, 1].map((length) => outbox.post(bytesOf(length)))
  const [first, long, last] = await Promise.allSettled(posts)
  expect([first, last]).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }])
  expect(long).toMatchObject({ reason: expect.any(RangeError) as RangeError })
  expect(await client.children('/long')).toHaveLength(2)
})

test('a request takes no more letters than fit with their names', async () => {
  const client = await fixture.open()
  const folder = `/${'long'.repeat(1500)}`
  await client.ensure(folder)
  const outbox = new Outbox(client, folder, '/fitting-witnesses')
  const transaction = client.transaction.bind(client)
  let requests = 0
  client.transaction = () => {
    requests++
    return transaction()
  }
  await Promise.all(Array.from({ length: 200 }, () => outbox.post(letter)))
  expect(requests).toBeLessThan(10)
})
