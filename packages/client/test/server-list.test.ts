/** Replacing the servers of a running client. */
import { expect, onTestFinished, test } from 'vitest'
import { Client, type State } from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'
import { Proxy } from './support/proxy.ts'

const fixture = useServer()

/** Another way to the same server. */
async function openWay(): Promise<Proxy> {
  const proxy = await Proxy.start(fixture.port)
  onTestFinished(() => proxy.stop())
  return proxy
}

test('a connection to a server that stays in the list stays', async () => {
  const { client, proxy } = await fixture.openProxied()
  const other = await openWay()
  const states: State[] = []
  client.onState((state) => states.push(state))
  client.setServers([other.connectString, proxy.connectString])
  await client.exists('/')
  expect(states).toEqual([])
  expect([proxy.connections, other.connections]).toEqual([1, 0])
  const resumed = nextState(client, 'connected')
  proxy.cut()
  expect(await resumed).toMatchObject({ resumed: true, server: other.connectString })
})

test('a session leaves a server that is not in the list, and keeps its nodes and watches', async () => {
  const { client } = await fixture.openProxied({ sessionTimeoutMs: 4000 })
  const other = await openWay()
  const writer = await fixture.open()
  await client.addAuth('digest', 'ann:pw')
  await client.create('/moves', '', { ephemeral: true })
  const changed = new Promise<string>((resolve) => {
    void client.exists('/moves', { watch: ({ type }) => resolve(type) })
  })
  await client.exists('/')
  const resumed = nextState(client, 'connected')
  client.setServers(other.connectString)
  expect(await resumed).toMatchObject({ resumed: true, server: other.connectString })
  expect((await client.exists('/moves'))?.ephemeralOwner).toBe(client.session?.id)
  expect(await client.whoAmI()).toContainEqual({ scheme: 'digest', user: 'ann' })
  await writer.set('/moves', 'x')
  expect(await changed).toBe('changed')
})

test('a client that finds no server continues with the new ones', async () => {
  const nowhere = await openWay()
  nowhere.cut()
  const client = new Client({ servers: nowhere.connectString, sessionTimeoutMs: 4000 })
  onTestFinished(() => client.close())
  const late = client.connected({ timeoutMs: 50 })
  await expect(late).rejects.toThrow(`no connection to ${nowhere.connectString}`)
  client.setServers(fixture.connectString)
  await client.connected()
  expect(client.state).toMatchObject({ server: fixture.connectString })
})

test('setting servers in a listener of a loss does not mix up connections', async () => {
  const [first, second] = [await openWay(), await openWay()]
  const client = new Client({ servers: first.connectString, sessionTimeoutMs: 4000 })
  onTestFinished(() => client.close())
  client.onState((state) => {
    if (state.name === 'connected') client.setServers(second.connectString)
  })
  const made = [1, 2, 3].map(() => client.create('/told-', '', { sequential: true }))
  expect(new Set((await Promise.all(made)).map(({ path }) => path)).size).toBe(3)
  expect(client.state).toMatchObject({ server: second.connectString })
  expect(first.connections).toBe(0)
})

test('an invalid list is refused with a clear error, and the connection stays', async () => {
  const client = await fixture.open({}, `${fixture.connectString}/app`)
  expect(() => client.setServers('')).toThrow("no server in ''")
  expect(() => client.setServers('a:b')).toThrow("'a:b' is not a server; 'host:port' is")
  expect(() => client.setServers('a:1/other')).toThrow(
    "a client stays below its chroot, '/app': '/other' is another",
  )
  expect(() => client.setServers(7 as unknown as string)).toThrow('or a list, not 7')
  expect(client.state.name).toBe('connected')
  client.setServers(`${fixture.connectString}/app`)
  await client.ensure('/')
  await client.close()
  client.setServers(fixture.connectString)
  expect(client.state.name).toBe('closed')
})
