import type { Client } from '@zabra/client'
import { aborted, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { Election } from './election.ts'

const fixture = useServer()

test('the first candidate leads, and each term has a larger epoch than the one before', async () => {
  const clients = await Promise.all(Array.from({ length: 3 }, () => fixture.open()))
  const elections = clients.map((client, i) => new Election(client, '/chair', { id: `c${i}` }))
  const first = await elections[0]!.campaign()
  expect(first.path).toMatch(/^\/chair\/_c_[0-9a-f-]{36}-latch-\d{10}$/)
  expect(first).toMatchObject({ id: 'c0', epoch: first.token })
  const second = elections[1]!.campaign()
  await untilChildren(clients[0]!, '/chair', 2)
  const third = elections[2]!.campaign()
  await untilChildren(clients[0]!, '/chair', 3)
  const candidates = await elections[2]!.candidates()
  expect(candidates.map(({ id }) => id)).toEqual(['c0', 'c1', 'c2'])
  expect(await elections[2]!.leader()).toEqual({ id: 'c0', epoch: first.epoch, path: first.path })
  await first.release()
  const next = await second
  expect(next.epoch).toBeGreaterThan(first.epoch)
  await expire(clients[1]!, fixture.connectString)
  expect(next.signal.aborted).toBe(true)
  const last = await third
  expect(last.epoch).toBeGreaterThan(next.epoch)
  const late = next.guard(clients[1]!.transaction().create('/late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost' })
  await last.guard(clients[2]!.transaction().create('/in-time')).commit()
})

test('observers learn who leads, that nobody does, and who does then', async () => {
  const [candidate, observer] = await Promise.all([fixture.open(), fixture.open()])
  const leaders = new Election(observer, '/observed').leaders()
  const next = async () => (await leaders.next()).value
  expect(await next()).toBeUndefined()
  const coming = next()
  const term = await new Election(candidate, '/observed', { id: 'a' }).campaign()
  expect(await coming).toEqual({ id: 'a', epoch: term.epoch, path: term.path })
  const gone = next()
  await term.release()
  expect(await gone).toBeUndefined()
  const again = next()
  const second = await new Election(candidate, '/observed', { id: 'b' }).campaign()
  const heir = new Election(observer, '/observed', { id: 'c' }).campaign()
  expect(await again).toMatchObject({ id: 'b', epoch: second.epoch })
  await untilChildren(candidate, '/observed', 2)
  const inherited = next()
  await expire(candidate, fixture.connectString)
  expect(await inherited).toMatchObject({ id: 'c', epoch: (await heir).epoch })
})

test('an observer goes on over lost connections and sessions', async () => {
  const candidate = await fixture.open()
  const { client: observer, proxy } = await openProxied(fixture.connectString)
  const first = await new Election(candidate, '/lasting', { id: 'a' }).campaign()
  const second = new Election(candidate, '/lasting', { id: 'b' }).campaign()
  await untilChildren(candidate, '/lasting', 2)
  const leaders = new Election(observer, '/lasting').leaders()
  expect((await leaders.next()).value).toMatchObject({ id: 'a' })
  const next = leaders.next()
  proxy.cut()
  await first.release()
  await proxy.heal()
  expect((await next).value).toMatchObject({ id: 'b' })
  const last = leaders.next()
  await expire(observer, fixture.connectString)
  await (await second).release()
  expect((await last).value).toBeUndefined()
})

test('observers hear of the leader only, not of other candidates', async () => {
  const candidate = await fixture.open()
  const observer = await fixture.open()
  const election = new Election(candidate, '/quiet', { id: 'a' })
  const term = await election.campaign()
  const leaders = new Election(observer, '/quiet').leaders()
  await leaders.next()
  const next = leaders.next()
  await observer.sync()
  for (let i = 0; i < 3; i++) {
    await expect(election.campaign({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'timeout' })
  }
  await observer.sync()
  expect(observer.stats().notifications).toBe(0)
  await term.release()
  expect((await next).value).toBeUndefined()
})

test('observing ends with its signal, and with its client', async () => {
  const client = await fixture.open()
  const controller = new AbortController()
  const one = collect(client, controller.signal)
  const other = await fixture.open()
  const two = collect(other)
  controller.abort(new Error('enough'))
  expect(await one).toMatchObject({ message: 'enough' })
  await other.close()
  expect(await two).toMatchObject({ code: 'closed' })
})

async function collect(client: Client, signal?: AbortSignal): Promise<unknown> {
  try {
    for await (const leader of new Election(client, '/ended').leaders({ signal }))
      expect(leader).toBeUndefined()
  } catch (error) {
    return error
  }
  return undefined
}

test('a leader that is cut off learns of it before the next one leads', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 600 })
  const term = await new Election(client, '/cut').campaign()
  const successor = new Election(await fixture.open(), '/cut').campaign()
  const lost = aborted(term.signal)
  proxy.cut()
  expect(await Promise.race([lost, successor])).toMatchObject({ reason: 'suspended' })
  expect((await successor).epoch).toBeGreaterThan(term.epoch)
})
