import { TimeoutError, type CallOptions, type Client } from '@zabra/client'

/** Carries out something under one signal that stands for the caller's signal and deadline. */
export async function limited<T>(
  client: Client,
  { signal, timeoutMs }: CallOptions,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true) throw signal.reason
  const controller = new AbortController()
  const cancel =
    timeoutMs === undefined
      ? undefined
      : client.host.timer(timeoutMs, () => controller.abort(new TimeoutError(timeoutMs, false)))
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

/** Calls back when the signal aborts, or at once if it has; answers how to take that back. */
export function onAbort(signal: AbortSignal, callback: (reason: unknown) => void): () => void {
  const listener = (): void => callback(signal.reason)
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** The promise, or the signal's reason, whichever is first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, reject)
    promise.finally(stop).then(resolve, reject)
  })
}
