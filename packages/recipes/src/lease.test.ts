import { aborted } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { Lease } from './lease.ts'

const fixture = useServer()

test('a lease survives its session, and nobody else gets it in the meantime', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const lease = new Lease(client, '/leases/kept', { id: 'ann', ttlMs: 600 })
  const held = await lease.acquire()
  const late = new Lease(other, '/leases/kept', { id: 'bob', ttlMs: 600 }).acquire({
    timeoutMs: 1500,
  })
  await expire(client, fixture.connectString)
  await expect(late).rejects.toMatchObject({ code: 'timeout' })
  expect(held.signal.aborted).toBe(false)
  expect(held.deadlineMs).toBeGreaterThan(client.nowMs())
  await held.guard(client.transaction().create('/leases/guarded')).commit()
  expect(await lease.holder()).toBe('ann')
  await held.release()
  expect(await lease.holder()).toBeUndefined()
})

test('a waiter gets it as soon as it is released, with a larger token', async () => {
  const client = await fixture.open()
  const held = await new Lease(client, '/leases/given', { id: 'ann', ttlMs: 60_000 }).acquire()
  const waiting = new Lease(client, '/leases/given', { id: 'bob', ttlMs: 60_000 }).acquire()
  await client.sync()
  await held.release()
  const next = await waiting
  expect(next.token).toBeGreaterThan(held.token)
  const late = held.guard(client.transaction().create('/leases/late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', reason: 'released' })
  await next.release()
})

test('a holder that is cut off loses it in time, and only then another one gets it', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const held = await new Lease(client, '/leases/cut', { id: 'ann', ttlMs: 400 }).acquire()
  const lost = aborted(held.signal)
  proxy.cut()
  const next = await new Lease(other, '/leases/cut', { id: 'bob', ttlMs: 400 }).acquire()
  expect(held.signal.aborted).toBe(true)
  expect(await lost).toMatchObject({ reason: 'expired' })
  expect(next.token).toBeGreaterThan(held.token)
  await proxy.heal()
  await next.release()
})

test('a restarted program continues at once, and its predecessor is refused', async () => {
  const client = await fixture.open()
  const options = { id: 'ann', ttlMs: 60_000 }
  const before = await new Lease(client, '/leases/back', options).acquire()
  const after = await new Lease(client, '/leases/back', options).acquire({ timeoutMs: 5000 })
  expect(after.token).toBeGreaterThan(before.token)
  const late = before.guard(client.transaction().create('/leases/zombie')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', reason: 'deleted' })
  await after.release()
})

test('invalid options are refused', async () => {
  const client = await fixture.open()
  expect(() => new Lease(client, '/l', { id: '', ttlMs: 5 })).toThrow('id is the name')
  expect(() => new Lease(client, '/l', { id: 'a', ttlMs: 0 })).toThrow('ttlMs is a number')
})
