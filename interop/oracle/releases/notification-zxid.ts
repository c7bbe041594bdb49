import { isNotification, SeenZxid, type Received } from '../play/transcript.ts'
import type { ReleaseDifference } from './release-difference.ts'

export const notificationZxid: ReleaseDifference = {
  name: 'a notification carries the zxid of its cause',
  since: '3.9.0',
  why: '3.8 sends -1 in the header of every notification, 3.9 the zxid of the transaction.',
  level(_step, older, newer) {
    let count = 0
    for (const [session, list] of Object.entries(newer.received)) {
      for (const [index, received] of list.entries()) {
        const theirs = notificationIn(older.received[Number(session)]?.[index])
        const ours = notificationIn(received)
        if (theirs?.['zxid'] !== -1 || !(ours?.['zxid'] instanceof SeenZxid)) continue
        ours['zxid'] = -1
        count++
      }
    }
    return count
  },
}

/** A notification, even if it came late or on a replaced connection. */
function notificationIn(received: Received | undefined): Received | undefined {
  if (received === undefined) return undefined
  const inner = received['late'] ?? received['old'] ?? received
  const isRecord = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
  if (!isRecord || inner instanceof SeenZxid) return undefined
  const notification = inner as Received
  return isNotification(notification) ? notification : undefined
}
