import { onAbort } from './abort-signals.ts'
import type { Host } from './host.ts'

/** Waits by the host's clock. Rejects with the signal's reason when the signal aborts. */
export function pause(host: Host, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancel = (): void => {}
    const stop =
      signal === undefined
        ? () => {}
        : onAbort(signal, (reason) => {
            cancel()
            reject(reason)
          })
    if (signal?.aborted === true) return
    cancel = host.timer(ms, () => {
      stop()
      resolve()
    })
  })
}
