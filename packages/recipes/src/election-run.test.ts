import { aborted, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { expire, openProxied } from '../test/support/trouble.ts'
import { Election } from './election.ts'

const fixture = useServer()

test('only one works at a time, and the next begins after it has ended', async () => {
  const clients = await Promise.all(Array.from({ length: 3 }, () => fixture.open()))
  let working = 0
  const results = await Promise.all(
    clients.map((client, i) =>
      new Election(client, '/work').run(async (term) => {
        expect(++working).toBe(1)
        await client.sync()
        working--
        return { i, epoch: term.epoch }
      }),
    ),
  )
  expect(results.map(({ i }) => i)).toEqual([0, 1, 2])
  expect(new Set(results.map(({ epoch }) => epoch)).size).toBe(3)
  await untilChildren(clients[0]!, '/work', 0)
})

test('work interrupted by the end of the session is done again in the next term', async () => {
  const client = await fixture.open()
  const epochs: bigint[] = []
  const result = await new Election(client, '/again').run(async (term, signal) => {
    epochs.push(term.epoch)
    if (epochs.length === 1) {
      void expire(client, fixture.connectString)
      await aborted(signal)
      throw new Error('interrupted')
    }
    return 'done'
  })
  expect(result).toBe('done')
  expect(epochs[1]).toBeGreaterThan(epochs[0]!)
})

test('a lost connection ends the term, and another one begins over the next', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  let terms = 0
  await new Election(client, '/suspended').run(async (_, signal) => {
    if (++terms > 1) return
    proxy.reset()
    await aborted(signal)
  })
  expect(terms).toBe(2)
  await untilChildren(client, '/suspended', 0)
})

test('an error of the work ends the leadership and is passed on', async () => {
  const client = await fixture.open()
  const failing = new Election(client, '/failing').run(() => Promise.reject(new Error('broken')))
  await expect(failing).rejects.toThrow('broken')
  await untilChildren(client, '/failing', 0)
})

test('aborting releases the leadership only after the work has ended', async () => {
  const [client, other] = await Promise.all([fixture.open(), fixture.open()])
  const controller = new AbortController()
  const events: string[] = []
  let next: Promise<void> | undefined
  const work = new Election(client, '/stopped').run(
    async (_, signal) => {
      controller.abort(new Error('enough'))
      await aborted(signal)
      next = new Election(other, '/stopped').run(async () => {
        await Promise.resolve()
        events.push('next')
      })
      await untilChildren(client, '/stopped', 2)
      events.push('ended')
    },
    { signal: controller.signal },
  )
  // The work succeeded although it was aborted, and in time.
  await work
  await next
  expect(events).toEqual(['ended', 'next'])
})

test('aborting while waiting leaves the queue', async () => {
  const [client, other] = await Promise.all([fixture.open(), fixture.open()])
  const controller = new AbortController()
  await new Election(client, '/waiting').run(async () => {
    const { signal } = controller
    const waiting = new Election(other, '/waiting').run(() => Promise.resolve(), { signal })
    const outcome = waiting.catch((error: unknown) => error)
    await untilChildren(client, '/waiting', 2)
    controller.abort(new Error('enough'))
    expect(await outcome).toMatchObject({ message: 'enough' })
    await untilChildren(client, '/waiting', 1)
  })
})

test('a candidate that is not elected in time gives up, and the time of the work does not count', async () => {
  const [client, other] = await Promise.all([fixture.open(), fixture.open()])
  // The work takes longer than the time to be elected, which a busy machine needs some of.
  const timeoutMs = 1000
  const longer = { timeoutMs: timeoutMs + 100 }
  const work = new Election(client, '/in-time').run(
    async () => {
      const late = new Election(other, '/in-time').run(() => Promise.resolve('too early'), longer)
      await expect(late).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: false })
      await untilChildren(client, '/in-time', 1)
      return 'done'
    },
    { timeoutMs },
  )
  expect(await work).toBe('done')
})

test('each election may take as long as the first one', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  let terms = 0
  const work = new Election(client, '/again-in-time').run(
    async (_, signal) => {
      terms++
      proxy.cut()
      await aborted(signal)
    },
    { timeoutMs: 200 },
  )
  // The work began, and nobody knows how far it came.
  await expect(work).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: true })
  expect(terms).toBe(1)
  await proxy.heal()
  await untilChildren(client, '/again-in-time', 0)
})

test('aborting without a connection does not wait for one', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const controller = new AbortController()
  const enough = new Error('enough')
  const work = new Election(client, '/stopped-alone').run(
    async (_, signal) => {
      proxy.cut()
      await aborted(signal)
      controller.abort(enough)
    },
    { signal: controller.signal },
  )
  await expect(work).rejects.toBe(enough)
  await proxy.heal()
  await untilChildren(client, '/stopped-alone', 0)
})
