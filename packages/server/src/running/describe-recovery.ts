import { hex, type RecoveryEvent } from '@zabra/core'
import { info, warn, type LogEntry } from '../base/event-logger.ts'

/** A step of recovery as a line of the log. An operator should look at warnings. */
export function describeRecovery(event: RecoveryEvent): LogEntry {
  const { type, file } = event
  switch (type) {
    case 'freshDirectory':
      return info('recovery: created new database', { file })
    case 'unexpectedlyEmpty':
      return warn('recovery: found no data, not voting until the leader has sent it', { file })
    case 'snapshotLoaded':
      return info('recovery: loaded snapshot', { file, zxid: hex(event.zxid), bytes: event.bytes })
    case 'snapshotSkipped':
      return warn('recovery: skipped unreadable snapshot, using an older one', {
        file,
        reason: event.reason,
      })
    case 'emptySnapshotTrusted':
      return info('recovery: found no snapshot, replaying the log as configured', { file })
    case 'logReplayed':
      return info('recovery: replayed log', {
        file,
        records: event.records,
        lastZxid: hex(event.lastZxid),
      })
    case 'tornTail':
      return info('recovery: truncated unfinished write', {
        file,
        position: event.position,
        bytes: event.droppedBytes,
        records: event.droppedRecords,
        durableTo: known(event.durableTo),
      })
    case 'unreadableRestPassed':
      return info('recovery: skipped unreadable end of log, the next file continues it', {
        file,
        position: event.position,
        nextFile: event.nextFile,
      })
    case 'snapshotAhead':
      return info('recovery: accepted snapshot that is ahead of the log, as configured', {
        file,
        zxid: hex(event.zxid),
        lastZxid: hex(event.lastZxid),
      })
    case 'damageBelowSnapshot':
      return warn('recovery: skipped damage in log, the snapshot has the data', {
        file,
        position: event.position,
      })
    case 'snapshotDiffers':
      return warn('recovery: put snapshot aside, its tree is not the one of the log', { file })
    case 'emptyLogRemoved':
      return info('recovery: removed empty log', {
        file,
        bytes: event.bytes,
        durableTo: known(event.durableTo),
      })
    case 'extentUnknown':
      return info('recovery: found no record of the log end, cannot detect a missing end', { file })
    case 'endMissing':
      return warn('recovery: lost end of log, not voting until the leader has sent it', {
        file,
        problem: event.problem,
      })
    case 'unsyncedLost':
      return warn('recovery: lost end of log, as forceSync=no allows', {
        file,
        problem: event.problem,
      })
    case 'lossAccepted':
      return warn('recovery: accepted lost end of log, as configured', {
        file,
        problem: event.problem,
        lastZxid: hex(event.lastZxid),
      })
    case 'leftoverRemoved':
      return info('recovery: removed leftover of an interrupted write', { file })
    case 'damageAccepted':
      return warn('recovery: accepted damage, as configured', {
        file,
        keptAs: event.keptAs,
        lastZxid: hex(event.lastZxid),
      })
  }
}

function known(durableTo: bigint | undefined): string {
  return durableTo === undefined ? 'unknown' : hex(durableTo)
}
