import { json } from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied, outlived } from '../test/support/trouble.ts'
import { Rendezvous } from './rendezvous.ts'

const fixture = useServer()
const codec = json<{ port: number }>()

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })

test('workers wait until the master has announced its value', async () => {
  const [caller, master, worker] = await Promise.all([
    fixture.open(),
    fixture.open(),
    fixture.open(),
  ])
  const place = await Rendezvous.open(caller, '/jobs')
  const early = new Rendezvous(worker, place.path, { codec }).join()
  await worker.sync()
  expect(await new Rendezvous(master, place.path, { codec }).announce({ port: 7 })).toBe(true)
  const late = await new Rendezvous(worker, place.path, { codec }).join()
  expect([(await early).value, late.value]).toEqual([{ port: 7 }, { port: 7 }])
  expect(late.over.aborted).toBe(false)
})

test('a value is announced only once', async () => {
  const client = await fixture.open()
  const place = await Rendezvous.open(client, '/once')
  expect(await new Rendezvous(client, place.path, { codec }).announce({ port: 1 })).toBe(true)
  expect(await new Rendezvous(client, place.path, { codec }).announce({ port: 2 })).toBe(false)
  expect((await new Rendezvous(client, place.path, { codec }).join()).value).toEqual({ port: 1 })
})

test('an announcement is known to be made even if the reply is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const place = await Rendezvous.open(other, '/reply-lost')
  const meeting = new Rendezvous(other, place.path, { codec }).join()
  proxy.hold({ direction: 'toClient' })
  const filled = new Rendezvous(client, place.path, { codec }).announce({ port: 1 })
  await meeting
  proxy.reset()
  await proxy.heal()
  expect(await filled).toBe(true)
})

test('when the host goes, the meeting is over, and waiters are told', async () => {
  const caller = await fixture.open()
  const worker = await fixture.open()
  const place = await Rendezvous.open(caller, '/over', { lostOn: 'expired' })
  const other = await Rendezvous.open(caller, '/over')
  await new Rendezvous(caller, place.path, { codec }).announce({ port: 1 })
  const meeting = await new Rendezvous(worker, place.path, { codec }).join()
  const waiting = new Rendezvous(worker, other.path, { codec }).join()
  const failed = expect(waiting).rejects.toMatchObject({ reason: 'noNode', path: other.path })
  await worker.sync()
  await expire(caller, fixture.connectString)
  expect(await aborted(meeting.over)).toMatchObject({ reason: 'noNode' })
  await failed
  expect(place.signal.reason).toMatchObject({ reason: 'expired' })
  await expect(
    new Rendezvous(worker, place.path, { codec }).announce({ port: 2 }),
  ).rejects.toMatchObject({
    reason: 'noNode',
  })
})

test('a worker that loses its connection and its session still gets the value', async () => {
  const caller = await fixture.open()
  const { client: worker, proxy } = await openProxied(fixture.connectString)
  const place = await Rendezvous.open(caller, '/away')
  const waiting = new Rendezvous(worker, place.path, { codec }).join()
  await worker.sync()
  const suspended = nextState(worker, 'suspended')
  proxy.cut()
  await suspended
  await new Rendezvous(caller, place.path, { codec }).announce({ port: 3 })
  await proxy.heal()
  const meeting = await waiting
  expect(meeting.value).toEqual({ port: 3 })
  await expire(worker, fixture.connectString)
  await worker.connected()
  await place.release()
  expect(await aborted(meeting.over)).toMatchObject({ reason: 'noNode' })
})

test('waiting has a deadline', async () => {
  const client = await fixture.open()
  const place = await Rendezvous.open(client, '/deadline')
  await expect(
    new Rendezvous(client, place.path, { codec }).join({ timeoutMs: 20 }),
  ).rejects.toMatchObject({
    code: 'timeout',
  })
})

test('saying has one, also where the connection is lost meanwhile', async () => {
  const place = await Rendezvous.open(await fixture.open(), '/late')
  const { client, proxy } = await openProxied(fixture.connectString)
  const outcome = await outlived(proxy, (limits) =>
    new Rendezvous(client, place.path, { codec }).announce({ port: 1 }, { ...limits }),
  )
  expect(outcome).toMatchObject({ code: 'timeout', mayHaveHappened: true })
})
