import type { Id } from '@zabra/protocol'
import type { EnsembleFindings } from './ensemble.ts'
import type { Values } from './keys.ts'
import { isLoopback } from './loopback.ts'
import type { SaslFindings } from './sasl.ts'
import type { ConnectionThrottle, ServerConfig, ThrottledRequests } from './server-config.ts'
import type { Sources } from './sources.ts'
import { adminTlsSettings, tlsSettings } from './tls-settings.ts'

export interface Parts {
  readonly values: Values
  readonly sources: Sources
  readonly findings: EnsembleFindings
  readonly sasl: SaslFindings
  readonly dataDir: string
  readonly configText: string
  readonly configFile: string | undefined
}

/** Turns checked values into the configuration of a server. */
export function toServerConfig(parts: Parts): ServerConfig {
  const { values, sources, findings, dataDir, configText, configFile } = parts
  const { self, ensemble } = findings
  const timeouts = sessionTimeouts(values)
  return {
    clientPort: clientPort(parts),
    clientPortAddress: values.clientPortAddress ?? self?.client?.host,
    clientPortListenBacklog: values.clientPortListenBacklog,
    maxClientCnxns: values.maxClientCnxns,
    maxCnxns: values.maxCnxns,
    clientTcpKeepAlive: values.clientTcpKeepAlive,
    idlePollMicros: values.idlePollMicros,
    sessionlessTimeoutMs: values['nio.sessionlessCnxnTimeout'],
    dataDir,
    dataLogDir: values.dataLogDir ?? dataDir,
    autoCreateDataDir: values['datadir.autocreate'],
    autoCreateDb: values['db.autocreate'],
    trustEmptySnapshot: values['snapshot.trust.empty'],
    snapCount: values.snapCount,
    snapBytes: positive(values.snapSizeLimitInKb),
    logBytesMax: positive(values.txnLogSizeLimitInKb),
    preAllocBytes: values.preAllocSize,
    forceSync: values.forceSync,
    slowSyncMs: values['fsync.warningthresholdms'],
    snapshotMethod: values['snapshot.compression.method'] || 'plain',
    serializeLastProcessedZxid: values['serializeLastProcessedZxid.enabled'],
    digests: values['digest.enabled'],
    closeSessionPaths: values['closeSessionTxn.enabled'],
    purge: {
      intervalMs: values['autopurge.purgeInterval'],
      retainCount: values['autopurge.snapRetainCount'],
      retainBytes: values['autopurge.retainBytes'],
    },
    history: {
      enabled: values['history.enabled'],
      retainBytes: values['history.retainBytes'],
      retainMs: values['history.retainDays'],
    },
    acceptDamage: values['recovery.acceptDamage'],
    tickMs: values.tickTime,
    sessionTimeoutMsMin: timeouts.min,
    sessionTimeoutMsMax: timeouts.max,
    globalOutstandingLimit: values.globalOutstandingLimit,
    juteMaxBuffer: values['jute.maxbuffer'],
    juteMaxBufferExtra: values['jute.maxbuffer.extrasize'] ?? values['jute.maxbuffer'],
    largeRequests:
      values.largeRequestThreshold < 0
        ? undefined
        : { threshold: values.largeRequestThreshold, bytesMax: values.largeRequestMaxBytes },
    throttledRequests: throttledRequests(values),
    connectionThrottle: connectionThrottle(values),
    fourLetterWords: fourLetterWords(values),
    admin: {
      enabled: values['admin.enableServer'],
      address: values['admin.serverAddress'],
      port: values['admin.serverPort'],
      commandUrl: values['admin.commandURL'],
      idleTimeoutMs: values['admin.idleTimeout'],
      snapshotEnabled: values['admin.snapshot.enabled'],
      restoreEnabled: values['admin.restore.enabled'],
      rateLimitIntervalMs: values['admin.rateLimiterIntervalInMS'],
    },
    metrics: {
      enabled: isPrometheus(values['metricsProvider.className']),
      host: values['metricsProvider.httpHost'],
      port: values['metricsProvider.httpPort'],
    },
    // On by default here, so it must not make a server fail whose id forbids it.
    extendedTypes: values.extendedTypesEnabled && (ensemble?.serverId ?? 0) <= 254,
    reclaim: {
      checkIntervalMs: values['znode.container.checkIntervalMs'],
      perMinuteMax: values['znode.container.maxPerMinute'],
      neverUsedMsMax: values['znode.container.maxNeverUsedIntervalMs'],
    },
    enforceQuota: values.enforceQuota,
    limits: limits(values),
    multiOperationsMax: values['limits.multiOperations'],
    unreadBytesMax: values['limits.unreadBytes'],
    sessionPasswords: {
      secretFile: values['session.secretFile'],
      kind:
        values['session.passwords'] ??
        (values['session.secretFile'] === undefined ? 'apache' : 'secret'),
    },
    adminAccess: {
      identities: adminIdentities(values['admin.identities']),
      allowedHosts: values['admin.allowedHosts'],
    },
    api: {
      enabled: values['api.enabled'],
      anonymous:
        values['api.anonymous'] ?? (isLoopback(values['admin.serverAddress']) ? 'write' : 'none'),
      identities: apiIdentities(values['api.identities']),
      tokenFile: values['api.tokenFile'],
    },
    skipAcl: values.skipACL,
    superDigest: values['DigestAuthenticationProvider.superDigest'],
    digestAuthEnabled: values['DigestAuthenticationProvider.enabled'],
    digestAlgorithm: values['DigestAuthenticationProvider.digestAlg'],
    requiredSchemes: requiredSchemes(values),
    authProviders: authProviders(sources, values),
    tls: clientTls(values, self?.secureClient),
    quorumTls: quorumTls(values),
    adminTls: adminTls(values, sources),
    audit: audit(values),
    ensembleAuthNames: values.ensembleAuthName,
    x509SuperUser: values['X509AuthenticationProvider.superUser'],
    sasl: {
      clients: parts.sasl.clients,
      superUsers: saslSuperUsers(sources, values),
      allowFailed: values.allowSaslFailedClients,
      quorum: parts.sasl.quorum,
    },
    reconfigEnabled: values.reconfigEnabled,
    ensemble,
    systemProperties: sources.systemProperties,
    configText,
    configFile,
  }
}

function limits(values: Values): ServerConfig['limits'] {
  return {
    outstandingPerConnection: values['limits.outstandingPerConnection'],
    outstandingBytes: values['limits.outstandingBytes'],
    outstandingBytesPerConnection: values['limits.outstandingBytesPerConnection'],
    unreadBytesMax: values['limits.unreadBytesPerConnection'],
    multiReadBytes: values['limits.multiReadBytes'],
    watchesPerSession: values['limits.watchesPerSession'],
    watches: values['limits.watches'],
    identities: values['limits.identitiesPerConnection'],
  }
}

/**
 * `scheme:id`, separated by semicolons, because names in certificates contain commas and spaces.
 */
export function adminIdentities(text: string): Id[] {
  const entries = text.split(';').map((entry) => entry.trim())
  return entries.filter(Boolean).map((entry) => {
    const colon = entry.indexOf(':')
    return { scheme: entry.slice(0, Math.max(0, colon)), id: entry.slice(colon + 1) }
  })
}

/** `role=scheme:id`, separated by semicolons. */
export function apiIdentities(text: string): ServerConfig['api']['identities'] {
  const entries = text.split(';').map((entry) => entry.trim())
  return entries.filter(Boolean).map((entry) => {
    const equals = entry.indexOf('=')
    const role = entry
      .slice(0, Math.max(0, equals))
      .trim() as ServerConfig['api']['identities'][number]['role']
    const [id = { scheme: '', id: '' }] = adminIdentities(entry.slice(equals + 1))
    return { role, id }
  })
}

/** A port in the server's own line overrides a default, but not an explicit setting. */
function clientPort({ values, sources, findings: { self } }: Parts): number | undefined {
  const own = self?.client?.port
  return sources.given.has('clientPort') ? (values.clientPort ?? own) : (own ?? values.clientPort)
}

/** -1 is the default, which depends on the tick. */
export function sessionTimeouts({ tickTime, minSessionTimeout, maxSessionTimeout }: Values): {
  min: number
  max: number
} {
  return {
    min: minSessionTimeout === -1 ? tickTime * 2 : minSessionTimeout,
    max: maxSessionTimeout === -1 ? tickTime * 20 : maxSessionTimeout,
  }
}

export function requiredSchemes(values: Values): readonly string[] {
  if (values.sessionRequireClientSASLAuth) return ['sasl']
  return values['enforce.auth.enabled'] ? values['enforce.auth.schemes'] : []
}

const ownProviders = 'org.apache.zookeeper.server.auth.'

/** A secure port implies the x509 provider, a file of users implies the SASL provider. */
export function authProviders({ members }: Sources, values: Values): Map<string, string> {
  const providers = new Map<string, string>()
  for (const [name, { text }] of members) {
    if (name.startsWith('authProvider.')) providers.set(name.slice('authProvider.'.length), text)
  }
  const hasTls = values.secureClientPort !== undefined || values['client.portUnification']
  if (hasTls && !providers.has('x509')) {
    providers.set('x509', `${ownProviders}X509AuthenticationProvider`)
  }
  if (values['sasl.usersFile'] !== undefined && !providers.has('sasl')) {
    providers.set('sasl', `${ownProviders}SASLAuthenticationProvider`)
  }
  return providers
}

export function isPrometheus(className: string | undefined): boolean {
  return className?.endsWith('.PrometheusMetricsProvider') ?? false
}

function positive(value: number): number | undefined {
  return value > 0 ? value : undefined
}

function fourLetterWords(values: Values): ServerConfig['fourLetterWords'] {
  const words = new Set(values['4lw.commands.whitelist'])
  if (words.has('*')) return 'all'
  words.add('srvr')
  if (values['readonlymode.enabled']) words.add('isro')
  return words
}

function throttledRequests(values: Values): ThrottledRequests | undefined {
  if (values.request_throttle_max_requests <= 0) return undefined
  return {
    outstandingMax: values.request_throttle_max_requests,
    staleAfterTimeout: values.request_stale_latency_check,
    dropStale: values.request_throttle_drop_stale,
    refuseAfterMs: values.throttled_op_wait_time,
  }
}

function connectionThrottle(values: Values): ConnectionThrottle | undefined {
  if (values.connection_throttle_tokens <= 0) return undefined
  return {
    tokens: values.connection_throttle_tokens,
    fillMs: values.connection_throttle_fill_time,
    fillCount: values.connection_throttle_fill_count,
    freezeMs: values.connection_throttle_freeze_time,
    dropIncrease: values.connection_throttle_drop_increase,
    dropDecrease: values.connection_throttle_drop_decrease,
    decreaseRatio: values.connection_throttle_decrease_ratio,
    weights: values.connection_throttle_weight_enabled ? sessionWeights(values) : undefined,
  }
}

/** A local session is never the most expensive, as in Apache. */
function sessionWeights(values: Values): ConnectionThrottle['weights'] {
  const local = values.connection_throttle_local_session_weight
  return {
    global: Math.max(values.connection_throttle_global_session_weight, local),
    renewed: Math.max(values.connection_throttle_renew_session_weight, local),
    local,
  }
}

function clientTls(
  values: Values,
  own: { host: string | undefined; port: number } | undefined,
): ServerConfig['tls'] {
  return {
    port: values.secureClientPort ?? own?.port,
    address: values.secureClientPortAddress ?? own?.host,
    portUnification: values['client.portUnification'],
    reload: values['client.certReload'],
    handshakesMax: positive(values['netty.server.outstandingHandshake.limit']) ?? Infinity,
    settings: tlsSettings(values, 'ssl.'),
  }
}

function quorumTls(values: Values): ServerConfig['quorumTls'] {
  return {
    dials: values.sslQuorum,
    accepts: values.sslQuorum || values.portUnification,
    acceptsPlain: !values.sslQuorum || values.portUnification,
    reload: values.sslQuorumReloadCertFiles,
    settings: tlsSettings(values, 'ssl.quorum.'),
  }
}

function adminTls(values: Values, sources: Sources): ServerConfig['adminTls'] {
  const forced = values['admin.forceHttps']
  return {
    accepts: forced || values['admin.portUnification'],
    acceptsPlain: !forced,
    settings: adminTlsSettings(values, sources),
  }
}

function audit(values: Values): ServerConfig['audit'] {
  return {
    enabled: values['audit.enable'],
    file: values['audit.file'],
    format: values['audit.format'],
    fileBytesMax: values['audit.maxFileSizeInKb'],
    filesMax: values['audit.maxFiles'],
  }
}

/** All users of SASL that are super users. */
function saslSuperUsers({ members }: Sources, values: Values): ReadonlySet<string> {
  const users = new Set<string>()
  if (values.superUser !== undefined && values.superUser !== '') users.add(values.superUser)
  for (const [name, { text }] of members) {
    if (name.startsWith('superUser.') && text !== '') users.add(text)
  }
  return users
}
