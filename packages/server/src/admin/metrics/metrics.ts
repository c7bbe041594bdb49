import { limitNames, Summary } from '@zabra/core'
import { eventTypes, operations } from '@zabra/protocol'
import type { ServerView } from '../../view/server-view.ts'
import type { TlsContext } from '../../tls/tls-context.ts'
import { rounded } from '../java-text.ts'
import { nodeCount, uptimeMs } from '../../view/server-state.ts'
import { sessionVerdicts } from '../../view/session-end.ts'
import { ensembleMetrics } from './ensemble-metrics.ts'
import { fileDescriptors } from './file-descriptors.ts'
import { counter, gauge, summary, type Metric, type Value } from './metric.ts'
import { neverHere } from './never-here.ts'

/** Every metric, by ZooKeeper's names. */
export async function collectMetrics(view: ServerView): Promise<Metric[]> {
  const descriptors = await fileDescriptors()
  return [
    ...gauges(view),
    ...(descriptors === undefined
      ? []
      : [
          gauge('open_file_descriptor_count', descriptors.open, 'Open files and sockets.'),
          gauge('max_file_descriptor_count', descriptors.max, 'Files and sockets allowed.'),
        ]),
    ...quotas(view),
    ...counters(view),
    counter('unsuccessful_handshake', view.handshakes.failed, 'TLS handshakes that failed.'),
    counter(
      'tls_handshake_exceeded',
      view.peer.stats.limitsReached.handshakes,
      'TLS handshakes that had to wait, or were refused, because of the limit handshakes.',
    ),
    ...neverHere.map((name) => counter(name, 0, 'Always 0: zabra has nothing to count here.')),
    ...limitCounts(view),
    ...expiries(view),
    ...operationCounts(view),
    ...ensembleMetrics(view),
    ...summaries(view),
  ]
}

function gauges(view: ServerView): Value[] {
  const { peer } = view
  const { stats, db } = peer
  const { latency } = stats
  const fraction = (metric: Value): Value => ({ ...metric, isFraction: true })
  return [
    fraction(
      gauge('avg_latency', rounded(latency.mean), 'Average milliseconds from request to reply.'),
    ),
    gauge('max_latency', latency.max, 'Highest latency in milliseconds since the last srst.'),
    gauge('min_latency', latency.min, 'Lowest latency in milliseconds since the last srst.'),
    gauge('packets_received', stats.packetsReceived, 'Requests received since the last srst.'),
    gauge('packets_sent', stats.packetsSent, 'Replies sent since the last srst.'),
    gauge('num_alive_connections', peer.connections.size, 'Open client connections.'),
    gauge('outstanding_requests', peer.outstandingRequests, 'Requests that wait for their reply.'),
    gauge('unread_bytes', view.unreadBytes, 'Bytes sent to clients that they have not read.'),
    gauge('uptime', uptimeMs(view), 'Milliseconds since the server started.'),
    gauge('admin_port', view.adminPort ?? 0, 'Port of the console and the HTTP API; 0 if off.'),
    gauge(
      'znode_count',
      nodeCount(view),
      'Number of znodes, the root counted twice as in ZooKeeper.',
    ),
    gauge('watch_count', db.watches.count, 'Number of watches.'),
    gauge('ephemerals_count', db.tree.ephemeralCount, 'Number of ephemeral znodes.'),
    gauge('approximate_data_size', db.tree.dataBytes + 1, 'Bytes of all paths and data.'),
    gauge('global_sessions', db.sessions.size, 'Number of global sessions.'),
    gauge(
      'local_sessions',
      peer.localSessions?.size ?? 0,
      'Number of local sessions of this server.',
    ),
    gauge('last_client_response_size', stats.lastResponseBytes, 'Bytes of the last reply.'),
    gauge('max_client_response_size', stats.maxResponseBytes, 'Bytes of the longest reply.'),
    gauge('min_client_response_size', stats.minResponseBytes, 'Bytes of the shortest reply.'),
    gauge('auth_failed_count', stats.authFailures, 'Failed authentications.'),
    fraction(
      gauge(
        'connection_drop_probability',
        peer.dropProbability,
        'Share of new connections that the connection throttle drops.',
      ),
    ),
    ...tlsGauges(view),
  ]
}

/** Handshakes and certificates. Connections without a certificate count only if TLS is on. */
function tlsGauges({ handshakes, tlsContexts, sockets }: ServerView): Value[] {
  const hasTls = tlsContexts.some(({ use }) => use === 'clients')
  const others = { local: 0, remote: 0 }
  for (const { address, hasCertificate } of hasTls ? sockets : []) {
    if (!hasCertificate) others[isLocal(address) ? 'local' : 'remote']++
  }
  return [
    gauge('outstanding_tls_handshake', handshakes.underWay, 'TLS handshakes in progress.'),
    gauge(
      'non_mtls_remote_conn_count',
      others.remote,
      'Remote connections without a client certificate.',
    ),
    gauge(
      'non_mtls_local_conn_count',
      others.local,
      'Local connections without a client certificate.',
    ),
    ...certificateMetrics(tlsContexts),
  ]
}

/** Metrics of one name must be adjacent, with a value for each use of TLS. */
function certificateMetrics(contexts: ServerView['tlsContexts']): Value[] {
  const ofEach = (make: (context: TlsContext) => Value): Value[] =>
    contexts.map((context) => ({ ...make(context), key: context.use }))
  return [
    ...ofEach(({ expiresMs }) =>
      gauge(
        'tls_certificate_expiry_time_seconds',
        Math.floor(expiresMs / 1000),
        'Expiry of the served certificate, in seconds since 1970.',
      ),
    ),
    ...ofEach(({ problem }) =>
      gauge(
        'tls_certificate_files_refused',
        problem === undefined ? 0 : 1,
        '1 while changed certificate files are rejected and the previous ones stay in use.',
      ),
    ),
    ...ofEach(({ reloads }) =>
      counter('tls_certificate_reloads', reloads, 'Certificates reloaded.'),
    ),
    ...ofEach(({ failedReloads }) =>
      counter('tls_certificate_reload_failures', failedReloads, 'Certificate reloads that failed.'),
    ),
  ]
}

function isLocal(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

/** Limits and usage of each subtree with a quota; -1 is no limit. */
function* quotas(view: ServerView): IterableIterator<Value> {
  const names = new Map<string, Value[]>()
  for (const { path, limits, usage } of view.peer.db.quotas.report()) {
    const key = path.slice(1)
    const add = (name: string, value: number, help: string): void => {
      const made: Value = { kind: 'gauge', name: `quota_${name}_per_namespace`, help, value, key }
      const others = names.get(name)
      if (others === undefined) names.set(name, [made])
      else others.push(made)
    }
    const tighter = (hard: number, soft: number): number => (hard > -1 ? hard : soft)
    const countMax = tighter(limits.get('countHardLimit'), limits.get('count'))
    const bytesMax = tighter(limits.get('byteHardLimit'), limits.get('bytes'))
    add('count_limit', countMax, 'Maximum number of znodes in a subtree; -1 is no limit.')
    add('bytes_limit', bytesMax, 'Maximum bytes in a subtree; -1 is no limit.')
    add('count_usage', usage.count, 'Number of znodes in a subtree.')
    add('bytes_usage', usage.bytes, 'Bytes in a subtree.')
  }
  for (const sameName of names.values()) yield* sameName
}

function counters(view: ServerView): Value[] {
  const { stats, db } = view.peer
  return [
    counter('connection_request_count', stats.connectionRequests, 'Handshakes received.'),
    counter(
      'connection_revalidate_count',
      stats.connectionRevalidations,
      'Handshakes that resume a session.',
    ),
    counter('connection_drop_count', stats.connectionsDropped, 'Connections that clients ended.'),
    counter(
      'large_requests_rejected',
      stats.largeRequestsRejected,
      'Large requests rejected because of largeRequestMaxBytes.',
    ),
    counter(
      'request_throttle_wait_count',
      stats.throttleWaits,
      'Times a connection had to wait for the request throttle.',
    ),
    counter('throttled_ops', stats.throttledOps, 'Requests refused because they waited too long.'),
    counter('stale_requests', stats.staleRequests, 'Stale requests executed all the same.'),
    counter(
      'stale_requests_dropped',
      stats.staleRequestsDropped,
      'Connections closed because of a stale request.',
    ),
    counter(
      'connection_rejected',
      stats.connectionsRejected,
      'Connections rejected because of a limit.',
    ),
    counter(
      'connection_rejected_no_descriptor',
      stats.connectionsWithoutDescriptor,
      'Connections refused to reserve file descriptors for logs and snapshots.',
    ),
    counter(
      'sessionless_connections_expired',
      stats.sessionlessExpired,
      'Connections closed because they opened no session in time.',
    ),
    counter('stale_sessions_expired', stats.sessionsExpired, 'Sessions that expired.'),
    counter('bytes_received_count', stats.bytesReceived, 'Bytes received from clients.'),
    counter('response_bytes', stats.responseBytes, 'Bytes of replies.'),
    counter('watch_bytes', db.watches.deliveredBytes, 'Bytes of notifications.'),
    counter('commit_count', stats.commits, 'Transactions committed.'),
    counter(
      'digest_mismatches_count',
      stats.digestMismatches,
      'Digests of the tree that did not match the expected one.',
    ),
    counter(
      'fsync_threshold_exceed_count',
      view.disk.slowSyncs,
      'Log syncs slower than fsync.warningthresholdms.',
    ),
    counter('snapshot_error_count', view.disk.snapshotFailures, 'Snapshots that failed.'),
    counter(
      'snapshot_rate_limited_count',
      view.adminCounts.snapshotsRateLimited,
      'Snapshot commands refused because they came too soon.',
    ),
    counter('restore_error_count', view.adminCounts.restoreFailures, 'Restores that failed.'),
    counter(
      'restore_rate_limited_count',
      view.adminCounts.restoresRateLimited,
      'Restore commands refused because they came too soon.',
    ),
  ]
}

/** Why sessions expired, as far as this server saw it. */
function expiries({ expiredBy }: ServerView): Value[] {
  const ofExpired = sessionVerdicts.filter((verdict) => verdict !== 'closed')
  return ofExpired.map((key) => ({
    kind: 'counter',
    name: 'sessions_expired_by_verdict',
    help: 'Expired sessions, by the cause that this server saw.',
    value: expiredBy[key],
    key,
  }))
}

/** How often clients reached each limit; `docs/limits.md` says what happens then. */
function limitCounts({ peer }: ServerView): Value[] {
  const { limitsReached, failedGuesses } = peer.stats
  return [
    counter(
      'failed_password_count',
      failedGuesses,
      'Wrong passwords of sessions, super users and administrators.',
    ),
    ...limitNames.map((name) =>
      counter(`limit_reached_${name}`, limitsReached[name], `Times the limit ${name} was reached.`),
    ),
  ]
}

/** How often each operation was answered. */
function operationCounts(view: ServerView): Value[] {
  const counts = view.peer.stats.operations
  const made: Value[] = []
  let total = 0
  for (const [name, { code }] of Object.entries(operations)) {
    if (name === 'error') continue
    const count = counts[code & 0xff] ?? 0
    total += count
    made.push(counter(`op_count_${snakeCase(name)}`, count, `Requests answered: ${name}.`))
  }
  return [counter('op_count_total', total, 'Requests answered, all operations.'), ...made]
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`)
}

function summaries(view: ServerView): Metric[] {
  const { disk, startup } = view
  const { stats, db } = view.peer
  const told = db.watches.toldPerChange
  return [
    summary('readlatency', stats.readLatency, 'Milliseconds from a read to its reply.'),
    summary('updatelatency', stats.writeLatency, 'Milliseconds from a write to its reply.'),
    summary('connection_token_deficit', stats.tokenDeficit, 'Tokens missing at a handshake.'),
    summary('fsynctime', disk.syncMs, 'Milliseconds until a batch of the log is durable.'),
    summary('sync_processor_batch_size', disk.batchSize, 'Transactions made durable together.'),
    summary('snapshottime', disk.snapshotMs, 'Milliseconds to take a snapshot.'),
    summary('restore_time', view.adminCounts.restoreMs, 'Milliseconds to restore a snapshot.'),
    summary('dbinittime', once(startup.loadMs), 'Milliseconds to load the database at the start.'),
    summary(
      'startup_txns_loaded',
      once(startup.recordsReplayed),
      'Transactions replayed at the start.',
    ),
    summary(
      'node_created_watch_count',
      told[eventTypes.nodeCreated],
      'Clients notified of one created znode.',
    ),
    summary(
      'node_deleted_watch_count',
      told[eventTypes.nodeDeleted],
      'Clients notified of one deleted znode.',
    ),
    summary(
      'node_changed_watch_count',
      told[eventTypes.nodeDataChanged],
      'Clients notified of one change of data.',
    ),
    summary(
      'node_children_watch_count',
      told[eventTypes.nodeChildrenChanged],
      'Clients notified of one change of children.',
    ),
  ]
}

/** A value measured once, written as a whole number like its unit. */
function once(value: number): Summary {
  const measured = new Summary()
  measured.add(Math.round(value))
  return measured
}
