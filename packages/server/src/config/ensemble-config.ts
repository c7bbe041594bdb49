import type { EnsembleServer, Role } from './server-lines.ts'

/** The part of the configuration that describes the ensemble of this server. */
export interface EnsembleConfig {
  readonly serverId: number
  readonly role: Role
  readonly servers: ReadonlyMap<number, EnsembleServer>
  /** Undefined for a plain majority. */
  readonly hierarchy: Hierarchy | undefined
  /** The file the members were read from, and the version its name ends with. */
  readonly dynamicConfig: { readonly file: string; readonly version: bigint } | undefined

  readonly initLimit: number
  readonly syncLimit: number
  /** Ticks for which a learner keeps trying to reach its leader. */
  readonly dialLimit: number
  readonly standaloneEnabled: boolean
  readonly leaderServes: boolean
  /** Undefined: all sessions are global. */
  readonly localSessions: { readonly upgrading: boolean } | undefined
  readonly readOnlyMode: boolean
  readonly listenOnAllAddresses: boolean
  readonly observerMasterPort: number | undefined

  readonly commitLogCount: number
  readonly snapshotSizeFactor: number
  readonly alwaysSendSnapshot: boolean
  readonly confirmSyncs: boolean
  /** Undefined: true if members can be changed. */
  readonly admitsStrangers: boolean | undefined
  readonly resetsAcceptedEpoch: boolean
  readonly connectTimeoutMs: number
  readonly handshakeTimeoutMs: number
  readonly electionPortBindRetry: number
  readonly electionTiming: {
    readonly notificationMinMs: number
    readonly notificationMaxMs: number
  }
  readonly dialPauseMs: number
  readonly syncsMax: { readonly snaps: number; readonly diffs: number }
  readonly reconnectDelayMs: number
  /** Undefined: followers accept no observers. */
  readonly observerMaster: { readonly queueBytesMax: number } | undefined
  readonly tcpKeepAlive: boolean
  readonly multiAddressEnabled: boolean
}

/** Groups of servers and their weights; the default weight is 1. */
export interface Hierarchy {
  readonly groups: ReadonlyMap<number, readonly number[]>
  readonly weights: ReadonlyMap<number, number>
}
