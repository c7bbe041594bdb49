import { json } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, nextState, openProxied, outlived } from '../test/support/trouble.ts'
import { fillRendezvous, joinRendezvous, openRendezvous } from './rendezvous.ts'

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
  const place = await openRendezvous(caller, '/jobs')
  const early = joinRendezvous(worker, place.path, { codec })
  await worker.sync()
  expect(await fillRendezvous(master, place.path, { port: 7 }, { codec })).toBe(true)
  const late = await joinRendezvous(worker, place.path, { codec })
  expect([(await early).value, late.value]).toEqual([{ port: 7 }, { port: 7 }])
  expect(late.over.aborted).toBe(false)
})

test('a value is announced only once', async () => {
  const client = await fixture.open()
  const place = await openRendezvous(client, '/once')
  expect(await fillRendezvous(client, place.path, { port: 1 }, { codec })).toBe(true)
  expect(await fillRendezvous(client, place.path, { port: 2 }, { codec })).toBe(false)
  expect((await joinRendezvous(client, place.path, { codec })).value).toEqual({ port: 1 })
})

test('an announcement is known to be made even if the reply is lost', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const other = await fixture.open()
  const place = await openRendezvous(other, '/reply-lost')
  const meeting = joinRendezvous(other, place.path, { codec })
  proxy.mute()
  const filled = fillRendezvous(client, place.path, { port: 1 }, { codec })
  await meeting
  proxy.heal()
  proxy.drop()
  expect(await filled).toBe(true)
})

test('when the host goes, the meeting is over, and waiters are told', async () => {
  const caller = await fixture.open()
  const worker = await fixture.open()
  const place = await openRendezvous(caller, '/over', { lostOn: 'expired' })
  const other = await openRendezvous(caller, '/over')
  await fillRendezvous(caller, place.path, { port: 1 }, { codec })
  const meeting = await joinRendezvous(worker, place.path, { codec })
  const waiting = joinRendezvous(worker, other.path, { codec })
  const failed = expect(waiting).rejects.toMatchObject({ reason: 'noNode', path: other.path })
  await worker.sync()
  await expire(caller, fixture.connectString)
  expect(await aborted(meeting.over)).toMatchObject({ reason: 'noNode' })
  await failed
  expect(place.signal.reason).toMatchObject({ reason: 'expired' })
  await expect(fillRendezvous(worker, place.path, { port: 2 }, { codec })).rejects.toMatchObject({
    reason: 'noNode',
  })
})

test('a worker that loses its connection and its session still gets the value', async () => {
  const caller = await fixture.open()
  const { client: worker, proxy } = await openProxied(fixture.connectString)
  const place = await openRendezvous(caller, '/away')
  const waiting = joinRendezvous(worker, place.path, { codec })
  await worker.sync()
  const suspended = nextState(worker, 'suspended')
  proxy.cut()
  await suspended
  await fillRendezvous(caller, place.path, { port: 3 }, { codec })
  proxy.heal()
  const meeting = await waiting
  expect(meeting.value).toEqual({ port: 3 })
  await expire(worker, fixture.connectString)
  await worker.connected()
  await place.release()
  expect(await aborted(meeting.over)).toMatchObject({ reason: 'noNode' })
})

test('waiting has a deadline', async () => {
  const client = await fixture.open()
  const place = await openRendezvous(client, '/deadline')
  await expect(joinRendezvous(client, place.path, { codec, timeoutMs: 20 })).rejects.toMatchObject({
    code: 'timeout',
  })
})

test('announcing has a deadline, even if the connection is lost', async () => {
  const place = await openRendezvous(await fixture.open(), '/late')
  const { client, proxy } = await openProxied(fixture.connectString)
  const outcome = await outlived(proxy, (limits) =>
    fillRendezvous(client, place.path, { port: 1 }, { codec, ...limits }),
  )
  expect(outcome).toMatchObject({ code: 'timeout', mayHaveHappened: true })
})
