import type { Stat } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { ConnectionLossError } from '../errors.ts'
import { Watching, type WatchPort } from './watching.ts'

test('a connection that is lost while a watch is being set, and while looking, does not end it', async () => {
  const losses = { add: 2, exists: 2 }
  const orLoss = <T>(name: keyof typeof losses, value: T): Promise<T> =>
    losses[name]-- > 0 ? Promise.reject(new ConnectionLossError(false)) : Promise.resolve(value)
  const port: WatchPort = {
    add: () => orLoss('add', undefined),
    remove: () => {},
    exists: () => orLoss('exists', { mzxid: 7n, pzxid: 7n, czxid: 7n } as Stat),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new Watching(port, '/a', { initial: true })
  await watching.ready
  const { value } = await watching.next()
  expect(value).toMatchObject({ type: 'initial', path: '/a', zxid: 7n, missed: false })
})
