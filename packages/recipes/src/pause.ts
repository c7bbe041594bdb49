import type { Client } from '@zabra/client'
import { onAbort } from './limits.ts'

/** Waits so long by the client's clock, or until the signal aborts, which rejects. */
export function pause(client: Client, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancel = (): void => {}
    const stop = onAbort(signal, (reason) => {
      cancel()
      reject(reason)
    })
    if (signal.aborted) return
    cancel = client.host.timer(ms, () => {
      stop()
      resolve()
    })
  })
}
