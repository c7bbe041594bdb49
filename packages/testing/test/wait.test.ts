import type { Client } from '@zabra/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { aborted, until, untilChildren, WaitTimeoutError } from '../src/wait.ts'

test('a wait without a limit lasts until its signal aborts', async () => {
  const never = new AbortController()
  const end = new AbortController()
  const outcomes: string[] = []
  const endless = aborted(never.signal, { timeoutMs: Infinity, signal: end.signal }).catch(
    (error: Error) => outcomes.push(error.message),
  )
  // By now a limit that Node took for 1 ms would be over.
  await expect(aborted(never.signal, { timeoutMs: 20 })).rejects.toThrow(WaitTimeoutError)
  expect(outcomes).toEqual([])
  end.abort(new Error('enough'))
  await endless
  expect(outcomes).toEqual(['enough'])
})

test('a wait refuses an option that it does not have', async () => {
  const typo = { timeoutMS: 1 } as object
  const { signal } = new AbortController()
  await expect(aborted(signal, typo)).rejects.toThrow('did you mean timeoutMs?')
  await expect(until(() => true, typo)).rejects.toThrow('did you mean timeoutMs?')
})

test('a condition that never answers does not outlast the limit, nor the signal', async () => {
  const never = (): Promise<boolean> => new Promise(() => {})
  await expect(until(never, { timeoutMs: 20 })).rejects.toThrow('not within 20 ms')
  const given = new AbortController()
  const waiting = until(never, { signal: given.signal })
  given.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
})

test('a wait for a condition names its last error, and asks no more afterwards', async () => {
  let asked = 0
  const condition = (): never => {
    asked++
    throw new Error(`asked ${asked} times`)
  }
  const error = await until(condition, { timeoutMs: 50, everyMs: 1 }).catch((late: Error) => late)
  const before = asked
  expect(error).toMatchObject({ cause: { message: `asked ${before} times` } })
  let turns = 0
  expect(await until(() => ++turns === 5, { everyMs: 1 })).toBe(true)
  expect(asked).toBe(before)
})

test('waiting for children names the whole limit, however much of it has passed', async () => {
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 20))
  onTestFinished(() => clock.mockRestore())
  const client = {
    exists: () => Promise.resolve({}),
    children: () => Promise.resolve(['a']),
  } as unknown as Client
  await expect(untilChildren(client, '/a', 9, { timeoutMs: 50 })).rejects.toThrow(
    'not within 50 ms: /a has 9 children, and not 1',
  )
})
