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
  SessionPasswords,
  Summary,
  TakenSnapshot,
  ZabStats,
} from '@zabra/core'
import type { ServerState } from '@zabra/protocol'
import type { ServerConfig } from '../config/config.ts'
import type { EnsembleConfig } from '../config/ensemble-config.ts'
import type { ClientSocket } from '../net/client-socket.ts'
import type { Turn } from '../net/turn.ts'
import type { HandshakeCounts } from '../tls/tls-acceptor.ts'
import type { TlsContext } from '../tls/tls-context.ts'
import type { VerdictCounts } from './session-end.ts'
import type { Timeline } from './timeline.ts'

/** A running server as its own monitoring sees it. */
export interface ServerView {
  readonly config: ServerConfig
  /** The port clients connect to: what was configured, or what was free. */
  readonly clientPort: number
  /** The port they connect to with TLS; 0 where there is none. */
  readonly secureClientPort: number
  /** The URL of the admin port; undefined if it is off. */
  readonly adminAddress: string | undefined
  /** The port of the console and the API; undefined where there are none. */
  readonly adminPort: number | undefined
  readonly peer: PeerBase
  readonly disk: DiskStats
  readonly sockets: ReadonlySet<ClientSocket>
  /** What all clients together have been sent and have not read. */
  readonly unreadBytes: number
  readonly authenticator: Authenticator
  readonly passwords: SessionPasswords
  readonly turn: Turn
  /** TLS handshakes with clients. */
  readonly handshakes: HandshakeCounts
  /** The certificates that are served. */
  readonly tlsContexts: readonly TlsContext[]
  readonly startedWallMs: number
  /** How long loading took, and how many transactions it replayed. */
  readonly startup: { readonly loadMs: number; readonly recordsReplayed: number }
  readonly isStopping: boolean
  readonly isRestoring: boolean
  /** The role in the ensemble; undefined for a server on its own. */
  readonly ensembleState: ServerState | undefined
  /** This server's part in its ensemble; undefined for a server on its own. */
  readonly ensemble: EnsembleView | undefined
  /** Its elections and roles; undefined for a server on its own. */
  readonly timeline: Timeline | undefined
  /** Set and told by stmk and gtmk; nothing depends on it here. */
  traceMask: bigint
  /** What the admin commands count. */
  readonly adminCounts: AdminCounts
  /** How many sessions expired, by what this server saw of it. */
  readonly expiredBy: Readonly<VerdictCounts>
  /** The past, as far as it is kept; undefined where `history.enabled` is false. */
  readonly history: History | undefined
  /** Where snapshots are, and where logs are. */
  readonly directories: { readonly data: string; readonly log: string }
  /** Bytes of the files in the snapshot and in the log directory. */
  directorySizes(): Promise<{ data: number; log: number }>
  /** Resolves once a snapshot that starts now is on disk; undefined when that failed. */
  snapshot(): Promise<TakenSnapshot | undefined>
  /** Lets another server of the ensemble lead; resolves when this one serves again. */
  handOver(): Promise<{ readonly leader: bigint } | { readonly problem: string }>
  openSnapshot(file: string): Promise<ReadHandle>
  /** Where snapshots and logs are read. */
  readonly storage: { readonly disk: Disk; readonly snapshotDir: string; readonly logDir: string }
  /** The last committed transaction, once this server has logged it durably. */
  loggedZxid(): Promise<bigint>
  /** Copies records of the log; a CopyError says why they are not all there. */
  copyLog(range: RecordRange): AsyncGenerator<Uint8Array, void, void>
  /**
   * Becomes what the bytes of a snapshot say; resolves with the zxid it ends with. A SnapshotError
   * says that they are none, a RestoreRefusal why it cannot be done.
   */
  restore(bytes: AsyncIterable<Uint8Array>): Promise<bigint>
}

export interface EnsembleView {
  readonly config: EnsembleConfig
  readonly membership: Membership
  readonly stats: ZabStats
  /** While it leads. */
  readonly leadership: Leadership | undefined
}

export interface AdminCounts {
  snapshotsRateLimited: number
  restoresRateLimited: number
  restoreFailures: number
  readonly restoreMs: Summary
}
