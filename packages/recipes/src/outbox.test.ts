import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { Outbox, type Letter } from './outbox.ts'

const fixture = useServer()
const { signal } = new AbortController()
const letter: Letter = { name: 'letter-', data: new Uint8Array(0), ephemeral: false, signal }

test('what is posted in the moment in which all is sent is sent as well', async () => {
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
