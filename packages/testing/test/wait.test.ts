import { expect, test } from 'vitest'
import { aborted, until, WaitTimeoutError } from '../src/wait.ts'

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
