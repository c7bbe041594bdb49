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

/** The parts of its server that a leader may read. Only its driver changes them. */
export interface LeaderParts {
  readonly self: ServerId
  readonly epochs: Pick<Epochs, 'accepted' | 'current'>
  readonly db: { readonly lastZxid: bigint }
  readonly committedLog: Pick<CommittedLog, 'all' | 'min'>
  /** The only part that a leader changes itself: the proposed and the committed configuration. */
  readonly configs: MembershipState
  readonly trace: ZabTrace
}

/** The inputs of a leader. */
export type LeaderInput =
  | { readonly type: 'begin' }
  | LearnerEvent
  /** The result of `LeaderReady.readLog`; undefined if a snapshot is better. */
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
  /** A proposal was refused (`mayPropose`). */
  | { readonly type: 'refused' }
  /** The next proposal makes this the configuration. */
  | { readonly type: 'reconfig'; readonly config: Membership }
  /** A client of this server asks for a sync. */
  | { readonly type: 'sync'; readonly ticket: WriteTicket }
  /** Everything that clients of this server have sent has been read. */
  | { readonly type: 'allRead' }
  /** The log of this server holds everything up to here. */
  | { readonly type: 'logged'; readonly zxid: bigint }
  /** Time has passed, in one turn of the host. */
  | { readonly type: 'passed'; readonly sinceMs: number }
  | { readonly type: 'tick' }
  /** Half of the ensemble's unit of time has passed. */
  | { readonly type: 'halfTick' }
  /** Stop proposing. */
  | { readonly type: 'finish' }
  /** This server must not lead any more, or cannot. */
  | { readonly type: 'end'; readonly reason: Error }

/** A transaction in the next batch of this server's log. */
export interface Proposal extends LoggedTxn {
  readonly type: 'proposed'
  /** The learner whose client asked for it; undefined for clients of this server. */
  readonly from: LearnerProgress | undefined
}

/** A request of a learner to the sessions and the proposer of this server. */
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
  /** Sessions whose clients have sent something: pairs of id and timeout. */
  | { readonly type: 'touch'; readonly sessions: Reader }
  /** May a session continue there? The input `revalidated` follows. */
  | {
      readonly type: 'revalidate'
      readonly from: LearnerProgress
      /** Identifies the request and its answer. */
      readonly zxid: bigint
      readonly sessionId: bigint
      readonly timeoutMs: number
    }

/** A committed transaction or a confirmed sync, in order. */
export type LeaderDelivery =
  /** It is committed. */
  | Proposal
  /** A sync of a client of this server is confirmed. */
  | { readonly type: 'synced'; readonly ticket: WriteTicket }

/** A part of the log that a learner may lack. */
export interface LogToRead {
  readonly learner: LearnerProgress
  /** The learner has this, and the transactions before it. */
  readonly after: bigint
  /** Memory has this transaction and all later ones. */
  readonly before: bigint
}

/**
 * All that a leader asks of its driver after an input. The driver carries out the fields in the
 * order in which they are declared here.
 *
 * These facts rest on this order:
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
  /** Voters that follow this server. */
  joined: ServerId[] | undefined
  /** A quorum holds the history of this leader, and its epoch begins. */
  established:
    | {
        readonly zxid: bigint
        /** Clients are served from now on. Otherwise the role ends, and another server leads. */
        readonly serves: boolean
      }
    | undefined
  /** Whether clients must wait, because another server may lead now. */
  hold: boolean | undefined
  send: Outgoing[] | undefined
  deliver: LeaderDelivery[] | undefined
  /** For a write, the input `proposed` or `refused` follows. */
  requests: LearnerRequest[] | undefined
  /** The input `logRead` or `failed` follows. */
  readLog: LogToRead[] | undefined
  history: HistoryToSend[] | undefined
  listen: LearnerProgress[] | undefined
  close: LearnerProgress[] | undefined
  /** A quorum agrees on another tree than this server's. */
  outvoted = false
  /** One step at a time. The input `stored` follows, or `end`. */
  store: Extract<StoreStep, { type: 'acceptEpoch' | 'enterEpoch' }> | undefined
  /** The role has ended, for this reason. */
  ended: Error | undefined
}
