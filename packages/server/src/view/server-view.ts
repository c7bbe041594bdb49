import type {
  Authenticator,
  Disk,
  DiskStats,
  History,
  Leadership,
  Membership,
  PeerBase,
  ReadHandle,
  RecordRange,
  ServedObservers,
  SessionPasswords,
  Summary,
  TakenSnapshot,
  ZabStats,
} from '@zabra/core'
import type { ServerState } from '@zabra/protocol'
import type { LogRing } from '../base/log-ring.ts'
import type { ServerConfig } from '../config/config.ts'
import type { EnsembleConfig } from '../config/ensemble-config.ts'
import type { ClientSocket } from '../net/client-socket.ts'
import type { Turn } from '../net/turn.ts'
import type { HandshakeCounts } from '../tls/tls-acceptor.ts'
import type { TlsContext } from '../tls/tls-context.ts'
import type { VerdictCounts } from './session-end.ts'
import type { Timeline } from './timeline.ts'

/** A running server, as its own monitoring sees it. */
export interface ServerView {
  readonly config: ServerConfig
  /** The port for clients, as configured, or the free one that was found. */
  readonly clientPort: number
  /** The port for clients with TLS; 0 without one. */
  readonly secureClientPort: number
  /** The URL of the admin port; undefined if it is off. */
  readonly adminAddress: string | undefined
  /** The port of the console and the API; undefined if both are off. */
  readonly adminPort: number | undefined
  readonly peer: PeerBase
  readonly disk: DiskStats
  readonly sockets: ReadonlySet<ClientSocket>
  readonly log: LogRing
  /** Bytes sent to all clients that they have not read. */
  readonly unreadBytes: number
  readonly authenticator: Authenticator
  readonly passwords: SessionPasswords
  readonly turn: Turn
  /** TLS handshakes with clients. */
  readonly handshakes: HandshakeCounts
  /** The certificates in use. */
  readonly tlsContexts: readonly TlsContext[]
  readonly startedWallMs: number
  /** How long loading took, and how many transactions it replayed. */
  readonly startup: { readonly loadMs: number; readonly recordsReplayed: number }
  readonly isStopping: boolean
  readonly isRestoring: boolean
  /** The role in the ensemble; undefined for a standalone server. */
  readonly ensembleState: ServerState | undefined
  /** Its part in the ensemble; undefined for a standalone server. */
  readonly ensemble: EnsembleView | undefined
  /** Its elections and roles; undefined for a standalone server. */
  readonly timeline: Timeline | undefined
  /** Set by stmk and read by gtmk; it has no effect here. */
  traceMask: bigint
  /** Counters of the admin commands. */
  readonly adminCounts: AdminCounts
  /** Number of expired sessions, by the verdict of this server. */
  readonly expiredBy: Readonly<VerdictCounts>
  /** Retained history; undefined if `history.enabled` is false. */
  readonly history: History | undefined
  /** The directories of snapshots and logs. */
  readonly directories: { readonly data: string; readonly log: string }
  /** Bytes of the files in the snapshot and in the log directory. */
  directorySizes(): Promise<{ data: number; log: number }>
  /** Resolves once a snapshot that starts now is on disk; undefined if that failed. */
  snapshot(): Promise<TakenSnapshot | undefined>
  /** Hands leadership to another server of the ensemble; resolves when this one serves again. */
  handOver(): Promise<{ readonly leader: bigint } | { readonly problem: string }>
  openSnapshot(file: string): Promise<ReadHandle>
  /** The disk and directories of snapshots and logs. */
  readonly storage: { readonly disk: Disk; readonly snapshotDir: string; readonly logDir: string }
  /** The last committed transaction, once this server has logged it durably. */
  loggedZxid(): Promise<bigint>
  /** Copies records of the log; throws a CopyError if some are missing. */
  copyLog(range: RecordRange): AsyncGenerator<Uint8Array, void, void>
  /**
   * Replaces the database with the bytes of a snapshot; resolves with its zxid. Throws a
   * SnapshotError if they are invalid, and a RestoreRefusal if restoring is not possible.
   */
  restore(bytes: AsyncIterable<Uint8Array>): Promise<bigint>
}

export interface EnsembleView {
  readonly config: EnsembleConfig
  readonly membership: Membership
  readonly stats: ZabStats
  /** Only while it leads. */
  readonly leadership: Leadership | undefined
  /** Only while it leads, or follows and takes observers. */
  readonly servedObservers: ServedObservers | undefined
}

export interface AdminCounts {
  snapshotsRateLimited: number
  restoresRateLimited: number
  restoreFailures: number
  readonly restoreMs: Summary
}
