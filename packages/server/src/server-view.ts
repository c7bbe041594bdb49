import type { Peer } from '@zabra/core'
import type { ServerConfig } from './config/config.ts'
import type { DiskStats } from './driver.ts'
import type { ClientSocket } from './net/client-socket.ts'

/** A running server as its own monitoring sees it. */
export interface ServerView {
  readonly config: ServerConfig
  /** The port clients connect to: what was configured, or what was free. */
  readonly clientPort: number
  readonly peer: Peer
  readonly disk: DiskStats
  readonly sockets: ReadonlySet<ClientSocket>
  readonly startedWallMs: number
  /** Bytes of the files in the snapshot and in the log directory. */
  directorySizes(): Promise<{ data: number; log: number }>
  /** Resolves once a snapshot of now is on disk. */
  snapshot(): Promise<void>
}
