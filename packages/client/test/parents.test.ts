/** Creating nodes together with their parents. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import { acl, type RequestTrace } from '../src/index.ts'
import { useServer } from './support/fixture.ts'

const fixture = useServer()

function onRequest(listener: (trace: RequestTrace) => void): void {
  const listen = (message: unknown): void => listener(message as RequestTrace)
  subscribe('tracing:zabra:client:request:asyncEnd', listen)
  onTestFinished(() => void unsubscribe('tracing:zabra:client:request:asyncEnd', listen))
}

test('missing parents are created, and are not ephemeral', async () => {
  const client = await fixture.open()
  const options = { ephemeral: true, sequential: true, parents: true }
  const { path } = await client.create('/p/q/n-', 'x', options)
  expect(path).toBe('/p/q/n-0000000000')
  expect(await client.exists('/p/q')).toMatchObject({ ephemeralOwner: 0n, dataLength: 0 })
  expect((await client.exists(path))?.ephemeralOwner).toBe(client.session?.id)
  await client.create('/p/q/', '', { sequential: true, parents: true })
  await client.create('/p/r/', '', { sequential: true, parents: true })
  expect(await client.children('/p/r')).toHaveLength(1)
})

test('if the parent exists, nothing else is sent', async () => {
  const client = await fixture.open()
  await client.create('/there')
  const asked: string[] = []
  onRequest(({ operation }) => asked.push(operation))
  await client.create('/there/a', '', { parents: true })
  await expect(client.create('/there/a', '', { parents: true })).rejects.toMatchObject({
    reason: 'nodeExists',
    path: '/there/a',
  })
  await expect(client.create('/there/b/c', '', { parents: false })).rejects.toMatchObject({
    reason: 'noNode',
  })
  expect(asked).toEqual(['create2', 'create2', 'create2'])
})

test('parents may be containers, and have an ACL of their own', async () => {
  const client = await fixture.open({ auth: [{ scheme: 'digest', credentials: 'ann:pw' }] })
  const made: string[] = []
  // A stat does not distinguish a container from other nodes.
  onRequest(({ operation, path, error }) => {
    if (operation.startsWith('create') && error === undefined) made.push(`${operation} ${path}`)
  })
  await client.create('/held/here/n', '', { parents: { container: true } })
  expect(made).toEqual([
    'createContainer /held',
    'createContainer /held/here',
    'create2 /held/here/n',
  ])
  await client.create('/own/here', '', { parents: { acl: acl.creator } })
  expect((await client.getAcl('/own')).acl).toMatchObject([{ id: { scheme: 'digest' } }])
  expect((await client.getAcl('/own/here')).acl).toMatchObject([{ id: { scheme: 'world' } }])
  await client.deleteTree('/own')
})

test('the chroot is a parent, too', async () => {
  const client = await fixture.open({}, `${fixture.connectString}/not/yet`)
  const { path } = await client.create('/n', '', { parents: true })
  expect(path).toBe('/n')
  const root = await fixture.open()
  expect(await root.children('/not/yet')).toEqual(['n'])
})

test('a protected node is created with its parents, and only once if replies are lost', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  let drops = 0
  onRequest(({ operation, error }) => {
    // Some parents are created by now, the replies to others are lost.
    if (operation === 'create2' && error !== undefined && drops++ < 4) proxy.drop()
  })
  const options = { ephemeral: true, sequential: true, protect: true, parents: true }
  const { path } = await client.create('/far/away/lock-', '', options)
  expect(await client.children('/far/away')).toEqual([path.slice('/far/away/'.length)])
})

test('a protected node that is given up while its parents are created is never created', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  onRequest(({ operation }) => {
    if (operation === 'create2') proxy.cut()
  })
  const options = { protect: true, parents: true, timeoutMs: 300 }
  await expect(client.create('/given/up/n', '', options)).rejects.toMatchObject({
    code: 'timeout',
    mayHaveHappened: false,
  })
  proxy.heal()
  await client.sync()
  expect(await client.exists('/given')).toBeUndefined()
})

test('all steps share the deadline of one call', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  onRequest(({ operation }) => {
    if (operation === 'create2') proxy.cut()
  })
  const begunAtMs = client.nowMs()
  const late = client.create('/too/late/n', '', { parents: true, timeoutMs: 300 })
  await expect(late).rejects.toMatchObject({ code: 'timeout' })
  expect(client.nowMs() - begunAtMs).toBeLessThan(3000)
  proxy.heal()
})

test('invalid `parents` options are refused', async () => {
  const client = await fixture.open()
  const parents = 'yes' as unknown as boolean
  await expect(client.create('/asked/n', '', { parents })).rejects.toThrow(
    "parents is true, false or { container, acl }, not 'yes'",
  )
  await expect(client.create('asked', '', { parents: true })).rejects.toMatchObject({
    reason: 'badArguments',
  })
  const options = { parents: true } as { ephemeral?: boolean }
  expect(() => client.transaction().create('/asked/n', '', options)).toThrow(
    'a transaction creates no parents: /asked/n',
  )
  expect(await client.exists('/asked')).toBeUndefined()
})
