import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { every } from './every.ts'

const hourMs = 3_600_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([1, 596, 597, 5000])('%d hours last as long as they should, repeatedly', (hours) => {
  let done = 0
  const end = every(hours * hourMs, () => done++)
  vi.advanceTimersByTime(hours * hourMs - 1)
  expect(done).toBe(0)
  vi.advanceTimersByTime(1)
  expect(done).toBe(1)
  vi.advanceTimersByTime(hours * hourMs)
  expect(done).toBe(2)
  end()
  vi.advanceTimersByTime(hours * hourMs)
  expect(done).toBe(2)
})

test('a callback can end its own repetition', () => {
  let done = 0
  const end = every(hourMs, () => {
    done++
    end()
  })
  vi.advanceTimersByTime(3 * hourMs)
  expect(done).toBe(1)
})
