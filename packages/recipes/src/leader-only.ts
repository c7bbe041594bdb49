import type { Client } from '@zabra/client'
import { Election, type Term } from './election.ts'
import { underAll } from './limits.ts'
import type { LockOptions } from './turn.ts'

export interface LeaderOnlyOptions extends LockOptions {
  readonly signal?: AbortSignal | undefined
}

/**
 * Work that only the leader does. Waits to be elected and does it; when the leadership is lost,
 * the signal aborts, and once the work has come to its end it is done again in the next term.
 * Resolves when the work ends in a term that was held all along. When the caller's signal aborts,
 * the work is told, and the leadership given back only after it has ended.
 */
export async function leaderOnly<T>(
  client: Client,
  path: string,
  work: (term: Term, signal: AbortSignal) => Promise<T>,
  options: LeaderOnlyOptions = {},
): Promise<T> {
  const { signal, ...electionOptions } = options
  const election = new Election(client, path, electionOptions)
  for (;;) {
    await using term = await election.campaign({ signal, requeue: true })
    const signals = signal === undefined ? [term.signal] : [term.signal, signal]
    const outcome = await underAll(signals, (either) => settled(work(term, either)))
    if ('value' in outcome && !term.signal.aborted) return outcome.value
    if (signal?.aborted === true) throw signal.reason
    if ('error' in outcome && !term.signal.aborted) throw outcome.error
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

const settled = <T>(promise: Promise<T>): Promise<Outcome<T>> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
