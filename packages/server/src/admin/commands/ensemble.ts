import { counterOf, epochOf, everyAddress, type LearnerView, type ServerSpec } from '@zabra/core'
import type { EnsembleView, ServerView } from '../../view/server-view.ts'
import { hexDigits } from '../java-text.ts'
import { Members, type Json } from '../json.ts'
import type { Answer } from './command.ts'

/** `leader`: the current leader. */
export function leader(view: ServerView): Answer {
  const ensemble = servingEnsemble(view)
  if (ensemble === undefined) return { error: 'server is not initialized' }
  const { stats, membership, leadership } = ensemble
  const addresses = membership.servers.get(stats.leader ?? -1n)?.addresses ?? []
  return {
    is_leader: leadership !== undefined,
    leader_id: stats.leader ?? -1n,
    leader_ip: addresses.map(({ host }) => host).join('|'),
  }
}

/** `observers`: the observers of a leader, or of a follower that takes observers. */
export function observers(view: ServerView): Answer {
  const synced = view.ensemble?.servedObservers?.synced ?? []
  const lastZxid = view.peer.lastZxid
  return {
    synced_observers: synced.length,
    observers: synced.map((learner) => observerInfo(learner, lastZxid)),
  }
}

function observerInfo(learner: LearnerView, lastZxid: bigint): Json {
  const { link, sid, joinedWallMs, held, heldBytes, requests } = learner
  return {
    remote_socket_address: `/${link.remoteAddress}`,
    sid,
    established: Math.floor(joinedWallMs),
    queued_packets: held,
    queued_packets_size: heldBytes,
    packets_received: link.packetsReceived,
    packets_sent: link.packetsSent,
    requests,
    last_zxid: lastZxid,
  }
}

export function resetObservers({ ensemble }: ServerView): Answer {
  ensemble?.servedObservers?.resetCounts()
  return {}
}

/** `voting_view`: the voting members. */
export function votingView(view: ServerView): Answer {
  const ensemble = servingEnsemble(view)
  if (ensemble === undefined) return { current_config: {} }
  const voters = [...ensemble.membership.servers].filter(([, { role }]) => role === 'participant')
  const entries = voters.map(([id, spec]) => [String(id), memberInfo(spec)] as const)
  return { current_config: new Members(entries) }
}

function memberInfo({ addresses, role, client }: ServerSpec): Json {
  return {
    server_addresses: addresses.map(({ host, quorumPort }) => hostPort(host, quorumPort)),
    election_addresses: addresses.map(({ host, electionPort }) => hostPort(host, electionPort)),
    client_address: client === undefined ? '' : hostPort(client.host ?? everyAddress, client.port),
    learner_type: role,
  }
}

/** `zabstate`: the progress of this server in the Zab protocol. */
export function zabState(view: ServerView): Answer {
  const ensemble = servingEnsemble(view)
  if (ensemble === undefined) return { voting: false, zabstate: '' }
  const { config, membership, stats, leadership } = ensemble
  const own = membership.servers.get(BigInt(config.serverId))
  const { lastZxid } = view.peer
  const addresses = own?.addresses ?? []
  return {
    myid: config.serverId,
    is_leader: leadership !== undefined,
    quorum_address: addressInfo(addresses.map(({ host, quorumPort: port }) => ({ host, port }))),
    election_address: addressInfo(
      addresses.map(({ host, electionPort: port }) => ({ host, port })),
    ),
    client_address: clientAddress(view, own),
    voting: own?.role === 'participant',
    last_zxid: `0x${hexDigits(lastZxid)}`,
    zab_epoch: epochOf(lastZxid),
    zab_counter: counterOf(lastZxid),
    zabstate: stats.phase,
  }
}

function clientAddress({ config, clientPort }: ServerView, own: ServerSpec | undefined): string {
  const host = config.clientPortAddress ?? own?.client?.host ?? everyAddress
  return hostPort(host, clientPort)
}

/** The known state of some addresses; they are assumed to be reachable. */
function addressInfo(addresses: readonly { host: string; port: number }[]): Json {
  const all = addresses.map(({ host, port }) => hostPort(host, port))
  const one = all[0] ?? null
  const ports = addresses.map(({ port }) => port)
  return {
    empty: all.length === 0,
    all_addresses: all,
    wildcard_addresses: ports.map((port) => hostPort(everyAddress, port)),
    all_ports: ports,
    all_host_strings: addresses.map(({ host }) => host),
    reachable_address: one,
    all_reachable_addresses: all,
    all_reachable_addresses_or_all: all,
    reachable_or_one: one,
    one,
  }
}

function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Undefined also without a quorum: then a server answers like a standalone one. */
function servingEnsemble({ ensemble, peer }: ServerView): EnsembleView | undefined {
  return peer.isServing && !peer.isReadOnly ? ensemble : undefined
}
