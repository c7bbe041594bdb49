import { SessionExpiredError, TimeoutError } from '@zabra/client'
import { nextState, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { DoubleBarrier } from './double-barrier.ts'

const fixture = useServer()
const openSome = (count: number) => Promise.all(Array.from({ length: count }, () => fixture.open()))

test('all enter together and leave together, round after round', async () => {
  const clients = await openSome(4)
  let inside = 0
  let entered = 0
  let left = 0
  const members = clients.map(async (client) => {
    const barrier = new DoubleBarrier(client, '/rounds', 4)
    for (let round = 1; round <= 5; round++) {
      entered++
      const stay = await barrier.enter()
      expect(entered).toBe(4 * round)
      inside++
      await client.sync()
      inside--
      left++
      await stay.leave()
      expect(left).toBe(4 * round)
    }
  })
  await Promise.all(members)
  expect(inside).toBe(0)
  await untilChildren(clients[0]!, '/rounds', 0)
})

test('a member that gives up waiting does not count', async () => {
  const [first, second] = await openSome(2)
  const barrier = new DoubleBarrier(first!, '/given-up', 2)
  await expect(barrier.enter({ timeoutMs: 30 })).rejects.toBeInstanceOf(TimeoutError)
  await untilChildren(second!, '/given-up', 0)
  const late = new DoubleBarrier(second!, '/given-up', 2).enter()
  const stays = await Promise.all([barrier.enter(), late])
  await Promise.all(stays.map((stay) => stay.leave()))
})

test('a waiter whose session ends rejects, and does not count', async () => {
  const [first, second] = await openSome(2)
  const entering = new DoubleBarrier(first!, '/expiry', 2).enter().catch((error: unknown) => error)
  await untilChildren(second!, '/expiry', 1)
  await expire(first!, fixture.connectString)
  expect(await entering).toBeInstanceOf(SessionExpiredError)
  await untilChildren(second!, '/expiry', 0)
})

test('a member whose session ends inside does not keep the others from leaving', async () => {
  const [first, second, third] = await openSome(3)
  const stays = await Promise.all(
    [first!, second!, third!].map((client) => new DoubleBarrier(client, '/crash', 3).enter()),
  )
  const leaving = [stays[0]!.leave(), stays[1]!.leave()]
  await expire(third!, fixture.connectString)
  expect(stays[2]!.signal.aborted).toBe(true)
  await Promise.all(leaving)
  await stays[2]!.leave()
  await untilChildren(first!, '/crash', 0)
})

test('leftovers of a round whose members have all failed do not let the next one in', async () => {
  const [first, second] = await openSome(2)
  await first!.ensure('/stale')
  await first!.create('/stale/ready')
  const barrier = new DoubleBarrier(first!, '/stale', 2)
  const entering = barrier.enter()
  await expect.poll(() => second!.exists('/stale/ready')).toBeUndefined()
  await untilChildren(second!, '/stale', 1)
  const other = new DoubleBarrier(second!, '/stale', 2).enter()
  const stays = await Promise.all([entering, other])
  await Promise.all(stays.map((stay) => stay.leave()))
})

test('a member that arrives during a round waits for its end', async () => {
  const [first, second, third] = await openSome(3)
  const enter = (client = first!) => new DoubleBarrier(client, '/busy', 2).enter()
  const stays = await Promise.all([enter(first), enter(second)])
  const early = enter(third)
  await third!.sync()
  expect(await third!.children('/busy')).toHaveLength(3)
  await Promise.all(stays.map((stay) => stay.leave()))
  const next = await Promise.all([early, enter(first)])
  await Promise.all(next.map((stay) => stay.leave()))
})

test('a member that creates its node just after the round began is not part of it', async () => {
  const [late, other] = await openSome(2)
  await other!.ensure('/too-late')
  const create = late!.create.bind(late!)
  let tell = (): void => {}
  const made = new Promise<void>((resolve) => (tell = resolve))
  late!.create = async (...args: Parameters<typeof create>) => {
    late!.create = create
    await other!.create('/too-late/somebody', '', { ephemeral: true })
    await other!.create('/too-late/ready')
    return create(...args).finally(tell)
  }
  const entering = new DoubleBarrier(late!, '/too-late', 1).enter({ timeoutMs: 5000 })
  await made
  // It deletes its node again, and waits for the end of the round.
  await untilChildren(other!, '/too-late', 2)
  await other!.transaction().delete('/too-late/somebody').delete('/too-late/ready').commit()
  await (await entering).leave()
})

test('a lost connection while waiting or leaving does no harm', async () => {
  const first = await fixture.open()
  const { client: second, proxy } = await openProxied(fixture.connectString)
  const entering = new DoubleBarrier(second, '/drops', 2, { lostOn: 'expired' }).enter()
  await untilChildren(first, '/drops', 1)
  proxy.cut()
  const entered = new DoubleBarrier(first, '/drops', 2).enter()
  await proxy.heal()
  const stays = await Promise.all([entered, entering])
  const leaving = stays[1].leave()
  proxy.reset()
  await Promise.all([stays[0].leave(), leaving])
})

test('members in kazoo, which delete ready when they begin to leave, are waited for', async () => {
  const [first, other] = await openSome(2)
  await other!.ensure('/kazoo')
  await other!.create('/kazoo/f00d', '', { ephemeral: true })
  await other!.create('/kazoo/f11d', '', { ephemeral: true })
  const stay = await new DoubleBarrier(first!, '/kazoo', 3).enter()
  await other!.delete('/kazoo/ready')
  let hasLeft = false
  const leaving = stay.leave().then(() => (hasLeft = true))
  // Ours is the lowest, and leaves after the others.
  await other!.delete('/kazoo/f00d')
  await first!.sync()
  expect(await other!.children('/kazoo')).toHaveLength(2)
  expect(hasLeft).toBe(false)
  await other!.delete('/kazoo/f11d')
  await leaving
  await untilChildren(other!, '/kazoo', 0)
})

test('releasing leaves without waiting for the others', async () => {
  const [first, second] = await openSome(2)
  const [one, two] = await Promise.all(
    [first!, second!].map((client) => new DoubleBarrier(client, '/released', 2).enter()),
  )
  await one!.release()
  expect(one!.signal.reason).toMatchObject({ reason: 'released' })
  await two!.leave()
})

test('if all members inside crash, those that wait outside begin the next round', async () => {
  const [first, second, third, fourth] = await openSome(4)
  const enter = (client: typeof first) => new DoubleBarrier(client!, '/all-crash', 2).enter()
  await Promise.all([first, second].map(enter))
  const outside = [third, fourth].map(enter)
  await Promise.all([first, second].map((client) => expire(client!, fixture.connectString)))
  const stays = await Promise.all(outside)
  await Promise.all(stays.map((stay) => stay.leave()))
})

test('a member that has left does not wait for a connection past the deadline', async () => {
  const first = await fixture.open()
  const { client: second, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const [, stay] = await Promise.all([
    new DoubleBarrier(first, '/late-leave', 2).enter(),
    new DoubleBarrier(second, '/late-leave', 2, { lostOn: 'expired' }).enter(),
  ])
  proxy.cut()
  await expect(stay.leave({ timeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError)
  await proxy.heal()
  await untilChildren(first, '/late-leave', 2)
})

test('a member that ends a round late does not end a later one, even if the count started again', async () => {
  const { client: late, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const [first, second] = await openSome(2)
  const enter = (client = first!) => new DoubleBarrier(client, '/anew', 2).enter()
  const [lateStay, stay] = await Promise.all([enter(late), enter()])
  await stay.release()
  // The connection is lost right before it ends the round.
  const transaction = late.transaction.bind(late)
  const isLate = new Promise<void>((resolve) => {
    late.transaction = () => {
      late.transaction = transaction
      const ending = transaction()
      const commit = ending.commit.bind(ending)
      ending.commit = async (options) => {
        const suspended = nextState(late, 'suspended')
        proxy.cut()
        await suspended
        resolve()
        return commit(options)
      }
      return ending
    }
  })
  const leaving = lateStay.leave()
  await isLate
  await first!.deleteTree('/anew')
  const stays = await Promise.all([enter(), enter(second)])
  const before = await first!.exists('/anew/ready')
  await proxy.heal()
  await leaving
  expect((await first!.exists('/anew/ready'))?.czxid).toBe(before!.czxid)
  await Promise.all(stays.map((inside) => inside.leave()))
})
