import type { AnyTransaction } from '@zabra/client'
import { onAbort } from '@zabra/client/internal'
import type { Held } from './holding/held.ts'

/**
 * Several rights as one: lost with the first of them, released together. Its token is the largest
 * of theirs.
 *
 *     const both = holdAll(held, permit)
 *     await both.guard(client.transaction().set('/report', 'done')).commit()
 */
export function holdAll(first: Held, ...others: readonly Held[]): Held {
  if (others.length === 0) return first
  const all = [first, ...others]
  const controller = new AbortController()
  const undo = all.map(({ signal }) =>
    onAbort(signal, (reason) => {
      controller.abort(reason)
    }),
  )
  const last = all.reduce((a, b) => (b.token > a.token ? b : a))
  const release = async (): Promise<void> => {
    const results = await Promise.allSettled(all.map((held) => held.release()))
    for (const stop of undo) stop()
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
  return {
    token: last.token,
    path: last.path,
    signal: controller.signal,
    get deadlineMs() {
      return Math.min(...all.map(({ deadlineMs }) => deadlineMs))
    },
    guard<Guarded extends AnyTransaction>(transaction: Guarded): Guarded {
      for (const held of all) held.guard(transaction)
      return transaction
    },
    release,
    [Symbol.asyncDispose]: release,
  }
}
