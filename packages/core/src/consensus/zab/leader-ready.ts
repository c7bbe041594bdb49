import type { Id, Reader } from '@zabra/protocol'
import type { Membership } from '../../membership/membership.ts'
import type { MembershipState } from '../../membership/membership-state.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { WriteTicket } from '../../service/write-ticket.ts'
import type { Epochs } from '../../storage/epochs.ts'
import type { CommittedLog, LoggedTxn } from '../../storage/log/committed-log.ts'
import type { StoreStep } from './learner.ts'
import type { LearnerProgress } from './learner-progress.ts'
import type { ForLearners, HistoryToSend, LearnerEvent, Outgoing } from './learners.ts'
import type { ZabTrace } from './options.ts'

/** What a leader may read of the server it is part of. Only its driver changes any of it. */
export interface LeaderParts {
  readonly self: ServerId
  readonly epochs: Pick<Epochs, 'accepted' | 'current'>
  readonly db: { readonly lastZxid: bigint }
  readonly committedLog: Pick<CommittedLog, 'all' | 'min'>
  /** The one thing that a leader changes by itself: what is proposed and what is committed of it. */
  readonly configs: MembershipState
  readonly trace: ZabTrace
}

/** All that can happen to a leader. */
export type LeaderInput =
  | { readonly type: 'begin' }
  | LearnerEvent
  /** What `LeaderReady.readLog` asked for; undefined where a snapshot is the better way. */
  | {
      readonly type: 'logRead'
      readonly learner: LearnerProgress
      readonly txns: readonly LoggedTxn[] | undefined
    }
  /** `LeaderReady.store` is done. */
  | { readonly type: 'stored' }
  | Proposal
  /** The answer to a learner that asked for a session. */
  | {
      readonly type: 'revalidated'
      readonly learner: LearnerProgress
      readonly zxid: bigint
      readonly sessionId: bigint
      readonly isValid: boolean
    }
  /** What was to be proposed is refused (`mayPropose`). */
  | { readonly type: 'refused' }
  /** The next proposal makes this the configuration. */
  | { readonly type: 'reconfig'; readonly config: Membership }
  /** A client of this server's own asks for a sync. */
  | { readonly type: 'sync'; readonly ticket: WriteTicket }
  /** All that clients of this server's own have sent has been read. */
  | { readonly type: 'allRead' }
  /** This server's own log holds everything up to here. */
  | { readonly type: 'logged'; readonly zxid: bigint }
  /** Time has passed, in one turn of the host. */
  | { readonly type: 'passed'; readonly sinceMs: number }
  | { readonly type: 'tick' }
  /** Half of the ensemble's unit of time has passed. */
  | { readonly type: 'halfTick' }
  /** Nothing more is to be proposed. */
  | { readonly type: 'finish' }
  /** This server is not to lead any more, or cannot. */
  | { readonly type: 'end'; readonly reason: Error }

/** A transaction in the next batch of this server's log. */
export interface Proposal extends LoggedTxn {
  readonly type: 'proposed'
  /** Whose client asked for it, where that is another server's. */
  readonly from: LearnerProgress | undefined
}

/** What a learner asks the sessions and the proposer of this server for. */
export type LearnerRequest =
  | {
      readonly type: 'write'
      readonly from: LearnerProgress
      readonly sessionId: bigint
      readonly xid: number
      /** The operation. */
      readonly code: number
      readonly identities: readonly Id[]
      readonly body: Reader
    }
  | {
      readonly type: 'createSession'
      readonly from: LearnerProgress
      readonly sessionId: bigint
      readonly timeoutMs: number
    }
  | {
      readonly type: 'closeSession'
      readonly from: LearnerProgress
      readonly sessionId: bigint
      readonly xid: number
    }
  /** Sessions whose clients have been heard of: pairs of id and timeout. */
  | { readonly type: 'touch'; readonly sessions: Reader }
  /** May a session go on there? The input `revalidated` follows. */
  | {
      readonly type: 'revalidate'
      readonly from: LearnerProgress
      /** What the question and its answer are named by. */
      readonly zxid: bigint
      readonly sessionId: bigint
      readonly timeoutMs: number
    }

/** What is applied or answered here, in order. */
export type LeaderDelivery =
  /** It is committed. */
  | Proposal
  /** A sync of a client of this server's own is confirmed. */
  | { readonly type: 'synced'; readonly ticket: WriteTicket }

/** A part of the log that a learner may lack. */
export interface LogToRead {
  readonly learner: LearnerProgress
  /** The learner has this, and the transactions before it. */
  readonly after: bigint
  /** From here on memory has it. */
  readonly before: bigint
}

/**
 * All that a leader asks of its driver after an input. The driver carries out the fields in the
 * order in which they are declared here.
 *
 * What rests on this order:
 *
 * - LEADERINFO is in `send` only after the promise of its epoch is stored here.
 * - UPTODATE is in `send` only together with `established`, or later; and this server counts for the
 *   quorum that this takes only after the epoch is stored here.
 * - COMMIT of a transaction is in `send`, and the transaction in `deliver`, only after the logs of a
 *   quorum hold it: the log of this server by the input `logged`, the others by ACK.
 * - A history is planned from what is applied here, and `deliver` comes before `history`. Everything
 *   that is delivered later reaches the learner behind its history.
 * - While it is doubtful whether this server still leads, nothing is committed, and no sync is
 *   answered.
 */
export class LeaderReady implements ForLearners {
  /** Voters that have come to be led. */
  joined: ServerId[] | undefined
  /** A quorum holds the history of this leader, and its epoch begins behind it. */
  established:
    | {
        readonly zxid: bigint
        /** Clients are served from now on. Otherwise the role ends: others are to lead. */
        readonly serves: boolean
      }
    | undefined
  /** Whether clients have to wait: others may lead by now. */
  hold: boolean | undefined
  send: Outgoing[] | undefined
  deliver: LeaderDelivery[] | undefined
  /** What comes of a write is the input `proposed` or `refused`. */
  requests: LearnerRequest[] | undefined
  /** The input `logRead` or `failed` follows. */
  readLog: LogToRead[] | undefined
  history: HistoryToSend[] | undefined
  listen: LearnerProgress[] | undefined
  close: LearnerProgress[] | undefined
  /** One step at a time. The input `stored` follows, or `end`. */
  store: Extract<StoreStep, { type: 'acceptEpoch' | 'enterEpoch' }> | undefined
  /** The role has ended, for this reason. */
  ended: Error | undefined
}
