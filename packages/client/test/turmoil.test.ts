import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import { Client, ConnectionLossError, type Change, type RequestTrace } from '../src/index.ts'
import { nextState, useServer, type Fixture } from './support/fixture.ts'
import { Proxy } from './support/proxy.ts'

const fixture = useServer()
const drops = 25

/** Breaks the connection repeatedly while `work` runs, and heals it at the end. */
async function inTurmoil(proxy: Proxy, client: Client, work: Promise<unknown>): Promise<void> {
  const progress = { isDone: false }
  void work.finally(() => (progress.isDone = true)).catch(() => {})
  for (let i = 0; i < drops && !progress.isDone; i++) {
    if (i % 3 === 0) proxy.mute()
    await new Promise((resolve) => setTimeout(resolve, 5 + 15 * Math.random()))
    proxy.heal()
    proxy.drop()
    await client.connected()
  }
  proxy.heal()
  await work
}

async function openFor(root: string, from: Fixture) {
  const { client, proxy } = await from.openProxied({
    sessionTimeoutMs: 2000,
    retry: { repeatsMax: 100 },
  })
  const calm = await from.open()
  await calm.ensure(root)
  return { client, proxy, calm }
}

test('acknowledged writes exist, unsent ones do not, and reads are all answered', async () => {
  const { client, proxy, calm } = await openFor('/turmoil', fixture)
  const acknowledged: string[] = []
  const impossible: string[] = []
  let reads = 0
  const worker = async (name: string): Promise<void> => {
    for (let i = 0; i < 60; i++) {
      const path = `/turmoil/${name}-${i}`
      try {
        await client.create(path)
        acknowledged.push(path)
      } catch (error) {
        if (!(error instanceof ConnectionLossError)) throw error
        if (!error.mayHaveHappened) impossible.push(path)
      }
      await client.children('/turmoil')
      reads++
    }
  }
  await inTurmoil(proxy, client, Promise.all(['a', 'b', 'c', 'd'].map(worker)))
  const there = new Set((await calm.children('/turmoil')).map((name) => `/turmoil/${name}`))
  expect(acknowledged.filter((path) => !there.has(path))).toEqual([])
  expect(impossible.filter((path) => there.has(path))).toEqual([])
  expect(reads).toBe(240)
})

test('every protected create makes one node, however often the reply is lost', async () => {
  const { client, proxy, calm } = await openFor('/protected', fixture)
  const made: string[] = []
  const worker = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      const { path } = await client.create('/protected/n-', '', { protect: true, sequential: true })
      made.push(path)
    }
  }
  await inTurmoil(proxy, client, Promise.all([worker(), worker(), worker()]))
  const there = (await calm.children('/protected')).map((name) => `/protected/${name}`)
  expect(there.toSorted()).toEqual(made.toSorted())
})

test('following a watch ends with the actual state', async () => {
  const { client, proxy, calm } = await openFor('/followed', fixture)
  const seen = new Set<string>()
  const controller = new AbortController()
  const changes = client.watch('/followed', {
    recursive: true,
    initial: true,
    signal: controller.signal,
  })
  const follow = async (): Promise<void> => {
    for await (const { type, path } of changes as AsyncIterable<Change>) {
      if (type === 'deleted') seen.delete(path)
      else seen.add(path)
    }
  }
  const following = follow().catch((reason: unknown) => reason)
  onTestFinished(() => controller.abort())
  const change = async (): Promise<void> => {
    for (let i = 0; i < 400; i++) {
      const path = `/followed/${Math.floor(Math.random() * 20)}`
      if ((await calm.exists(path)) === undefined) await calm.create(path)
      else await calm.delete(path)
    }
  }
  await inTurmoil(proxy, client, change())
  const there = (await calm.children('/followed')).map((name) => `/followed/${name}`)
  await expect.poll(() => [...seen].toSorted()).toEqual(['/followed', ...there].toSorted())
  controller.abort('done')
  expect(await following).toBe('done')
})

test('a protected create that is given up before it was sent is never sent', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  const other = await fixture.open()
  await other.create('/withdrawn')
  const changes: string[] = []
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  await other.children('/withdrawn', { watch: ({ type }) => changes.push(type) })
  const options = { protect: true, timeoutMs: 20 }
  await expect(client.create('/withdrawn/n', '', options)).rejects.toMatchObject({
    code: 'timeout',
    mayHaveHappened: false,
  })
  const closed = client.close()
  proxy.heal()
  await closed
  await other.sync()
  expect(changes).toEqual([])
})

test('a call of several steps that fails may have happened in part', async () => {
  const { client, proxy } = await fixture.openProxied({ sessionTimeoutMs: 8000 })
  await client.ensure('/in-steps/a')
  const listed = new Promise<void>((resolve) => {
    const listen = (message: unknown): void => {
      if ((message as RequestTrace).operation === 'getChildren') resolve()
    }
    subscribe('tracing:zabra:client:request:asyncEnd', listen)
    onTestFinished(() => void unsubscribe('tracing:zabra:client:request:asyncEnd', listen))
  })
  const other = await fixture.open()
  const isGone = new Promise<void>((resolve) => {
    void other.exists('/in-steps/a', { watch: () => resolve() })
  })
  await other.sync()
  const deleting = client.deleteTree('/in-steps', { timeoutMs: 1500 })
  const error = deleting.catch((reason: unknown) => reason)
  await listed
  proxy.mute()
  await isGone
  // Now it looks for the rest, and gets no answer.
  proxy.cut()
  expect(await error).toMatchObject({ code: 'timeout', mayHaveHappened: true })
})
