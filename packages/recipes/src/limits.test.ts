import { getEventListeners } from 'node:events'
import type { Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { limited, onAbort, orAborted, underAll } from './limits.ts'

test('many may wait on one signal with one listener, and nothing is left of those who stop', () => {
  const controller = new AbortController()
  const { signal } = controller
  const heard: number[] = []
  const stops = Array.from({ length: 20 }, (_, i) => onAbort(signal, () => void heard.push(i)))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const stop of stops.splice(2)) stop()
  controller.abort()
  expect(heard).toEqual([0, 1])

  const other = new AbortController()
  for (const stop of [onAbort(other.signal, () => {}), onAbort(other.signal, () => {})]) stop()
  expect(getEventListeners(other.signal, 'abort')).toHaveLength(0)
  const again = onAbort(other.signal, (reason) => void heard.push(reason as number))
  other.abort(7)
  again()
  expect(heard).toEqual([0, 1, 7])
})

test('the first of several signals ends what is done under them, and all are left alone after', async () => {
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
