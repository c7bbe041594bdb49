import { TimeoutError, type CallOptions, type Client } from '@zabra/client'
import { callNames, checkOptionNames, checkTimeout, onAbort } from '@zabra/client/internal'

/** The subject of a deadline's error. */
export interface Subject {
  readonly path?: string | undefined
  /** The outcome that was missed, for example `not acquired`. */
  readonly what?: string | undefined
  /** The names of the options besides a signal and a deadline; others are refused. */
  readonly names?: Readonly<Record<string, true>> | undefined
}

/**
 * Runs something under one signal for both the caller's signal and deadline. Past the deadline the
 * error says whether it may have happened nevertheless.
 */
export async function limited<T>(
  client: Client,
  options: CallOptions,
  act: (signal: AbortSignal) => Promise<T>,
  mayHaveHappened = false,
  { path, what, names }: Subject = {},
): Promise<T> {
  checkOptionNames(
    'this call',
    options,
    names === undefined ? callNames : { ...callNames, ...names },
  )
  const { signal, timeoutMs } = options
  checkTimeout(timeoutMs)
  if (signal?.aborted === true) throw signal.reason
  const controller = new AbortController()
  const cancel =
    timeoutMs === undefined
      ? undefined
      : client.host.timer(timeoutMs, () => {
          const missed =
            client.state.name === 'connected' ? what : `${what ?? 'no answer'} (no connection)`
          controller.abort(new TimeoutError(timeoutMs, mayHaveHappened, { path }, missed))
        })
  const signals = signal === undefined ? [controller.signal] : [signal, controller.signal]
  try {
    return await underAll(signals, act)
  } finally {
    cancel?.()
  }
}

/** Runs something under a signal that aborts with the first of these. */
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

/** The promise, or the signal's reason, whichever comes first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, reject)
    promise.finally(stop).then(resolve, reject)
  })
}
