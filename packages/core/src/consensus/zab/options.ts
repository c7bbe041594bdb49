import type { MembershipChange } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { SyncPlan } from './sync-plan.ts'

/** The unit of time of an ensemble, and its limits in that unit. */
export interface ZabOptions {
  readonly tickMs: number
  /** For agreeing on an epoch and bringing up learners. */
  readonly initLimit: number
  /** For hearing nothing of each other afterwards, and for acknowledging a proposal. */
  readonly syncLimit: number
  /** What may wait for a learner that takes it too slowly; then it is dropped. */
  readonly learnerQueueBytesMax?: number
  /** The last counter that is proposed in one epoch, where it is not the last there is. */
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
  /** Whether servers are brought up that are no members; unless told, where members can change. */
  readonly admitsStrangers?: boolean | undefined
  /** How much of a history or a snapshot is sent before the loop turns. */
  readonly sliceBytes?: number
  /** Every learner is sent everything, whatever it lacks. */
  readonly alwaysSendSnapshot?: boolean
}

/** What happens among the servers of an ensemble, for logs and transcripts. */
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
      /** How the leader brings us up. */
      readonly plan: SyncPlan['kind']
    }
  | { readonly type: 'following'; readonly leader: ServerId; readonly epoch: bigint }
  | { readonly type: 'handingOver'; readonly reason: string }
  | { readonly type: 'roleEnded'; readonly reason: string }
  | {
      readonly type: 'synchronizing'
      readonly sid: ServerId
      readonly plan: SyncPlan['kind']
      /** Memory did not reach back far enough, the log did. */
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
  /** A change of members is in the log; from now on old and new ones must agree. */
  | ({ readonly type: 'changeProposed'; readonly version: bigint } & MembershipChange)
  | ({ readonly type: 'reconfigured'; readonly version: bigint } & MembershipChange)
  | { readonly type: 'configNotSaved'; readonly reason: string }

export type ZabTrace = (event: ZabEvent) => void
