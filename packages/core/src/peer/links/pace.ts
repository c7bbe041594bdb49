/** How fast something long is sent: no faster than it is taken, and never all the time there is. */
import type { Host } from '../../ports.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import { TimeoutError } from '../../base/timeout-error.ts'
import type { PacketLink } from './packet-link.ts'

/** A snapshot is sent no faster than the learner takes it. */
const paceBytesMax = 4 * 1024 * 1024
/** How much of a history, or of a snapshot, is sent before the loop turns. */
export const sliceBytesDefault = 64 * 1024

/** Waits until the learner has taken enough of what it was sent, for a limited time. */
export async function drained(host: Host, limitMs: number, link: PacketLink): Promise<void> {
  const startedMs = host.monotonicMs()
  do {
    await host.delay(1).done
    if (host.monotonicMs() - startedMs > limitMs) {
      throw new TimeoutError('a learner does not read')
    }
  } while (link.unsentBytes > paceBytesMax && !link.isClosed)
}

/** Each as proposed and committed at once; `pause` comes between slices. */
export async function sendHistory(
  link: PacketLink,
  txns: readonly LoggedTxn[],
  pause: () => Promise<void>,
  sliceBytes = sliceBytesDefault,
): Promise<void> {
  let bytes = 0
  for (const { zxid, payload } of txns) {
    link.send('proposal', zxid, payload)
    link.send('commit', zxid)
    bytes += payload.length
    if (bytes < sliceBytes) continue
    bytes = 0
    await pause()
    if (link.isClosed) return
  }
}
