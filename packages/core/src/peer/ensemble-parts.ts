import type { Database, DatabaseOptions } from '../state/database.ts'
import type { ElectionTiming } from '../consensus/election/election.ts'
import type { LinkAction } from '../consensus/election/links.ts'
import type { Disk, Host } from '../ports.ts'
import type { RecoveryOptions } from '../storage/recovery/recovery.ts'
import type { TxnLog } from '../storage/log/txn-log.ts'
import type { CommittedLog } from '../storage/log/committed-log.ts'
import type { ConfigStore } from '../membership/membership-state.ts'
import type { Epochs } from '../storage/epochs.ts'
import type { LearnerView } from '../consensus/zab/learner-progress.ts'
import type { Membership } from '../membership/membership.ts'
import type { ZabOptions, ZabTrace } from '../consensus/zab/options.ts'
import type { Journal } from './journal.ts'
import type { BatchSource } from './journal-options.ts'
import type { PacketLink, PeerWire } from './links/packet-link.ts'
import type { ServerId } from '../membership/quorum.ts'
import type { PeerOptions, PeerPorts } from './peer-base.ts'

/** A port for learners: the leader's quorum port, or the port where followers take observers. */
export type PeerPort = 'quorum' | 'observers'

/** The network between servers, as the host provides it. */
export interface PeerNetwork {
  /** Connects to a server. Received bytes go to the link's `received`. */
  dial(
    server: ServerId,
    attach: (wire: PeerWire) => PacketLink,
    port?: PeerPort,
  ): Promise<PacketLink>
  /** Whether learners can connect here; each one goes to `acceptLearner`. */
  listen(isOn: boolean, port?: PeerPort): void
  /** The addresses of the members; during a change both the old and the new ones are given. */
  reconfigure(committed: Membership, seen: Membership | undefined): void
  /** Carries out what the election's connections ask for; never a `message`. */
  perform(action: Exclude<LinkAction, { type: 'message' }>): void
}

export interface EnsembleParts {
  readonly db: Database
  /** Nothing was found where data should be, so this server's data has no say. */
  readonly lacksData?: boolean
  readonly databaseOptions: DatabaseOptions
  readonly recovery: RecoveryOptions
  readonly disk: Disk
  readonly log: TxnLog
  /** Makes the journal that carries the batches of this source, which is the peer. */
  readonly journal: (source: BatchSource) => Journal
  readonly epochs: Epochs
  readonly committedLog: CommittedLog
  readonly host: Host
  readonly network: PeerNetwork
  /** Stores the members; without one they are only in memory. */
  readonly configStore?: ConfigStore | undefined
  readonly zabTrace: ZabTrace
  readonly ports: PeerPorts
  /** There is something to be logged. */
  readonly wake: () => void
}

export interface EnsembleOptions extends PeerOptions, ZabOptions {
  readonly self: ServerId
  readonly membership: Membership
  /** The addresses of this server's election port. */
  readonly electionAddresses: readonly string[]
  readonly electionTiming?: Partial<ElectionTiming>
  /** Sessions begin as local to this server; by default they are global at once. */
  readonly localSessions?: { readonly upgrading: boolean } | undefined
  /** Followers take observers. An observer with more bytes in its queue is dropped. */
  readonly observerMaster?: { readonly queueBytesMax: number } | undefined
  /** Whether reads are served while no leader is found. */
  readonly readOnlyMode?: boolean
  /** Whether a leader takes clients; true by default. */
  readonly leaderServes?: boolean
  /** An observer that has lost its leader waits for a random time up to this. */
  readonly reconnectDelayMs?: number
  /** The longest pause between attempts to reach a leader. */
  readonly dialPauseMs?: number
  /** How long all attempts may take, in ticks; `initLimit` by default. */
  readonly dialLimit?: number
}

/** The state of a leader, for monitoring. */
export interface Leadership {
  readonly learners: readonly LearnerView[]
  readonly pendingSyncs: number
  readonly uptimeMs: number
}

/** The observers of a leader, or of a follower that takes observers, for monitoring. */
export interface ServedObservers {
  /** Those that are up to date. */
  readonly synced: readonly LearnerView[]
  resetCounts(): void
}
