import { OperationError, text } from '@zabra/client'
import { aborted } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire } from '../test/support/trouble.ts'
import { PersistentNode, PersistentTtlNode } from './persistent-node.ts'

const fixture = useServer({
  'znode.container.checkIntervalMs': 50,
  extendedTypesEnabled: 'true',
})
const isElsewhere = process.env['ZABRA_TEST_CONNECT'] !== undefined
const codec = text

test('a persistent node comes back after an expiry, and after somebody deletes it', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const node = await PersistentNode.open(client, '/kept/node', 'a', { codec })
  await expire(client, fixture.connectString)
  await node.presence.until((now) => now === 'present')
  await node.update('b')
  const deleted = node.presence.until((now) => now === 'absent')
  await other.delete('/kept/node')
  await deleted
  await node.presence.until((now) => now === 'present')
  expect(await other.get('/kept/node', { codec })).toMatchObject({ data: 'b' })
  await node.release()
  expect(await other.exists('/kept/node')).toBeUndefined()
})

test.skipIf(isElsewhere)(
  'a persistent TTL node survives its session, and is deleted when nobody keeps it',
  async () => {
    const client = await fixture.open()
    const other = await fixture.open()
    const options = { codec, ttlMs: 300 }
    const node = await PersistentTtlNode.open(client, '/kept-ttl/node', 'a', options)
    await node.update('b')
    expect(await other.get('/kept-ttl/node', { codec })).toMatchObject({
      data: 'b',
      stat: { ephemeralOwner: expect.anything() as bigint },
    })
    await expire(client, fixture.connectString)
    const from = client.nowMs()
    while (client.nowMs() - from < 900) {
      expect(await other.exists('/kept-ttl/node')).toBeDefined()
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    const gone = new Promise<void>((resolve) => {
      void other.exists('/kept-ttl/node', { watch: () => resolve() })
    })
    const ended = aborted(node.signal)
    await node.close()
    await ended
    await gone
  },
)

test.skipIf(isElsewhere)('a persistent TTL node ends with its client', async () => {
  const client = await fixture.open()
  const options = { codec, ttlMs: 600_000 }
  const node = await PersistentTtlNode.open(client, '/kept-closed/node', 'a', options)
  const ended = aborted(node.signal)
  await client.close()
  expect(await ended).toMatchObject({ code: 'lost', reason: 'closed' })
  await node.close()
})

test.skipIf(isElsewhere)('a persistent TTL node that is deleted comes back', async () => {
  const client = await fixture.open()
  const node = await PersistentTtlNode.open(client, '/kept-again/node', 'a', { codec, ttlMs: 150 })
  const there = new Promise<void>((resolve) => {
    void client
      .deleteTree('/kept-again/node')
      .then(() =>
        client.exists('/kept-again/node', { watch: ({ type }) => type === 'created' && resolve() }),
      )
  })
  await there
  await node.delete()
  expect(await client.exists('/kept-again/node')).toBeUndefined()
})

test.skipIf(isElsewhere)('a persistent TTL node outlives a full disk of the server', async () => {
  const client = await fixture.open()
  const path = '/kept-full/node'
  await using node = await PersistentTtlNode.open(client, path, 'a', { codec, ttlMs: 60 })
  const [set, create] = [client.set.bind(client), client.create.bind(client)]
  const refused = new Promise<void>((resolve) => {
    let refusals = 0
    const refuse = (): Promise<never> => {
      if (++refusals === 3) {
        Object.assign(client, { set, create })
        resolve()
      }
      return Promise.reject(new OperationError('systemError', { path }))
    }
    Object.assign(client, { set: refuse, create: refuse })
  })
  await refused
  await client.deleteTree(path)
  await new Promise<void>((resolve) => {
    void client.exists(path, { watch: () => resolve() }).then((stat) => stat && resolve())
  })
  expect(node.signal.aborted).toBe(false)
})

test('an invalid TTL is refused', async () => {
  const client = await fixture.open()
  const open = PersistentTtlNode.open(client, '/no-ttl', 'a', { codec, ttlMs: 0 })
  await expect(open).rejects.toThrow('ttlMs is a whole number of milliseconds from 1 on, not 0')
})

test('a node that an earlier program left may be deleted while it is opened', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const path = '/left-ttl/node'
  await client.create(path, 'old', { parents: true })
  const set = client.set.bind(client)
  client.set = async (...args: Parameters<typeof set>) => {
    client.set = set
    const stat = await set(...args)
    // Its time is over.
    await other.delete(path)
    return stat
  }
  await using _ = await PersistentTtlNode.open(client, path, 'new', { codec, ttlMs: 10_000 })
  expect(await other.get(path, { codec })).toMatchObject({ data: 'new' })
  expect(await other.children(path)).toEqual(['touch'])
})
