import { afterEach, expect, test, vi } from 'vitest'
import { nodeHost } from './node-host.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a timer may be longer than the limit of Node, or infinite', () => {
  vi.useFakeTimers()
  const host = nodeHost()
  const month = 31 * 24 * 3600 * 1000
  const late = vi.fn()
  const never = vi.fn()
  host.timer(month, late)
  host.timer(Infinity, never)
  vi.advanceTimersByTime(month - 1)
  expect(late).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(late).toHaveBeenCalledOnce()
  const cancel = host.timer(month, late)
  vi.advanceTimersByTime(month / 2)
  cancel()
  vi.advanceTimersByTime(month)
  expect(late).toHaveBeenCalledOnce()
  expect(never).not.toHaveBeenCalled()
})
