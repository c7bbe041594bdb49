import { EnsemblePeer } from '@zabra/core'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'

/** The leader, or a server that believes to lead; of several, one that has followers. */
export function leaderOf({ servers }: Cluster): SimServer | undefined {
  const leading = servers.filter(({ process }) => {
    const peer = process?.alive === true ? process.peer : undefined
    return peer instanceof EnsemblePeer && peer.state === 'leading'
  })
  const epochOf = ({ process }: SimServer): number => Number(process!.peer!.lastZxid >> 32n)
  return leading.toSorted((a, b) => epochOf(b) - epochOf(a))[0]
}
