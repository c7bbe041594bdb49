import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileChunks } from '../../disk/file-chunks.ts'
import type { ServerView } from '../../view/server-view.ts'
import { hexDigits } from '../java-text.ts'
import { Refused, type Call, type Outcome } from './command.ts'

/** Without this setting a snapshot cannot be restored, so ZooKeeper takes none. */
export const needsLastZxid = new Refused(
  500,
  'This command needs serializeLastProcessedZxid.enabled',
)

/** `snapshot`: takes a snapshot and, unless `streaming=false`, sends it. */
export async function snapshot(
  view: ServerView,
  { parameters, response, rateLimit }: Call,
): Promise<Outcome> {
  if (!view.config.admin.snapshotEnabled) {
    return new Refused(503, 'Snapshot command is disabled by admin.snapshot.enabled')
  }
  if (!view.config.serializeLastProcessedZxid) return needsLastZxid
  if (!rateLimit.take(performance.now())) {
    view.adminCounts.snapshotsRateLimited++
    return new Refused(429, 'Only one snapshot in each admin.rateLimiterIntervalInMS')
  }
  const taken = await view.snapshot()
  if (taken === undefined) return new Refused(500, 'The snapshot failed; see the log')
  response.setHeader('last_zxid', `0x${hexDigits(taken.zxid)}`)
  response.setHeader('snapshot_size', taken.bytes)
  const isStreaming = (parameters.get('streaming') ?? 'true').toLowerCase() === 'true'
  if (!isStreaming) return {}
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
