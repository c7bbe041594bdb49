import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileChunks } from '../../file-chunks.ts'
import type { ServerView } from '../../server-view.ts'
import { hex } from '../java-text.ts'
import type { Refusal } from './authorization.ts'
import type { RateLimit } from './rate-limit.ts'

/** What is taken without it cannot be restored, so ZooKeeper takes none. */
export const needsLastZxid: Refusal = {
  status: 500,
  error: 'This command needs serializeLastProcessedZxid.enabled',
}

/**
 * `snapshot`: takes one, and by default sends it. Answers with a refusal, with `sent` when the
 * response is complete, or with `taken` when only the headers are set.
 */
export async function takeSnapshot(
  view: ServerView,
  limit: RateLimit,
  isStreaming: boolean,
  response: ServerResponse,
): Promise<Refusal | 'sent' | 'taken'> {
  if (!view.config.admin.snapshotEnabled) {
    return { status: 503, error: 'Snapshot command is disabled by admin.snapshot.enabled' }
  }
  if (!view.config.serializeLastProcessedZxid) return needsLastZxid
  if (!limit.take(performance.now())) {
    view.adminCounts.snapshotsRateLimited++
    return { status: 429, error: 'Only one snapshot in each admin.rateLimiterIntervalInMS' }
  }
  const taken = await view.snapshot()
  if (taken === undefined) return { status: 500, error: 'The snapshot failed; see the log' }
  response.setHeader('last_zxid', `0x${hex(taken.zxid)}`)
  response.setHeader('snapshot_size', taken.bytes)
  if (!isStreaming) return 'taken'
  const file = await view.openSnapshot(taken.file)
  try {
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': file.bytes,
    })
    await pipeline(Readable.from(fileChunks(file)), response)
  } finally {
    await file.close()
  }
  return 'sent'
}
