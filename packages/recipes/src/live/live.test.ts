import { expect, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { LiveCell } from './live.ts'

const fixture = useServer()
const cell = async (value: number) => new LiveCell(await fixture.open(), value)

test('an iteration starts with the current value, and gives a slow reader only the newest', async () => {
  const live = await cell(1)
  const values = live.values()
  expect((await values.next()).value).toBe(1)
  live.set(2)
  live.set(3)
  expect((await values.next()).value).toBe(3)
  const next = values.next()
  live.set(4)
  expect((await next).value).toBe(4)
})

test('until sees every value, even a short-lived one', async () => {
  const live = await cell(1)
  expect(await live.until((value) => value === 1)).toBe(1)
  const two = live.until((value) => value === 2)
  live.set(2)
  live.set(3)
  expect(await two).toBe(2)
  await expect(live.until(() => false, { timeoutMs: 10 })).rejects.toMatchObject({
    code: 'timeout',
  })
  const thrown = live.until((value) => {
    if (value === 4) throw new Error('not four')
    return false
  })
  live.set(4)
  await expect(thrown).rejects.toThrow('not four')
})

test('listeners are called once per change, with the previous value, until they are removed', async () => {
  const live = await cell(1)
  const told: string[] = []
  const stop = live.onChange((now, before) => {
    told.push(`${before} ${now} ${live.current}`)
    // A listener added in the meantime gets the next change.
    live.onChange((later) => told.push(`later ${later}`))
    stop()
  })
  live.set(2)
  live.set(3)
  expect(told).toEqual(['1 2 2', 'later 3'])
})

test('a failure ends iterations, waits and listeners, and the value stays', async () => {
  const live = await cell(1)
  const [ended, waiting] = [live.values(), live.until((value) => value > 1)]
  await ended.next()
  const failed = expect(ended.next()).rejects.toThrow('over')
  const rejected = expect(waiting).rejects.toThrow('over')
  live.fail(new Error('over'))
  live.set(2)
  await Promise.all([failed, rejected])
  expect([live.current, live.signal.aborted]).toEqual([1, true])
  await expect(live.until((value) => value > 1)).rejects.toThrow('over')
  expect(await live.until((value) => value === 1)).toBe(1)
})

test('disposing ends iterations without an error, and stops updates', async () => {
  let isStopped = false
  const live = new LiveCell(await fixture.open(), 1, async () => {
    isStopped = true
  })
  const values = live.values()
  await values.next()
  const next = values.next()
  await live[Symbol.asyncDispose]()
  expect([(await next).done, isStopped]).toEqual([true, true])
})

test('an iteration ends with its signal', async () => {
  const live = await cell(1)
  const controller = new AbortController()
  const values = live.values({ signal: controller.signal })
  await values.next()
  const next = expect(values.next()).rejects.toBe('enough')
  controller.abort('enough')
  await next
  expect((await values.next()).done).toBe(true)
})
