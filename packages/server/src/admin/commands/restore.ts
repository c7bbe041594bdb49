import { RestoreRefusal, SnapshotError } from '@zabra/core'
import type { IncomingMessage } from 'node:http'
import type { ServerView } from '../../view/server-view.ts'
import type { Refusal } from '../../http/authorization.ts'
import type { Answer } from './commands.ts'
import type { RateLimit } from './rate-limit.ts'
import { needsLastZxid } from './snapshot.ts'

/** `restore`: the database becomes what the snapshot in the request's body holds. */
export async function restore(
  view: ServerView,
  limit: RateLimit,
  request: IncomingMessage,
): Promise<Refusal | Answer> {
  const { config, adminCounts } = view
  if (!config.admin.restoreEnabled) {
    return { status: 503, error: 'Restore command is disabled by admin.restore.enabled' }
  }
  if (!config.serializeLastProcessedZxid) return needsLastZxid
  if (!limit.take(performance.now())) {
    adminCounts.restoresRateLimited++
    return { status: 429, error: 'Only one restore in each admin.rateLimiterIntervalInMS' }
  }
  const started = performance.now()
  try {
    const lastZxid = await view.restore(request)
    adminCounts.restoreMs.add(performance.now() - started)
    return { last_zxid: lastZxid }
  } catch (error) {
    adminCounts.restoreFailures++
    // It was no restore: the next one need not wait.
    limit.giveBack()
    return { status: statusOf(error), error: `Nothing was restored: ${(error as Error).message}` }
  }
}

/** ZooKeeper says 500 to all of them. */
function statusOf(error: unknown): number {
  if (error instanceof SnapshotError) return 400
  return error instanceof RestoreRefusal ? 503 : 500
}
