import type { PeerOptions, ServiceLimits } from '@zabra/core'
import type { Id } from '@zabra/protocol'
import type { EnsembleConfig } from './ensemble-config.ts'
import type { Values } from './keys.ts'
import type { TlsSettings } from './tls-settings.ts'

/**
 * All settings of a server, with every default filled in. `toServerConfig` translates the names of
 * zoo.cfg into these names, and a setting keeps its name from here to the place where it is used.
 */
export interface ServerConfig {
  /** Undefined: no plain client port. 0: any free one. */
  readonly clientPort: number | undefined
  /** Undefined: every address. */
  readonly clientPortAddress: string | undefined
  /** -1: the default of the system. */
  readonly clientPortListenBacklog: number
  readonly maxClientCnxns: number
  readonly maxCnxns: number
  readonly clientTcpKeepAlive: boolean
  readonly sessionlessTimeoutMs: number
  /** 0: never. */
  readonly idlePollMicros: number

  readonly dataDir: string
  readonly dataLogDir: string
  readonly autoCreateDataDir: boolean
  readonly autoCreateDb: boolean
  readonly trustEmptySnapshot: boolean
  /** The operator accepts the loss of damaged data. */
  readonly acceptDamage: boolean
  readonly snapCount: number
  /** Undefined: no limit. */
  readonly snapBytes: number | undefined
  readonly logBytesMax: number | undefined
  readonly preAllocBytes: number
  readonly forceSync: boolean
  readonly slowSyncMs: number
  readonly snapshotMethod: 'plain' | 'gz' | 'snappy'
  readonly serializeLastProcessedZxid: boolean
  /** Whether logs and snapshots contain digests of the tree. */
  readonly digests: boolean
  readonly closeSessionPaths: boolean
  /** `intervalMs` 0: never. `retainBytes` 0: no limit; otherwise it overrides `retainCount`. */
  readonly purge: {
    readonly intervalMs: number
    readonly retainCount: number
    readonly retainBytes: number
  }
  /** 0: no limit. */
  readonly history: {
    readonly enabled: boolean
    readonly retainBytes: number
    readonly retainMs: number
  }

  readonly tickMs: number
  readonly sessionTimeoutMsMin: number
  readonly sessionTimeoutMsMax: number

  readonly globalOutstandingLimit: number
  readonly juteMaxBuffer: number
  readonly juteMaxBufferExtra: number
  /** Undefined: no limit for large requests. */
  readonly largeRequests: PeerOptions['largeRequests']
  /** Undefined: requests are not throttled. */
  readonly throttledRequests: ThrottledRequests | undefined
  /** A token bucket for new connections; undefined: none. */
  readonly connectionThrottle: ConnectionThrottle | undefined

  readonly fourLetterWords: ReadonlySet<string> | 'all'
  readonly admin: {
    readonly enabled: boolean
    readonly address: string
    readonly port: number
    readonly commandUrl: string
    readonly idleTimeoutMs: number
    readonly snapshotEnabled: boolean
    readonly restoreEnabled: boolean
    readonly rateLimitIntervalMs: number
  }
  /** The Prometheus endpoint. */
  readonly metrics: { readonly enabled: boolean; readonly host: string; readonly port: number }

  readonly extendedTypes: boolean
  readonly reclaim: PeerOptions['reclaim']
  readonly enforceQuota: boolean

  /** Limits of what one client, and all clients together, can make the server hold. */
  readonly limits: Partial<ServiceLimits>
  readonly multiOperationsMax: number
  /** Bytes sent to all clients that they have not read. */
  readonly unreadBytesMax: number
  readonly sessionPasswords: {
    readonly secretFile: string | undefined
    readonly kind: 'apache' | 'both' | 'secret'
  }
  readonly adminAccess: {
    readonly identities: readonly Id[]
    readonly allowedHosts: readonly string[]
  }
  /** The HTTP API and the console on the admin port. */
  readonly api: {
    readonly enabled: boolean
    readonly anonymous: 'none' | 'metadata' | 'read' | 'write'
    /** Roles beside those of administrators. */
    readonly identities: readonly {
      readonly role: 'metadata' | 'read' | 'write' | 'admin'
      readonly id: Id
    }[]
    readonly tokenFile: string | undefined
  }

  readonly skipAcl: boolean
  readonly superDigest: string | undefined
  readonly digestAuthEnabled: boolean
  readonly digestAlgorithm: Values['DigestAuthenticationProvider.digestAlg']
  /** A connection must authenticate with one of these schemes first; empty requires none. */
  readonly requiredSchemes: readonly string[]
  /** Java class names by the key after `authProvider.`. */
  readonly authProviders: ReadonlyMap<string, string>
  readonly tls: ClientTls
  readonly quorumTls: QuorumTls
  readonly adminTls: AdminTls
  readonly audit: Audit
  /** Names that the scheme ensemble accepts; empty for any. */
  readonly ensembleAuthNames: readonly string[]
  readonly x509SuperUser: string | undefined
  readonly sasl: Sasl

  readonly reconfigEnabled: boolean
  /** Undefined for a standalone server. */
  readonly ensemble: EnsembleConfig | undefined

  readonly systemProperties: ReadonlyMap<string, string>
  /** The file as read, for the admin command initial_configuration. */
  readonly configText: string
  readonly configFile: string | undefined
}

export interface ThrottledRequests extends NonNullable<PeerOptions['waiting']> {
  readonly outstandingMax: number
}

export type ConnectionThrottle = Omit<NonNullable<PeerOptions['connectionThrottle']>, 'random'>

/** The client ports with TLS. */
export interface ClientTls {
  /** Undefined: no port for TLS only. 0: any free one. */
  readonly port: number | undefined
  readonly address: string | undefined
  /** The client port accepts TLS and plain connections. */
  readonly portUnification: boolean
  readonly reload: boolean
  /** Handshakes in progress at the same time. */
  readonly handshakesMax: number
  readonly settings: TlsSettings
}

/** TLS settings of the ports for other servers. */
export interface QuorumTls {
  /** Connections that this server opens. */
  readonly dials: boolean
  readonly accepts: boolean
  readonly acceptsPlain: boolean
  readonly reload: boolean
  readonly settings: TlsSettings
}

/** TLS settings of the admin port and the metrics port. */
export interface AdminTls {
  readonly accepts: boolean
  readonly acceptsPlain: boolean
  readonly settings: TlsSettings
}

export interface Audit {
  readonly enabled: boolean
  /** `-`: standard output. */
  readonly file: string
  readonly format: 'text' | 'json'
  /** 0: never renamed. */
  readonly fileBytesMax: number
  readonly filesMax: number
}

/** Users of SASL DIGEST-MD5 and their passwords. */
export type SaslUsers = ReadonlyMap<string, string>

export interface Sasl {
  /** Undefined: clients cannot use SASL. */
  readonly clients: SaslUsers | undefined
  readonly superUsers: ReadonlySet<string>
  /** Whether a client stays connected after failed authentication. */
  readonly allowFailed: boolean
  /** Undefined: servers do not authenticate to each other. */
  readonly quorum: QuorumSasl | undefined
}

export interface QuorumSasl {
  /** The credentials this server uses when it connects; undefined if it does not authenticate. */
  readonly own: { readonly username: string; readonly password: string } | undefined
  /** The accepted users. */
  readonly users: SaslUsers
  /** True: servers that do not authenticate are refused. */
  readonly isRequired: boolean
}
