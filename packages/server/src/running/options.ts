import {
  defaultLimits,
  nodeBytesMax,
  type DatabaseOptions,
  type JournalOptions,
  type PeerOptions,
} from '@zabra/core'
import { nodeHost } from '../base/node-host.ts'
import { touchMemory } from '../base/touch-memory.ts'
import type { ServerConfig } from '../config/config.ts'
import { zlibCompression as compression } from '../disk/zlib-compression.ts'
import type { ListenOptions } from '../net/client-listener.ts'

// Maps the settings of a server to options of its parts. A setting keeps its name unless a part
// combines several settings; then the combination is computed here.

/** Session, xid and operation: the bytes before a request that is forwarded to the leader. */
const forwardedHeaderBytes = 16

export function databaseOptions(
  config: ServerConfig,
  schemes: ReadonlySet<string>,
): DatabaseOptions {
  const { extendedTypes, digests, skipAcl } = config
  return {
    extendedTypes,
    digests,
    hashSeed: Math.floor(Math.random() * 0x7fffffff),
    acl: { skipAcl, schemes },
    touchMemory,
  }
}

/** A znode of this size can be stored: its record in a snapshot may be twice as long. */
const storedBytesMax = nodeBytesMax / 2

/** The longest record that Apache's servers with the same settings read from logs and peers. */
export function txnBytesMax({ juteMaxBuffer, juteMaxBufferExtra }: ServerConfig): number {
  return Math.min(juteMaxBuffer + juteMaxBufferExtra, storedBytesMax)
}

export function peerOptions(config: ServerConfig): PeerOptions {
  const { ensemble, throttledRequests, connectionThrottle } = config
  const { sessionTimeoutMsMin, sessionTimeoutMsMax, sessionlessTimeoutMs, tickMs } = config
  const { enforceQuota, reconfigEnabled, closeSessionPaths, multiOperationsMax } = config
  const { limits, reclaim, largeRequests, requiredSchemes } = config
  return {
    // A standalone server puts 1 into its session ids.
    serverId: ensemble?.serverId ?? 1,
    tickMs,
    sessionTimeoutMsMin,
    sessionTimeoutMsMax,
    sessionlessTimeoutMs,
    // A request over the limit is not read; Apache's throttler queues it instead.
    outstandingMax: Math.min(
      config.globalOutstandingLimit,
      throttledRequests?.outstandingMax ?? Infinity,
    ),
    // The leader reads a request with its header, so a request that it would reject is refused
    // here.
    frameBytesMax: Math.min(config.juteMaxBuffer, txnBytesMax(config) - forwardedHeaderBytes),
    limits,
    rules: {
      enforceQuota,
      reconfigEnabled,
      standaloneEnabled: ensemble?.standaloneEnabled ?? true,
      multiAddressEnabled: ensemble?.multiAddressEnabled ?? false,
      closeSessionPaths,
      txnBytesMax: txnBytesMax(config),
      multiOperationsMax,
    },
    reclaim,
    requiredSchemes,
    largeRequests,
    waiting: throttledRequests,
    connectionThrottle: connectionThrottle && {
      ...connectionThrottle,
      random: () => nodeHost.random(),
    },
  }
}

export function journalOptions(
  config: ServerConfig,
  directories: Pick<JournalOptions, 'snapshotDir' | 'logDir'>,
): JournalOptions {
  const { snapCount, snapBytes, logBytesMax, slowSyncMs, snapshotMethod, purge } = config
  return {
    ...directories,
    snapCount,
    snapBytes,
    logBytesMax,
    slowSyncMs,
    retainCount: purge.retainCount,
    retainBytes: purge.retainBytes,
    purges: purge.intervalMs > 0,
    snapshotMethod,
    compression,
    tellsLastZxid: config.serializeLastProcessedZxid,
  }
}

export function listenOptions(config: ServerConfig): ListenOptions {
  const { clientPortListenBacklog, maxClientCnxns, maxCnxns, clientTcpKeepAlive } = config
  return {
    ports: clientPorts(config),
    clientPortListenBacklog,
    maxClientCnxns,
    maxCnxns,
    clientTcpKeepAlive,
    detectionTimeoutMs: config.tls.settings.detectionTimeoutMs,
    unreadBytesMax: {
      perConnection: config.limits.unreadBytesMax ?? defaultLimits.unreadBytesMax,
      total: config.unreadBytesMax,
    },
  }
}

/** The client ports, in the order of their numbers in the configuration. */
function clientPorts({ clientPort, clientPortAddress, tls }: ServerConfig): ListenOptions['ports'] {
  const ports: ListenOptions['ports'][number][] = []
  if (clientPort !== undefined) {
    const speech = tls.portUnification ? 'both' : 'plain'
    ports.push({ speech, port: clientPort, address: clientPortAddress })
  }
  if (tls.port !== undefined) ports.push({ speech: 'tls', port: tls.port, address: tls.address })
  return ports
}
