import type { Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { Listeners } from './listeners.ts'

test('the same function may listen twice, and stop once', () => {
  const listeners = new Listeners<[number]>({} as Client)
  const heard: number[] = []
  const listener = (value: number): void => void heard.push(value)
  const stop = listeners.add(listener)
  listeners.add(listener)
  listeners.call(1)
  stop()
  listeners.call(2)
  expect(heard).toEqual([1, 1, 2])
})
