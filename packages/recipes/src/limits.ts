import { TimeoutError, type CallOptions, type Client } from '@zabra/client'

/** Carries out something under one signal that stands for the caller's signal and deadline. */
export async function limited<T>(
  client: Client,
  { signal, timeoutMs }: CallOptions,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true) throw signal.reason
  const controller = new AbortController()
  const onAbort = (): void => controller.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  const cancel =
    timeoutMs === undefined
      ? undefined
      : client.host.timer(timeoutMs, () => controller.abort(new TimeoutError(timeoutMs, false)))
  try {
    return await act(controller.signal)
  } finally {
    signal?.removeEventListener('abort', onAbort)
    cancel?.()
  }
}
