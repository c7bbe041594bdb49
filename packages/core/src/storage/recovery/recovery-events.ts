/** What recovery did, one event for each thing an operator may want to know. */
export type RecoveryEvent =
  | { readonly type: 'freshDirectory'; readonly file: string }
  | { readonly type: 'unexpectedlyEmpty'; readonly file: string }
  | {
      readonly type: 'snapshotLoaded'
      readonly file: string
      readonly zxid: bigint
      readonly bytes: number
    }
  | { readonly type: 'snapshotSkipped'; readonly file: string; readonly reason: string }
  | { readonly type: 'emptySnapshotTrusted'; readonly file: string }
  | {
      readonly type: 'logReplayed'
      readonly file: string
      readonly records: number
      readonly lastZxid: bigint
    }
  | {
      readonly type: 'tornTail'
      readonly file: string
      readonly position: number
      readonly droppedBytes: number
      /** Sound records of the same unfinished write, dropped with it. */
      readonly droppedRecords: number
    }
  | {
      readonly type: 'unreadableRestPassed'
      readonly file: string
      readonly position: number
      readonly nextFile: string
    }
  | { readonly type: 'damageBelowSnapshot'; readonly file: string; readonly position: number }
  | { readonly type: 'emptyLogRemoved'; readonly file: string; readonly bytes: number }
  | { readonly type: 'leftoverRemoved'; readonly file: string }
  | {
      readonly type: 'damageAccepted'
      readonly file: string
      readonly keptAs: string
      readonly lastZxid: bigint
    }

/** A sentence that names the file and says what was done. */
export function describeRecovery(event: RecoveryEvent): string {
  const { type, file } = event
  switch (type) {
    case 'freshDirectory':
      return `The data directory is new: wrote ${file} for an empty database.`
    case 'unexpectedlyEmpty':
      return `There is no data in ${file}: until it has been brought here, this server does not vote.`
    case 'snapshotLoaded':
      return `Loaded ${file} (zxid ${hex(event.zxid)}, ${event.bytes} bytes).`
    case 'snapshotSkipped':
      return `Passed over ${file}: ${event.reason}. An older snapshot and more of the log are used.`
    case 'emptySnapshotTrusted':
      return `There is no snapshot: replaying the logs from ${file} onto an empty database, as configured.`
    case 'logReplayed':
      return `Replayed ${event.records} transactions of ${file}, up to zxid ${hex(event.lastZxid)}.`
    case 'tornTail':
      return (
        `${file} ends in an unfinished write at byte ${event.position}: cut off ` +
        `${event.droppedBytes} bytes${event.droppedRecords > 0 ? ` (with ${event.droppedRecords} whole records)` : ''}` +
        ' that were never acknowledged.'
      )
    case 'unreadableRestPassed':
      return (
        `${file} cannot be read beyond byte ${event.position}; nothing is missing, since ` +
        `${event.nextFile} goes on from there.`
      )
    case 'damageBelowSnapshot':
      return (
        `${file} is damaged at byte ${event.position}; nothing is missing, since the snapshot ` +
        'holds all that was there.'
      )
    case 'emptyLogRemoved':
      return `Removed ${file} (${event.bytes} bytes): no transaction was ever written to it.`
    case 'leftoverRemoved':
      return `Removed ${file}, left over from an interrupted write.`
    case 'damageAccepted':
      return (
        `Accepted the damage in ${file} as configured: the database ends at zxid ` +
        `${hex(event.lastZxid)}, and the file is kept as ${event.keptAs}.`
      )
  }
}

export function hex(zxid: bigint): string {
  return `0x${zxid.toString(16)}`
}
