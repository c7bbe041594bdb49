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
      readonly durableTo: bigint | undefined
    }
  | {
      readonly type: 'unreadableRestPassed'
      readonly file: string
      readonly position: number
      readonly nextFile: string
    }
  | {
      readonly type: 'snapshotAhead'
      readonly file: string
      readonly zxid: bigint
      readonly lastZxid: bigint
    }
  | { readonly type: 'damageBelowSnapshot'; readonly file: string; readonly position: number }
  | {
      readonly type: 'emptyLogRemoved'
      readonly file: string
      readonly bytes: number
      /** As far as everything is noted to have been durable, and is there. */
      readonly durableTo: bigint | undefined
    }
  | { readonly type: 'extentUnknown'; readonly file: string }
  | {
      readonly type: 'endMissing' | 'unsyncedLost'
      readonly file: string
      readonly problem: string
    }
  | {
      readonly type: 'lossAccepted'
      readonly file: string
      readonly problem: string
      readonly lastZxid: bigint
    }
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
        `${event.droppedBytes} bytes${event.droppedRecords > 0 ? ` (with ${event.droppedRecords} whole records)` : ''}. ` +
        `A crash in the middle of a write leaves this, and nobody was promised such a write. ${known(event.durableTo)}`
      )
    case 'unreadableRestPassed':
      return (
        `${file} cannot be read beyond byte ${event.position}; nothing is missing, since ` +
        `${event.nextFile} goes on from there.`
      )
    case 'snapshotAhead':
      return (
        `${file} contains parts of the transactions up to zxid ${hex(event.zxid)}, and the logs end ` +
        `at ${hex(event.lastZxid)}: accepted as configured. In an ensemble this server does not ` +
        'vote until it has taken the data from the others.'
      )
    case 'damageBelowSnapshot':
      return (
        `${file} is damaged at byte ${event.position}; nothing is missing, since the snapshot ` +
        'holds all that was there.'
      )
    case 'emptyLogRemoved':
      return (
        `Removed ${file} (${event.bytes} bytes): it holds no transaction, as after a crash at the ` +
        `start of a log. ${known(event.durableTo)}`
      )
    case 'extentUnknown':
      return (
        `Nothing notes how far the logs in ${file} went, as Apache ZooKeeper and older versions leave ` +
        'them: if the newest one was cut or is missing, this start cannot know.'
      )
    case 'endMissing':
      return `${file}: ${event.problem}. Until a leader has sent this server everything, it does not vote.`
    case 'unsyncedLost':
      return `${file}: ${event.problem}. With forceSync=no a loss of power may do that.`
    case 'lossAccepted':
      return (
        `${file}: ${event.problem}. Accepted as configured: the database ends at zxid ` +
        `${hex(event.lastZxid)}.`
      )
    case 'leftoverRemoved':
      return `Removed ${file}, left over from an interrupted write.`
    case 'damageAccepted':
      return (
        `Accepted the damage in ${file} as configured: the database ends at zxid ` +
        `${hex(event.lastZxid)}, and the file is kept as ${event.keptAs}.`
      )
  }
}

const warnings: ReadonlySet<RecoveryEvent['type']> = new Set([
  'unexpectedlyEmpty',
  'snapshotSkipped',
  'damageBelowSnapshot',
  'endMissing',
  'unsyncedLost',
  'lossAccepted',
  'damageAccepted',
])

/** Whether an operator should look into it. */
export function isRecoveryWarning({ type }: RecoveryEvent): boolean {
  return warnings.has(type)
}

function known(durableTo: bigint | undefined): string {
  return durableTo === undefined
    ? 'If the file was cut or emptied afterwards, this start cannot know.'
    : `Everything noted as durable, up to zxid ${hex(durableTo)}, is there.`
}

export function hex(zxid: bigint): string {
  return `0x${zxid.toString(16)}`
}
