import { ClosedError, text } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { Registration } from './registration.ts'

const fixture = useServer()
const { signal } = new AbortController()

test('a registration ends when its client begins to be closed', async () => {
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
