import { expect, test } from 'vitest'
import { describeRecovery, type RecoveryEvent } from './recovery-events.ts'

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
  { type: 'snapshotAhead', file, zxid: 30n, lastZxid: 26n },
  { type: 'emptyLogRemoved', file, bytes: 16, durableTo: 26n },
  { type: 'extentUnknown', file },
  { type: 'endMissing', file, problem: 'it ends too early' },
  { type: 'unsyncedLost', file, problem: 'it ends too early' },
  { type: 'lossAccepted', file, problem: 'it ends too early', lastZxid: 26n },
  { type: 'leftoverRemoved', file },
  { type: 'damageAccepted', file, keptAs: 'data/damaged.log.5', lastZxid: 26n },
]

test('every event reads as a sentence that names its file', () => {
  for (const event of events) {
    expect(describeRecovery(event)).toMatch(/data\/log\.5.*\.$/)
  }
  expect(describeRecovery(events[7]!)).toBe(
    'data/log.5 ends in an unfinished write at byte 500: cut off 70 bytes (with 2 whole records). ' +
      'A crash in the middle of a write leaves this, and nobody was promised such a write. If the ' +
      'file was cut or emptied afterwards, this start cannot know.',
  )
})
