import type { OneShotWatch, WatchEvent } from '@zabra/client'

/** A watch for one read, and what it will tell; rejects when the signal aborts. */
export function nextChange(signal: AbortSignal): {
  readonly watch: OneShotWatch
  readonly happened: Promise<WatchEvent>
} {
  let watch!: OneShotWatch
  const happened = new Promise<WatchEvent>((resolve, reject) => {
    watch = resolve
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  // Nobody may be waiting yet when the signal aborts.
  happened.catch(() => {})
  return { watch, happened }
}
