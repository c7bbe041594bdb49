import type { MembershipChange } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { SyncPlan } from './sync-plan.ts'

/** The unit of time of an ensemble, and its limits in that unit. */
export interface ZabOptions {
  readonly tickMs: number
  /** For agreeing on an epoch and bringing up learners. */
  readonly initLimit: number
  /** For silence afterwards, and for acknowledging a proposal. */
  readonly syncLimit: number
  /** The most bytes in the queue of a learner; above it the learner is dropped. */
  readonly learnerQueueBytesMax?: number
  /** The last counter of an epoch; by default the largest possible. */
  readonly counterMax?: bigint
  /**
   * How much of the logs may be sent to a learner, as a part of the last snapshot's size. Negative:
   * nothing, only what memory holds. 0: however much it is.
   */
  readonly snapshotSizeFactor?: number
  /**
   * How many learners may be brought up at once, by snapshots and otherwise, once there is a quorum;
   * others have to come again. No bound where left out.
   */
  readonly syncsMax?: { readonly snaps: number; readonly diffs: number }
  /**
   * Whether a leader finds out that it still leads before it answers a sync; it does unless told.
   * Otherwise one that was replaced unawares may answer, as in Apache.
   */
  readonly confirmSyncs?: boolean
  /** Whether servers that are not members may join; by default, if members can be changed. */
  readonly admitsStrangers?: boolean | undefined
  /** Bytes of a history or a snapshot sent in one turn of the event loop. */
  readonly sliceBytes?: number
  /** Every learner gets a snapshot. */
  readonly alwaysSendSnapshot?: boolean
}

/** Events among the servers of an ensemble, for logs and transcripts. */
export type ZabEvent =
  | { readonly type: 'looking' }
  | { readonly type: 'readOnly'; readonly afterMs: number }
  | { readonly type: 'readOnlyWhileFull' }
  | { readonly type: 'elected'; readonly leader: ServerId }
  /** As elected, but by a change of configuration. */
  | { readonly type: 'appointed'; readonly leader: ServerId }
  | { readonly type: 'leading'; readonly epoch: bigint }
  | {
      readonly type: 'takingOver'
      readonly leader: ServerId
      /** How the leader synchronizes this server. */
      readonly plan: SyncPlan['kind']
    }
  | { readonly type: 'following'; readonly leader: ServerId; readonly epoch: bigint }
  | { readonly type: 'handingOver'; readonly reason: string }
  | { readonly type: 'roleEnded'; readonly reason: string }
  | {
      readonly type: 'synchronizing'
      readonly sid: ServerId
      readonly plan: SyncPlan['kind']
      /** The transactions came from the log, because memory did not reach back far enough. */
      readonly fromDisk: boolean
    }
  | { readonly type: 'learnerDropped'; readonly sid: ServerId; readonly reason: string }
  | { readonly type: 'learnerRefused'; readonly reason: string }
  /** A connection was closed because too many of this port have not identified themselves. */
  | { readonly type: 'crowded'; readonly port: 'election' | 'quorum' }
  /** Somebody in the name of a member claims to have promised an epoch far beyond our own. */
  | {
      readonly type: 'epochRefused'
      readonly sid: ServerId
      readonly address: string
      readonly promised: bigint
      readonly own: bigint
    }
  /** A change of members is in the log; from now on the old and the new members must agree. */
  | ({ readonly type: 'changeProposed'; readonly version: bigint } & MembershipChange)
  | ({ readonly type: 'reconfigured'; readonly version: bigint } & MembershipChange)
  /** The tree of this server is not the one that the others have. */
  | { readonly type: 'treeDiffers'; readonly from: Contradiction; readonly remedy: Remedy }
  /** As leader: a follower computed another digest than this server. */
  | { readonly type: 'treeDoubted'; readonly sid: ServerId; readonly zxid: bigint }
  | { readonly type: 'configNotSaved'; readonly reason: string }

/** By what a server knows that its tree is wrong. */
export type Contradiction =
  /** The leader computed another digest. */
  | 'leader'
  /** The last transaction in its log has another digest. */
  | 'log'
  /** As leader: a quorum computed another digest. */
  | 'quorum'
  /** As leader: it predicted another digest when it proposed the transaction. */
  | 'prediction'

/** The handling of a tree that differs. */
export type Remedy =
  /** It reads its disk again. */
  | 'reload'
  /** It takes the whole tree from the leader, and keeps its own files aside. */
  | 'takeEverything'
  /** It goes on: neither has helped. */
  | 'none'

export type ZabTrace = (event: ZabEvent) => void
