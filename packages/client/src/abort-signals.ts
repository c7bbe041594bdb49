type Callback = (reason: unknown) => void

/**
 * One listener per signal, however many callers wait on it: thousands of calls may share a signal,
 * and Node warns about more than ten listeners.
 */
const groups = new WeakMap<AbortSignal, { callbacks: Set<Callback>; listener: () => void }>()

/**
 * Calls back when the signal aborts, or at once if it has. Returns a function that removes the
 * callback.
 */
export function onAbort(signal: AbortSignal, callback: Callback): () => void {
  if (signal.aborted) {
    callback(signal.reason)
    return () => {}
  }
  // The same function may be registered twice.
  const own: Callback = (reason) => callback(reason)
  const group = groups.get(signal) ?? listenTo(signal)
  group.callbacks.add(own)
  return () => {
    if (!group.callbacks.delete(own) || group.callbacks.size > 0) return
    signal.removeEventListener('abort', group.listener)
    if (groups.get(signal) === group) groups.delete(signal)
  }
}

function listenTo(signal: AbortSignal) {
  const callbacks = new Set<Callback>()
  const listener = (): void => {
    groups.delete(signal)
    for (const callback of callbacks) callback(signal.reason)
  }
  const group = { callbacks, listener }
  signal.addEventListener('abort', listener, { once: true })
  groups.set(signal, group)
  return group
}
