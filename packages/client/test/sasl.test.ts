import { describe, expect, test } from 'vitest'
import { Client } from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'

const fixture = useServer()

/** The user and the password that the server under test knows, as `user:password`. */
const known = process.env['ZABRA_TEST_SASL']

if (known === undefined)
  console.log('NOT RUN here: SASL DIGEST-MD5, which no server of ours has; see npm run test:apache')

describe.skipIf(known === undefined)('against a server that knows SASL DIGEST-MD5', () => {
  const [username = '', password = ''] = known?.split(':') ?? []

  test('an identity is proven, on every connection', async () => {
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

test.skipIf(known !== undefined)('a server without SASL is not trusted without it', async () => {
  const sasl = { username: 'bob', password: 'pw' }
  const client = new Client({ servers: fixture.connectString, sasl })
  await expect(client.get('/')).rejects.toMatchObject({ reason: 'authFailed' })
  await expect(client.connected()).rejects.toMatchObject({ reason: 'authFailed' })
})
