import { TimeoutError, type CallOptions, type Client } from '@zabra/client'
import { checkTimeout, onAbort } from '@zabra/client/internal'

/** What the error of a deadline is about. */
export interface Subject {
  readonly path?: string | undefined
  /** What did not come to be: `not acquired`, for example. */
  readonly what?: string | undefined
}

/**
 * Carries out something under one signal that stands for the caller's signal and deadline. Past
 * the deadline it says whether it may have happened nevertheless.
 */
export async function limited<T>(
  client: Client,
  { signal, timeoutMs }: CallOptions,
  act: (signal: AbortSignal) => Promise<T>,
  mayHaveHappened = false,
  { path, what }: Subject = {},
): Promise<T> {
  checkTimeout(timeoutMs)
  if (signal?.aborted === true) throw signal.reason
  const controller = new AbortController()
  const cancel =
    timeoutMs === undefined
      ? undefined
      : client.host.timer(timeoutMs, () =>
          controller.abort(new TimeoutError(timeoutMs, mayHaveHappened, { path }, what)),
        )
  const signals = signal === undefined ? [controller.signal] : [signal, controller.signal]
  try {
    return await underAll(signals, act)
  } finally {
    cancel?.()
  }
}

/** Carries out something under a signal that aborts with the first of these. */
export async function underAll<T>(
  signals: readonly AbortSignal[],
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const undo = signals.map((signal) =>
    onAbort(signal, (reason) => {
      controller.abort(reason)
    }),
  )
  try {
    return await act(controller.signal)
  } finally {
    for (const stop of undo) stop()
  }
}

/** The promise, or the signal's reason, whichever is first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, reject)
    promise.finally(stop).then(resolve, reject)
  })
}
