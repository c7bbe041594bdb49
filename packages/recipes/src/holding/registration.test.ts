import { ClosedError, OperationError, text, type Client, type CreateOptions } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { Registration } from './registration.ts'

const fixture = useServer()
const { signal } = new AbortController()

test('a registration ends when its client begins to close', async () => {
  const [client, other] = [await fixture.open(), await fixture.open()]
  const there = new Registration(client, '/closing/there', text, '')
  await there.registered(signal)
  await other.create('/closing/taken')
  const waiting = new Registration(client, '/closing/taken', text, '')
  const waited = waiting.registered(signal).catch((error: unknown) => error)
  const closing = client.close()
  expect(there.signal.reason).toMatchObject({ reason: 'closed' })
  expect(there.presence.current).toBe('absent')
  expect(await waited).toBeInstanceOf(ClosedError)
  await closing
})

test('giving up leaves nothing behind, even if the server does not answer for a while', async () => {
  const client = await fixture.open()
  await client.ensure('/orphan')
  const registration = new Registration(client, '/orphan/one', text, '')
  const create = client.create.bind(client)
  const exists = client.exists.bind(client)
  const releasing = new Promise<void>((resolve, reject) => {
    const giveUp = (path: string, data?: Uint8Array, options?: CreateOptions) => {
      client.create = create
      registration.release().then(resolve, reject)
      return create(path, data, options)
    }
    client.create = giveUp as Client['create']
  })
  client.exists = () => {
    client.exists = exists
    return Promise.reject(new OperationError('throttledOp'))
  }
  await releasing
  expect(await client.exists('/orphan/one')).toBeUndefined()
})
