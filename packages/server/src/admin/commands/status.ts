import type { ClientSocket } from '../../net/client-socket.ts'
import type { ServerView } from '../../view/server-view.ts'
import { rounded } from '../java-text.ts'
import { Double, type Json } from '../json.ts'
import { nodeCount, serverState, uptimeMs } from '../../view/server-state.ts'
import { versionText } from '../../view/version.ts'
import { addressText, operationCode } from '../words/connections.ts'
import type { Answer } from './command.ts'

export async function serverStats(view: ServerView): Promise<Answer> {
  const { peer, disk } = view
  const { stats } = peer
  const sizes = await view.directorySizes()
  const responseStats = {
    last_buffer_size: stats.lastResponseBytes,
    min_buffer_size: stats.minResponseBytes,
    max_buffer_size: stats.maxResponseBytes,
  }
  return {
    version: versionText,
    read_only: peer.isReadOnly,
    server_stats: {
      packets_sent: stats.packetsSent,
      packets_received: stats.packetsReceived,
      fsync_threshold_exceed_count: disk.slowSyncs,
      client_response_stats: responseStats,
      data_dir_size: sizes.data,
      log_dir_size: sizes.log,
      provider_null: false,
      last_processed_zxid: peer.lastZxid,
      outstanding_requests: peer.outstandingRequests,
      server_state: serverState(view),
      avg_latency: new Double(rounded(stats.latency.mean)),
      max_latency: stats.latency.max,
      min_latency: stats.latency.min,
      num_alive_client_connections: peer.connections.size,
      uptime: uptimeMs(view),
      auth_failed_count: stats.authFailures,
      non_mtlsremote_conn_count: 0,
      non_mtlslocal_conn_count: 0,
    },
    client_response: responseStats,
    ...proposalStats(view),
    node_count: nodeCount(view),
  }
}

/** Only a leader has proposals. */
function proposalStats({ ensemble }: ServerView): Answer {
  if (ensemble?.leadership === undefined) return {}
  const { last, min, max } = ensemble.stats.proposalBytes
  return { proposal_stats: { last_buffer_size: last, min_buffer_size: min, max_buffer_size: max } }
}

export function connectionLists(view: ServerView, detail: 'brief' | 'all'): Answer {
  const listOf = (isSecure: boolean): Json[] =>
    [...view.sockets]
      .filter((socket) => socket.isSecure === isSecure)
      .map((socket) =>
        detail === 'brief' ? brief(socket) : { ...brief(socket), ...sessionPart(socket) },
      )
  return { connections: listOf(false), secure_connections: listOf(true) }
}

function brief(socket: ClientSocket): { [name: string]: Json } {
  const { connection, interestOps } = socket
  return {
    remote_socket_address: addressText(socket),
    interest_ops: interestOps,
    outstanding_requests: connection.queue.length,
    packets_received: connection.packetsReceived,
    packets_sent: connection.packetsSent,
  }
}

function sessionPart({ connection }: ClientSocket): { [name: string]: Json } {
  const { lastXid, latency } = connection
  return {
    session_id: connection.sessionId,
    last_operation: operationCode(connection.lastOperation),
    established: connection.openedWallMs,
    session_timeout: connection.timeoutMs,
    last_cxid: lastXid,
    last_zxid: connection.lastZxid,
    last_response_time: connection.lastResponseMs,
    last_latency: connection.lastLatencyMs,
    min_latency: latency.min,
    avg_latency: Math.trunc(latency.mean),
    max_latency: latency.max,
  }
}
