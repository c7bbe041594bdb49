import type { ServerView } from '../../view/server-view.ts'
import { doubleText, hexDigits, rounded } from '../java-text.ts'
import { nodeCount, serverState } from '../../view/server-state.ts'
import { versionText } from '../../view/version.ts'
import { briefConnection } from './connections.ts'

/** `srvr`: the state of the server. */
export function* srvr(view: ServerView): IterableIterator<string> {
  yield heading(view)
  yield numbers(view)
  yield proposals(view)
}

/** `stat`: the same, with the list of connections. */
export function* stat(view: ServerView): IterableIterator<string> {
  yield heading(view)
  yield 'Clients:\n'
  for (const socket of view.sockets) yield `${briefConnection(socket)})\n`
  yield '\n'
  yield numbers(view)
  yield proposals(view)
}

/** Only a leader has proposals. */
function proposals({ ensemble }: ServerView): string {
  if (ensemble?.leadership === undefined) return ''
  const { last, min, max } = ensemble.stats.proposalBytes
  return `Proposal sizes last/min/max: ${last}/${min}/${max}\n`
}

function heading({ peer }: ServerView): string {
  const warning = peer.isReadOnly ? 'READ-ONLY mode; serving only read-only clients\n' : ''
  return `Zookeeper version: ${versionText}\n${warning}`
}

function numbers(view: ServerView): string {
  const { peer } = view
  const { stats } = peer
  const { min, mean, max } = stats.latency
  return [
    `Latency min/avg/max: ${min}/${doubleText(rounded(mean))}/${max}`,
    `Received: ${stats.packetsReceived}`,
    `Sent: ${stats.packetsSent}`,
    `Connections: ${peer.connections.size}`,
    `Outstanding: ${peer.outstandingRequests}`,
    `Zxid: 0x${hexDigits(peer.lastZxid)}`,
    `Mode: ${serverState(view)}`,
    `Node count: ${nodeCount(view)}`,
    '',
  ].join('\n')
}
