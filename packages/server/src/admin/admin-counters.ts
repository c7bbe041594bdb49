import type { ServerView } from '../server-view.ts'

/** What the admin commands count, for metrics. */
export interface AdminCounters {
  snapshotsRateLimited: number
}

const counters = new WeakMap<ServerView, AdminCounters>()

export function adminCounters(view: ServerView): AdminCounters {
  let own = counters.get(view)
  if (own === undefined) counters.set(view, (own = { snapshotsRateLimited: 0 }))
  return own
}
