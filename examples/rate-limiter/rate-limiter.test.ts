import { json, type Client } from '@zabra/client'
import { expect, test, vi } from 'vitest'
import { useServer } from '../support/testing.ts'
import type { Bucket } from './bucket.ts'
import { RateLimiter } from './rate-limiter.ts'

const { tree } = useServer()
const path = '/limits/api'

async function fullAt(client: Client): Promise<number> {
  return (await client.get(path, { codec: json<Bucket>() })).data.fullAtMs
}

test('processes that contend never get more than the limit allows together', async () => {
  const { open } = await tree()
  const limit = { permitsPerSecond: 100, burst: 5 }
  const clients = await Promise.all([open(), open(), open()])
  const openedAt = performance.now()
  const limiters = await Promise.all(clients.map((c) => RateLimiter.open(c, path, limit)))
  const beganAt = performance.now()
  // Each knows the server's clock in whole milliseconds, with an error up to the time of a reply.
  const clockErrorMs = 5 + (beganAt - openedAt)
  const granted: number[] = []
  const takers = limiters.flatMap((limiter) =>
    Array.from({ length: 15 }, async () => {
      await limiter.take()
      granted.push(performance.now() - beganAt)
    }),
  )
  await Promise.all(takers)
  expect(granted).toHaveLength(45)
  // One arrives every 10 ms.
  for (const [index, atMs] of granted.entries())
    expect(atMs).toBeGreaterThan((index + 1 - limit.burst) * 10 - clockErrorMs)
})

test('calls that wait together are one write', async () => {
  const { open } = await tree()
  const client = await open()
  const limiter = await RateLimiter.open(client, path, { permitsPerSecond: 1000, burst: 100 })
  const before = (await client.exists(path))?.version ?? 0
  const first = limiter.take()
  const others = Array.from({ length: 50 }, () => limiter.take())
  await Promise.all([first, ...others])
  expect((await client.exists(path))?.version).toBe(before + 2)
})

test('a caller that would wait too long takes nothing', async () => {
  const { open } = await tree()
  const client = await open()
  const limiter = await RateLimiter.open(client, path, { permitsPerSecond: 1, burst: 1 })
  expect(await limiter.take({ waitMsMax: 0 })).toBe(true)
  const full = await fullAt(client)
  expect(await limiter.take({ waitMsMax: 0 })).toBe(false)
  expect(await fullAt(client)).toBe(full)
})

test('waiting ends with the signal', async () => {
  const { open } = await tree()
  const limiter = await RateLimiter.open(await open(), path, { permitsPerSecond: 1, burst: 1 })
  await limiter.take()
  const controller = new AbortController()
  const waiting = limiter.take({ signal: controller.signal })
  const reason = new Error('no longer wanted')
  controller.abort(reason)
  await expect(waiting).rejects.toBe(reason)
})

test('a lost reply may cost permits, and never makes some', async () => {
  const { open, openProxied } = await tree()
  const { proxy, client } = await openProxied({ sessionTimeoutMs: 2000 })
  const limiter = await RateLimiter.open(client, path, { permitsPerSecond: 0.1, burst: 5 })
  const other = await open()
  const changed = new Promise<void>((resolve) => {
    void other.get(path, { watch: () => resolve() })
  })
  await other.sync()
  const set = client.set.bind(client)
  vi.spyOn(client, 'set').mockImplementationOnce((...args: Parameters<typeof set>) => {
    proxy.hold({ direction: 'toClient' })
    return set(...args)
  })
  const taken = limiter.take()
  await changed
  const afterFirst = await fullAt(other)
  proxy.reset()
  await proxy.heal()
  await taken
  expect(await fullAt(other)).toBeCloseTo(afterFirst + 10_000)
})
