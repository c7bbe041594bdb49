import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readBody } from './route.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

test('a body that drips does not hold its connection for long', async () => {
  const request = new PassThrough()
  const body = expect(readBody(request, 1000)).rejects.toMatchObject({ status: 408 })
  for (let i = 0; i < 6; i++) {
    request.write(' ')
    await vi.advanceTimersByTimeAsync(10_000)
  }
  await body
  expect(request.destroyed).toBe(true)
})

test('a body that arrives in time leaves no timer behind', async () => {
  const request = new PassThrough()
  const body = readBody(request, 1000)
  request.end('{}')
  expect(Buffer.from(await body).toString()).toBe('{}')
  expect(vi.getTimerCount()).toBe(0)
})
