type Callback = () => void

/**
 * Who waits on which signal, with one listener for each signal: thousands of calls may share one,
 * where Node warns of more than ten listeners.
 */
export class AbortListeners {
  private readonly groups = new Map<AbortSignal, Group>()

  /** Calls back when the signal aborts; answers how to take that back. */
  add(signal: AbortSignal, callback: Callback): () => void {
    const group = this.groups.get(signal) ?? this.listen(signal)
    group.callbacks.add(callback)
    return () => {
      if (!group.callbacks.delete(callback) || group.callbacks.size > 0) return
      signal.removeEventListener('abort', group.listener)
      this.groups.delete(signal)
    }
  }

  private listen(signal: AbortSignal): Group {
    const callbacks = new Set<Callback>()
    const listener = (): void => {
      this.groups.delete(signal)
      for (const callback of callbacks) callback()
    }
    const group = { callbacks, listener }
    signal.addEventListener('abort', listener, { once: true })
    this.groups.set(signal, group)
    return group
  }
}

interface Group {
  readonly callbacks: Set<Callback>
  readonly listener: Callback
}
