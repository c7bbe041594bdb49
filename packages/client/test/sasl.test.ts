import { fileURLToPath } from 'node:url'
import { startServer } from '@zabra/server'
import { describe, expect, test } from 'vitest'
import { Client } from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'

const usersFile = fileURLToPath(new URL('support/users.txt', import.meta.url))
const fixture = useServer({ 'sasl.usersFile': usersFile })

/** The user and password on another server under test, as `user:password`. */
const given = process.env['ZABRA_TEST_SASL']
const [username = '', password = ''] = (given ?? 'bob:secret').split(':')

describe('against a server with SASL DIGEST-MD5', () => {
  test('an identity is proven on every connection', async () => {
    const { client, proxy } = await fixture.openProxied({ sasl: { username, password } })
    await client.create('/sasl', 'x', {
      acl: [{ perms: 31, id: { scheme: 'sasl', id: username } }],
    })
    const resumed = nextState(client, 'connected')
    proxy.drop()
    await resumed
    await client.set('/sasl', 'y')
    const stranger = await fixture.open()
    await expect(stranger.get('/sasl')).rejects.toMatchObject({ reason: 'noAuth' })
  })

  test('a wrong password closes the client', async () => {
    const client = new Client({
      servers: fixture.connectString,
      sasl: { username, password: 'no' },
    })
    await expect(client.get('/')).rejects.toMatchObject({ reason: 'authFailed' })
    expect(client.state.name).toBe('closed')
  })
})

test('a server without SASL is refused', async () => {
  await using server = await without()
  const client = new Client({ servers: server.connectString, sasl: { username, password } })
  await expect(client.get('/')).rejects.toMatchObject({ reason: 'authFailed' })
  await expect(client.connected()).rejects.toMatchObject({ reason: 'authFailed' })
})

async function without() {
  const server = await startServer()
  return { connectString: server.connectString, [Symbol.asyncDispose]: () => server.stop() }
}
