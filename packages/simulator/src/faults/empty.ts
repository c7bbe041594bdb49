/**
 * A server comes back with an empty disk, where that is legal.
 *
 * An observer may always do so, because nothing depends on its data. A voter has promised to keep
 * what it logged and the epochs it accepted. So it may do so only while all other voters keep that
 * promise in its place: each has everything that it had on disk, and has promised at least the same
 * epoch, and no quorum is possible without one of them. Any new leader then has everything.
 *
 * If members change, no change may be under way, and the server starts with the present members in
 * its configuration file, as an operator would start it.
 */
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { isEnough } from '../cluster/shape.ts'
import { durableEpochs } from '../history/promises.ts'
import { leaderOf } from './leader-of.ts'

export function emptyOne(cluster: Cluster, first: SimServer, forMs: number): void {
  const { servers, recorder } = cluster
  const at = servers.indexOf(first)
  const inTurn = [...servers.slice(at), ...servers.slice(0, at)]
  const server = inTurn.find((each) => isLegal(cluster, each))
  if (server === undefined) return
  recorder.count(`emptied: ${roleOf(cluster, server) === 'observer' ? 'observer' : 'voter'}`)
  const { isChanging } = server.options.ensemble!
  server.crash('power fails')
  server.loseDisk(isChanging ? recorder.ensemble!.config : undefined)
  server.startLater(forMs)
}

function isLegal(cluster: Cluster, server: SimServer): boolean {
  const { ensemble } = cluster.recorder
  if (ensemble === undefined) return false
  const role = roleOf(cluster, server)
  // A server that is no longer a member would start over with those it remembers, if they forget as
  // well.
  if (role === undefined || !ensemble.isSettled) return false
  if (role === 'observer' && server.options.ensemble?.isChanging === false) return true
  const leader = leaderOf(cluster)
  const { process } = server
  if (leader === undefined || leader === server || process?.alive !== true) return false
  const id = server.options.ensemble!.self
  if (isEnough(ensemble.config, new Set([id]))) return false
  const applied = process.peer?.lastZxid ?? 0n
  const logged = ensemble.durableOf(server.name)
  const held = applied > logged ? applied : logged
  const promised = durableEpochs(server).accepted ?? 0n
  const leading = durableEpochs(leader).current
  const others = cluster.servers.filter(
    (other) => other !== server && roleOf(cluster, other) === 'participant',
  )
  return others.every((other) => {
    const { accepted, current } = durableEpochs(other)
    if (accepted === undefined || accepted < promised || current !== leading) return false
    return other.takesPart && ensemble.durableOf(other.name) >= held
  })
}

function roleOf({ recorder }: Cluster, { options }: SimServer): string | undefined {
  const { self } = options.ensemble ?? {}
  return self === undefined ? undefined : recorder.ensemble?.config.servers.get(self)?.role
}
