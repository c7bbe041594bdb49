import { expect, test } from 'vitest'
import { ConnectionLossError, SessionExpiredError } from '../errors.ts'
import type { Stat } from '../stat.ts'
import { LiveWatching, type WatchPort } from './watching.ts'

test('losing the connection while setting a watch, or while comparing, does not end the watch', async () => {
  const losses = { add: 2, exists: 2 }
  const orLoss = <T>(name: keyof typeof losses, value: T): Promise<T> =>
    losses[name]-- > 0 ? Promise.reject(new ConnectionLossError(false)) : Promise.resolve(value)
  const port: WatchPort = {
    add: () => orLoss('add', undefined),
    remove: () => {},
    exists: () => orLoss('exists', { mzxid: 7n, pzxid: 7n, czxid: 7n } as Stat),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new LiveWatching(port, '/a', { initial: true })
  await watching.ready
  const { value } = await watching.next()
  expect(value).toMatchObject({ type: 'initial', path: '/a', zxid: 7n, missed: false })
})

test('a session that expires during a comparison does not start a second one', async () => {
  const looks: { resolve: (stat: Stat | undefined) => void; reject: (error: Error) => void }[] = []
  const port: WatchPort = {
    add: () => Promise.resolve(),
    remove: () => {},
    exists: () => new Promise((resolve, reject) => looks.push({ resolve, reject })),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new LiveWatching(port, '/a', {})
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await turn()
  watching.resumed()
  looks[0]!.reject(new SessionExpiredError(false))
  watching.lost(new SessionExpiredError(false))
  await turn()
  // One in the old session, one in the new.
  expect(looks).toHaveLength(2)
  looks[1]!.resolve(undefined)
  await watching.ready
  expect(looks).toHaveLength(2)
})

test('a comparison that continues in the next session before the watch is set is the only one', async () => {
  const looks: ((stat: Stat | undefined) => void)[] = []
  const port: WatchPort = {
    add: () => Promise.resolve(),
    remove: () => {},
    exists: () => new Promise((resolve) => looks.push(resolve)),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new LiveWatching(port, '/a', {})
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await turn()
  watching.lost(new SessionExpiredError(false))
  await turn()
  expect(looks).toHaveLength(1)
  looks[0]!(undefined)
  await turn()
  // Reported during the second comparison, and found missing before.
  watching.event({ type: 'created', path: '/a', zxid: 7n })
  looks[1]!(undefined)
  await watching.ready
  await turn()
  expect(await watching.next()).toMatchObject({ value: { type: 'sessionExpired' } })
  expect(await watching.next()).toMatchObject({ value: { type: 'created', path: '/a' } })
  expect(watching.isDrained).toBe(false)
  void watching.next()
  expect(watching.isDrained).toBe(true)
})

test('after the last session, a watch that would continue in the next one fails', async () => {
  let isClosed = false
  const expired = new SessionExpiredError(false)
  const port: WatchPort = {
    add: () => (isClosed ? Promise.reject(expired) : Promise.resolve()),
    remove: () => {},
    exists: () => Promise.resolve(undefined),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new LiveWatching(port, '/a', {})
  await watching.ready
  const next = watching.next()
  isClosed = true
  watching.lost(expired)
  expect(await next).toMatchObject({ value: { type: 'sessionExpired' } })
  await expect(watching.next()).rejects.toBe(expired)
  await expect(new LiveWatching(port, '/a', {}).next()).rejects.toBe(expired)
})
