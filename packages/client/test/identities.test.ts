/** Identities that one connection accepts and another refuses. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import type { AuthRefusal, Client } from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'

const fixture = useServer()

function published(): AuthRefusal[] {
  const traces: AuthRefusal[] = []
  const listen = (message: unknown): unknown => traces.push(message as AuthRefusal)
  subscribe('zabra:client:auth', listen)
  onTestFinished(() => void unsubscribe('zabra:client:auth', listen))
  return traces
}

const ann = { scheme: 'digest', user: 'ann' }

/** Resolves when the client was told of this many refusals. */
function refusals(client: Client, count: number): Promise<AuthRefusal[]> {
  const heard: AuthRefusal[] = []
  return new Promise((resolve) => {
    client.onAuthRefused((refusal) => {
      if (heard.push(refusal) === count) resolve(heard)
    })
  })
}

test('an identity that a later server refuses is reported, and the session continues without it', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  const traces = published()
  await client.addAuth('digest', 'ann:pw')
  await client.addAuth('digest', 'bob:pw')
  await client.create('/stays-without', '', { ephemeral: true })
  const { id } = client.session!
  let losses = 0
  client.onState(({ name }) => {
    if (name === 'suspended') losses++
  })
  const refused = refusals(client, 2)
  proxy.forge('digest', 'nobody')
  proxy.drop()
  const refusal = {
    scheme: 'digest',
    server: proxy.connectString,
    error: { reason: 'authFailed' },
  }
  expect(await refused).toMatchObject([refusal, refusal])
  expect(traces).toMatchObject([refusal, refusal])
  expect((await client.exists('/stays-without'))?.ephemeralOwner).toBe(id)
  expect(await client.whoAmI()).not.toContainEqual(ann)
  // One for the connection that broke, and one for each identity.
  expect(losses).toBe(3)
})

test('a listener may present another identity', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  await client.addAuth('digest', 'bob:pw')
  const presented = new Promise<void>((resolve, reject) => {
    client.onAuthRefused(({ scheme }) => {
      proxy.heal()
      client.addAuth(scheme, 'ann:pw').then(resolve, reject)
    })
  })
  proxy.forge('digest', 'nobody')
  proxy.drop()
  await presented
  expect(await client.whoAmI()).toContainEqual(ann)
})

test('a refusal rejects the pending call, and is published on channels', async () => {
  const client = await fixture.open()
  const traces = published()
  let told = 0
  client.onAuthRefused(() => told++)
  await expect(client.addAuth('nobody', 'x')).rejects.toMatchObject({ reason: 'authFailed' })
  await client.exists('/')
  expect(told).toBe(0)
  expect(traces).toMatchObject([{ scheme: 'nobody', server: fixture.connectString }])
})

test('a refused identity of the options closes the client', async () => {
  const auth = [{ scheme: 'digest', credentials: 'ann:pw' }]
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000, auth })
  const traces = published()
  expect(await client.whoAmI()).toContainEqual(ann)
  const closed = nextState(client, 'closed')
  proxy.forge('digest', 'nobody')
  proxy.drop()
  await closed
  await expect(client.exists('/')).rejects.toMatchObject({ reason: 'authFailed' })
  expect(traces).toHaveLength(1)
})
