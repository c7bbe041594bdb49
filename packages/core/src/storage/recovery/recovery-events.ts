/** The steps of a recovery, for the log. */
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
      /** The noted end of durable data, which is all present. */
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
  /** Put aside: the log says that the tree was another one. */
  | { readonly type: 'snapshotDiffers'; readonly file: string }
  | { readonly type: 'leftoverRemoved'; readonly file: string }
  | {
      readonly type: 'damageAccepted'
      readonly file: string
      readonly keptAs: string
      readonly lastZxid: bigint
    }
