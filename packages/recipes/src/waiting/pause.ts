import type { Client } from '@zabra/client'
import { onAbort } from './limits.ts'

/** After so long a server that refuses is asked again: its disk is full, or it has much to do. */
export const refusedPauseMs = 500

/** Waits so long by the client's clock, or until the signal aborts, which rejects. */
export function pause(client: Client, ms: number, signal?: AbortSignal): Promise<void> {
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
    cancel = client.host.timer(ms, () => {
      stop()
      resolve()
    })
  })
}
