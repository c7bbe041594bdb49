import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from './abort-signals.ts'

test('many callers share one listener on a signal, and it is removed with the last caller', () => {
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
