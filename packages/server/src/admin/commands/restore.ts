import { RestoreRefusal, SnapshotError } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'
import { Refused, type Call, type Outcome } from './command.ts'
import { needsLastZxid } from './snapshot.ts'

const snapshotType = 'application/octet-stream'

/** `restore`: replaces the database with the snapshot in the body of the request. */
export async function restore(view: ServerView, { request, rateLimit }: Call): Promise<Outcome> {
  if (request.headers['content-type']?.split(';', 1)[0]?.trim() !== snapshotType) {
    return new Refused(415, `Content-Type must be ${snapshotType}`)
  }
  const { config, adminCounts } = view
  if (!config.admin.restoreEnabled) {
    return new Refused(503, 'Restore command is disabled by admin.restore.enabled')
  }
  if (!config.serializeLastProcessedZxid) return needsLastZxid
  if (!rateLimit.take(performance.now())) {
    adminCounts.restoresRateLimited++
    return new Refused(429, 'Only one restore in each admin.rateLimiterIntervalInMS')
  }
  const started = performance.now()
  try {
    const lastZxid = await view.restore(request)
    adminCounts.restoreMs.add(performance.now() - started)
    return { last_zxid: lastZxid }
  } catch (error) {
    adminCounts.restoreFailures++
    // A failed restore does not count against the limit.
    rateLimit.giveBack()
    return new Refused(statusOf(error), `Nothing was restored: ${(error as Error).message}`)
  }
}

/** ZooKeeper answers 500 in all cases. */
function statusOf(error: unknown): number {
  if (error instanceof SnapshotError) return 400
  return error instanceof RestoreRefusal ? 503 : 500
}
