import type { RecoveryEvent } from '@zabra/core'
import { expect, test } from 'vitest'
import { formatLine } from '../base/event-logger.ts'
import { describeRecovery } from './describe-recovery.ts'

const file = 'data/log.5'

const events: readonly RecoveryEvent[] = [
  { type: 'freshDirectory', file },
  { type: 'unexpectedlyEmpty', file },
  { type: 'snapshotLoaded', file, zxid: 26n, bytes: 100 },
  { type: 'snapshotSkipped', file, reason: 'it is not complete' },
  { type: 'emptySnapshotTrusted', file },
  { type: 'logReplayed', file, records: 3, lastZxid: 26n },
  { type: 'tornTail', file, position: 500, droppedBytes: 70, droppedRecords: 0, durableTo: 26n },
  {
    type: 'tornTail',
    file,
    position: 500,
    droppedBytes: 70,
    droppedRecords: 2,
    durableTo: undefined,
  },
  { type: 'unreadableRestPassed', file, position: 500, nextFile: 'data/log.9' },
  { type: 'damageBelowSnapshot', file, position: 500 },
  { type: 'snapshotDiffers', file },
  { type: 'snapshotAhead', file, zxid: 30n, lastZxid: 26n },
  { type: 'emptyLogRemoved', file, bytes: 16, durableTo: 26n },
  { type: 'extentUnknown', file },
  { type: 'endMissing', file, problem: 'it ends too early' },
  { type: 'unsyncedLost', file, problem: 'it ends too early' },
  { type: 'lossAccepted', file, problem: 'it ends too early', lastZxid: 26n },
  { type: 'leftoverRemoved', file },
  { type: 'damageAccepted', file, keptAs: 'data/damaged.log.5', lastZxid: 26n },
]

test('every line of recovery names its file', () => {
  const lines = events
    .map(describeRecovery)
    .map(({ message, fields }) => formatLine(message, fields))
  for (const line of lines) expect(line).toMatch(/^recovery: .* file=data\/log\.5\b/)
  expect(lines[7]).toBe(
    'recovery: truncated unfinished write file=data/log.5 position=500 bytes=70 records=2 durableTo=unknown',
  )
})
