import { expect, test } from 'vitest'
import { ConnectionThrottle, type ConnectionThrottleOptions } from './connection-throttle.ts'

function throttle(options: Partial<ConnectionThrottleOptions>): ConnectionThrottle {
  const given = { tokens: 3, fillMs: 100, fillCount: 1, freezeMs: -1, decreaseRatio: 0 }
  const steps = { dropIncrease: 0.5, dropDecrease: 0.25, random: () => 0.4 }
  return new ConnectionThrottle({ ...given, ...steps, ...options }, 0)
}

const admitted = (one: ConnectionThrottle, nowMs: number, count: number): number =>
  Array.from({ length: count }, () => one.admits('global', nowMs)).filter(Boolean).length

test('as many are let in as there are tokens, and then one for each refill', () => {
  const one = throttle({})
  expect(admitted(one, 0, 5)).toBe(3)
  expect(one.deficit).toBe(3)
  expect(admitted(one, 100, 5)).toBe(0)
  expect(admitted(one, 250, 5)).toBe(2)
  expect(admitted(one, 100_000, 5)).toBe(3)
})

test('kinds of sessions cost what they weigh', () => {
  const weights = { global: 3, renewed: 2, local: 1 }
  const costs = (kind: keyof typeof weights): number => {
    const one = throttle({ tokens: 2, weights })
    let count = 0
    while (one.admits(kind, 0)) count++
    return count
  }
  expect([costs('global'), costs('renewed'), costs('local')]).toEqual([2, 3, 6])
})

test('while the bucket is found empty, more are turned away by chance, and fewer when it is full', () => {
  const one = throttle({ freezeMs: 10, fillMs: 1000 })
  expect(admitted(one, 0, 5)).toBe(3)
  one.admits('global', 20)
  expect(one.dropProbability).toBe(0.5)
  // Full again: 0.4 is below 0.5 at first, and not below 0.25.
  expect(one.admits('global', 10_000)).toBe(true)
  expect(one.dropProbability).toBe(0.25)
  one.admits('global', 20_000)
  expect(one.dropProbability).toBe(0)
})

test('who is turned away by chance costs no token', () => {
  const one = throttle({ freezeMs: 10, fillMs: 1000, dropIncrease: 1, dropDecrease: 0 })
  admitted(one, 0, 3)
  one.admits('global', 20)
  expect(one.dropProbability).toBe(1)
  expect(admitted(one, 10_000, 5)).toBe(0)
  expect(one.deficit).toBe(0)
})
