import type { EnsembleServer, Role } from './server-lines.ts'

/** What a configuration says about the ensemble this server belongs to. */
export interface EnsembleConfig {
  readonly serverId: number
  readonly role: Role
  readonly servers: ReadonlyMap<number, EnsembleServer>
  /** Undefined for a plain majority. */
  readonly hierarchy: Hierarchy | undefined
  /** The file the members were read from, and the version its name ends with. */
  readonly dynamicConfig: { readonly file: string; readonly version: bigint } | undefined

  readonly initLimitTicks: number
  readonly syncLimitTicks: number
  readonly connectLimitTicks: number
  readonly standaloneEnabled: boolean
  readonly leaderServes: boolean
  readonly localSessions: { readonly enabled: boolean; readonly upgrading: boolean }
  readonly readOnlyMode: boolean
  readonly listenOnAllAddresses: boolean
  readonly observerMasterPort: number | undefined
  readonly observersPersist: boolean
  readonly oraclePath: string | undefined

  readonly commitLogCount: number
  readonly snapshotSizeFactor: number
  readonly forceSnapshotSync: boolean
  readonly confirmSyncs: boolean
  /** Undefined where that follows from whether members can be changed. */
  readonly admitsStrangers: boolean | undefined
  readonly resetsAcceptedEpoch: boolean
  readonly connectTimeoutMs: number
  readonly handshakeTimeoutMs: number
  readonly electionPortBindRetry: number
  readonly notificationMinMs: number
  readonly notificationMaxMs: number
  readonly leaderConnectDelayMs: number
  readonly epochWaitMaxMs: number
  readonly snapSyncsMax: number
  readonly diffSyncsMax: number
  readonly observerReconnectDelayMs: number
  readonly observerElectionDelayMs: number
  readonly observerMasterBytesMax: number
  readonly tcpKeepAlive: boolean
  readonly multiAddress: {
    readonly enabled: boolean
    readonly checkReachable: boolean
    readonly reachableTimeoutMs: number
  }
}

/** Groups of servers and their weights; a weight that is not given is 1. */
export interface Hierarchy {
  readonly groups: ReadonlyMap<number, readonly number[]>
  readonly weights: ReadonlyMap<number, number>
}
