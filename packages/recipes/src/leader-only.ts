import type { Client } from '@zabra/client'
import { Election, type Term } from './election.ts'
import { limited, orAborted, underAll } from './waiting/limits.ts'
import type { LockOptions } from './turns/turn.ts'

export interface LeaderOnlyOptions extends LockOptions {
  readonly signal?: AbortSignal | undefined
  /** How long to wait for each election; the time of the work does not count. */
  readonly timeoutMs?: number | undefined
}

/**
 * Does work only while leading. Waits until elected and starts the work; when the leadership is
 * lost, the signal aborts, and after the work has ended it is started again in the next term.
 * Resolves when the work ends in a term that was not interrupted. When the caller's signal aborts,
 * the work's signal aborts too, and the leadership is released only after it has ended. If it is
 * not elected in time, it rejects with a TimeoutError, which says whether the work had begun in an
 * earlier term.
 */
export async function leaderOnly<T>(
  client: Client,
  path: string,
  work: (term: Term, signal: AbortSignal) => Promise<T>,
  options: LeaderOnlyOptions = {},
): Promise<T> {
  const { signal, timeoutMs, ...electionOptions } = options
  const election = new Election(client, path, electionOptions)
  let before: Term | undefined
  const next = async (either: AbortSignal): Promise<Term> => {
    if (before !== undefined) await orAborted(before.release(), either)
    return election.campaign({ signal: either, requeue: true })
  }
  for (;;) {
    const hasBegun = before !== undefined
    const subject = { path, what: 'not elected' }
    const term = await limited(client, { signal, timeoutMs }, next, hasBegun, subject)
    const signals = signal === undefined ? [term.signal] : [term.signal, signal]
    const outcome = await underAll(signals, (either) => settled(() => work(term, either)))
    if (!term.signal.aborted) {
      await term.release()
      return resultOf(outcome, signal)
    }
    // In the background: the caller may stop waiting before there is a connection.
    term.release().catch(() => {})
    before = term
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

async function settled<T>(act: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await act() }
  } catch (error) {
    return { error }
  }
}

function resultOf<T>(outcome: Outcome<T>, signal: AbortSignal | undefined): T {
  if ('value' in outcome) return outcome.value
  throw signal?.aborted === true ? signal.reason : outcome.error
}
