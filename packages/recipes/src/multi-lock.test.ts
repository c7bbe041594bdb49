import { aborted, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire } from '../test/support/trouble.ts'
import { Lock } from './lock.ts'
import { MultiLock } from './multi-lock.ts'

const fixture = useServer()

test('naming the same locks in another order does not deadlock', async () => {
  const client = await fixture.open()
  const [one, other] = [
    new MultiLock(client, ['/multi/a', '/multi/b', '/multi/c']),
    new MultiLock(client, ['/multi/c', '/multi/b', '/multi/a', '/multi/a']),
  ]
  expect(one.paths).toEqual(other.paths)
  let inside = 0
  const work = async (): Promise<void> => {
    expect(++inside).toBe(1)
    await client.sync()
    inside--
  }
  const all = Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? one : other).run(work))
  await Promise.all(all)
})

test('each of them is an ordinary lock', async () => {
  const client = await fixture.open()
  const both = new MultiLock(client, ['/each/a', '/each/b'])
  const single = await new Lock(client, '/each/b').acquire()
  expect(await both.tryAcquire()).toBeUndefined()
  const waiting = both.acquire()
  await untilChildren(client, '/each/a', 1)
  await single.release()
  const held = await waiting
  expect(held.token).toBeGreaterThan(single.token)
  await held.guard(client.transaction().create('/each/guarded')).commit()
  await held.release()
  for (const path of ['/each/a', '/each/b']) expect(await client.children(path)).toEqual([])
})

test('giving up while waiting for one releases the others', async () => {
  const client = await fixture.open()
  const last = await new Lock(client, '/given-up/z').acquire()
  const late = new MultiLock(client, ['/given-up/a', '/given-up/z']).acquire({ timeoutMs: 60 })
  await expect(late).rejects.toMatchObject({ code: 'timeout' })
  await untilChildren(client, '/given-up/a', 0)
  await untilChildren(client, '/given-up/z', 1)
  await last.release()
})

test('losing one while waiting for another ends the wait', async () => {
  const client = await fixture.open()
  const last = await new Lock(client, '/lost-one/z').acquire()
  const waiting = new MultiLock(client, ['/lost-one/a', '/lost-one/z']).acquire()
  const refused = expect(waiting).rejects.toMatchObject({ code: 'lost', reason: 'deleted' })
  await untilChildren(client, '/lost-one/a', 1)
  const [name] = await client.children('/lost-one/a')
  await client.delete(`/lost-one/a/${name}`)
  await refused
  await last.release()
})

test('all are lost with the session', async () => {
  const client = await fixture.open()
  const held = await new MultiLock(client, ['/expired/a', '/expired/b']).acquire()
  const lost = aborted(held.signal)
  await expire(client, fixture.connectString)
  await lost
})

test('arguments are checked', async () => {
  const client = await fixture.open()
  expect(() => new MultiLock(client, [])).toThrow('paths is empty')
  expect(() => new MultiLock(client, ['/a', 'b'])).toThrow("'b' is not a path")
})
