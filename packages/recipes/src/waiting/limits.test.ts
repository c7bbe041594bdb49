import { getEventListeners } from 'node:events'
import { text, type Client } from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { openProxied } from '../../test/support/trouble.ts'
import { Barrier } from '../barrier.ts'
import { DoubleBarrier } from '../double-barrier.ts'
import { Election } from '../election.ts'
import { limited, orAborted, underAll } from './limits.ts'
import { Lock } from '../lock.ts'
import { Queue } from '../queue.ts'
import { Semaphore } from '../semaphore.ts'
import { SimpleLock } from '../simple-lock.ts'

const fixture = useServer()

test('the first of several signals aborts the work, and no listener remains', async () => {
  const [one, two] = [new AbortController(), new AbortController()]
  const doing = underAll([one.signal, two.signal], (signal) =>
    orAborted(new Promise(() => {}), signal),
  )
  two.abort(new Error('enough'))
  await expect(doing).rejects.toThrow('enough')
  expect(getEventListeners(one.signal, 'abort')).toHaveLength(0)
})

test('a deadline that is no number of milliseconds is refused', async () => {
  for (const timeoutMs of [Number.NaN, -1]) {
    const doing = limited({} as Client, { timeoutMs }, () => Promise.resolve())
    await expect(doing).rejects.toThrow(
      new RangeError(`timeoutMs is a number of milliseconds from 0 on, not ${timeoutMs}`),
    )
  }
})

test('the error of a deadline says that there was no connection', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 8000 })
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const limits = { timeoutMs: 20 }
  await expect(new Lock(client, '/cut-off').acquire(limits)).rejects.toThrow(
    'not acquired (no connection) within 20 ms: /cut-off',
  )
  await expect(new Lock(client, '/cut-off').tryAcquire(limits)).rejects.toThrow(
    'no answer (no connection) within 20 ms: /cut-off',
  )
  await proxy.heal()
})

test('the error of a deadline says what was waited for', async () => {
  const client = await fixture.open()
  const limits = { timeoutMs: 20 }
  const barrier = new Barrier(client, '/late/barrier')
  await barrier.raise()
  await new Lock(client, '/late/lock').acquire()
  await new SimpleLock(client, '/late/simple').acquire()
  await new Semaphore(client, '/late/permits', 1).acquire()
  await new Election(client, '/late/leader').campaign()
  const stay = async (): Promise<void> => {
    const enter = () => new DoubleBarrier(client, '/late/left', 2).enter()
    const [inside] = await Promise.all([enter(), enter()])
    await inside.leave(limits)
  }
  const waits: [string, string, Promise<unknown>][] = [
    ['not lowered', '/late/barrier', barrier.wait(limits)],
    ['not acquired', '/late/lock', new Lock(client, '/late/lock').acquire(limits)],
    ['not acquired', '/late/simple', new SimpleLock(client, '/late/simple').acquire(limits)],
    ['not acquired', '/late/permits', new Semaphore(client, '/late/permits', 1).acquire(limits)],
    ['not elected', '/late/leader', new Election(client, '/late/leader').campaign(limits)],
    [
      'not elected',
      '/late/leader',
      new Election(client, '/late/leader').run(async () => {}, limits),
    ],
    ['no item', '/late/queue', new Queue(client, '/late/queue', { codec: text }).take(limits)],
    [
      'not all have arrived',
      '/late/enter',
      new DoubleBarrier(client, '/late/enter', 2).enter(limits),
    ],
    ['not all have left', '/late/left', stay()],
  ]
  const outcomes = await Promise.allSettled(waits.map(([, , wait]) => wait))
  expect(outcomes).toMatchObject(
    waits.map(([what, path]) => ({
      reason: { code: 'timeout', message: `${what} within 20 ms: ${path}`, path },
    })),
  )
})
