import { Client, permissions, type Acl } from '@zabra/client'
import { afterAll, expect, test } from 'vitest'
import {
  Barrier,
  DoubleBarrier,
  Election,
  Lock,
  ReadWriteLock,
  RevocableLock,
  Semaphore,
  SimpleLock,
} from '../src/index.ts'
import { useServer } from './support/server.ts'

const fixture = useServer()
const acl: readonly Acl[] = [{ perms: permissions.all, id: { scheme: 'auth', id: '' } }]
const options = { acl }
const auth = [{ scheme: 'digest', credentials: 'me:secret' }]

// Nobody else has access, if the server outlives the test.
afterAll(async () => {
  const client = new Client({ servers: fixture.connectString, auth })
  for (const name of await client.children('/')) await client.deleteTree(`/${name}`)
  await client.close()
})

const recipes: readonly [string, (client: Client, path: string) => Promise<unknown>][] = [
  ['a lock', (client, path) => new Lock(client, path, options).acquire()],
  ['a simple lock', (client, path) => new SimpleLock(client, path, options).acquire()],
  ['a read/write lock', (client, path) => new ReadWriteLock(client, path, options).read.acquire()],
  ['a revocable lock', (client, path) => new RevocableLock(client, path, options).write.acquire()],
  ['a semaphore', (client, path) => new Semaphore(client, path, 1, options).acquire()],
  ['an election', (client, path) => new Election(client, path, options).campaign()],
  ['a barrier', (client, path) => new Barrier(client, path, options).raise()],
  ['a double barrier', (client, path) => new DoubleBarrier(client, path, 1, options).enter()],
]

test.each(recipes)('the nodes of %s have the requested ACL', async (name, use) => {
  const path = `/${name.replaceAll(/\W/g, '-')}/node`
  const client = await fixture.open({ auth })
  await use(client, path)
  const paths = await everythingBelow(client, path)
  const acls = await Promise.all(paths.map((at) => client.getAcl(at)))
  for (const [{ id }] of acls.map((answer) => answer.acl as [Acl])) expect(id.scheme).toBe('digest')
  const stranger = await fixture.open()
  await expect(stranger.children(path)).rejects.toMatchObject({ reason: 'noAuth' })
})

async function everythingBelow(client: Client, path: string): Promise<string[]> {
  const children = await client.children(path)
  const below = await Promise.all(
    children.map((name) => everythingBelow(client, `${path}/${name}`)),
  )
  return [path, ...below.flat()]
}
