import { expect, test } from 'vitest'
import type { Host } from './host.ts'
import { Listeners } from './listeners.ts'

test('the same function may be added twice, and removed once', () => {
  const listeners = new Listeners<[number]>({} as Host)
  const heard: number[] = []
  const listener = (value: number): void => void heard.push(value)
  const stop = listeners.add(listener)
  listeners.add(listener)
  listeners.call(1)
  stop()
  listeners.call(2)
  expect(heard).toEqual([1, 1, 2])
})

test('an error of one listener does not keep the event from the next, and surfaces afterwards', () => {
  const deferred: (() => void)[] = []
  const host = { defer: (callback: () => void) => void deferred.push(callback) } as Host
  const listeners = new Listeners<[]>(host)
  let heard = 0
  listeners.add(() => {
    throw new Error('own')
  })
  listeners.add(() => void heard++)
  listeners.call()
  expect(heard).toBe(1)
  expect(deferred).toHaveLength(1)
  expect(deferred[0]).toThrow('own')
})
