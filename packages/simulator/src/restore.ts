/**
 * The last act of some runs: an ensemble is given back an older tree (the admin command `restore`),
 * while clients write and servers crash.
 *
 * The history ends there, so it is checked before. What must hold of this act: a restore that
 * succeeds replaces the tree of every server, and one that fails leaves it as it was, or replaces
 * it everywhere. Zxids never go back, neither on a server nor for a client, and none is used twice.
 */
import { EnsemblePeer, loadRestored, type Database, type RestoredDatabase } from '@zabra/core'
import type { Cluster } from './cluster/cluster.ts'
import type { SimServer } from './cluster/server.ts'
import { heal } from './faults/inject.ts'
import { leaderOf } from './faults/leader-of.ts'
import { dumpTree } from './history/tree-dump.ts'
import type { Random } from './world/random.ts'

const agreeMsMax = 120_000
const faultsMs = 3000
/** Clients write to it all the time. */
const busyPath = '/b'
/** Servers delete nodes below it by themselves. */
const reclaimedRoot = '/t'

type Live = (ms: number, isDone?: () => boolean) => Promise<void>

/** Returns what is wrong afterwards. */
export async function restoreAtTheEnd(
  cluster: Cluster,
  random: Random,
  live: Live,
): Promise<readonly string[]> {
  const { recorder, world } = cluster
  const leader = leaderOf(cluster)
  const peer = leader?.process?.peer
  if (leader === undefined || !(peer instanceof EnsemblePeer)) return []
  const restored = await anOlderTree(leader, random)
  if (restored === undefined) return []
  const [before, after] = [lasting(peer.db), lasting(restored.db)]
  const { lastZxid } = peer
  recorder.trace(`${leader.name} restores what it had at ${restored.zxid}`)
  for (let i = 0; i < 8; i++) world.after(random.between(0, faultsMs), () => write(cluster, i))
  world.after(random.between(0, 200), () => disturb(cluster, leader, random))
  let outcome: string | undefined
  const isOver = (): boolean => outcome !== undefined || leader.process?.peer !== peer
  void peer.restore(restored).then(
    () => (outcome = 'restored'),
    (error: Error) => (outcome = error.name === 'RestoreRefusal' ? 'refused' : 'failed'),
  )
  await live(faultsMs)
  heal(cluster)
  await live(agreeMsMax, () => isOver() && areEqual(cluster))
  recorder.count(`restore: ${outcome ?? 'cut short'}`)
  if (!isOver()) return ['a restore does not end']
  if (!areEqual(cluster)) return ['the servers do not come to agree after a restore']
  const { db } = cluster.servers[0]!.process!.peer!
  if (db.lastZxid < lastZxid) return [`zxids go back from ${lastZxid} to ${db.lastZxid}`]
  const present = lasting(db)
  if (present === after) return []
  if (present !== before) return ['a restore leaves a tree that is neither the old nor the new one']
  // The server that had restored it may have lost it, before a quorum had it.
  return outcome === 'restored' ? ['a restore that has succeeded has no effect'] : []
}

/** From a snapshot that the leader still has. */
async function anOlderTree(
  { disk, options }: SimServer,
  random: Random,
): Promise<RestoredDatabase | undefined> {
  const { snapshotDir } = options.journal
  const names = (await disk.files.list(snapshotDir)).map(({ name }) => name)
  const snapshots = names.filter((name) => name.startsWith('snapshot.')).toSorted()
  if (snapshots.length === 0) return undefined
  const name = random.pick(snapshots)
  return loadRestored(disk.files, snapshotDir, name, options.database).catch(() => undefined)
}

function write({ clients }: Cluster, i: number): void {
  const client = clients[i % clients.length]!
  client.ask({ op: 'setData', path: busyPath, data: `while it is restored, ${i}`, version: -1 })
}

function disturb(cluster: Cluster, leader: SimServer, random: Random): void {
  const { world, servers } = cluster
  const server = random.chance(0.5) ? leader : random.pick(servers)
  const how = random.pick(['nothing', 'crash', 'crash at call', 'power fails everywhere'] as const)
  cluster.recorder.trace(`${server.name} and ${how}`)
  if (how === 'crash at call') server.disk.condition.callsUntilCrash = random.between(1, 30)
  const crashed = how === 'crash' ? [server] : how === 'nothing' ? [] : servers
  if (how === 'crash at call') return
  for (const each of crashed) {
    each.crash('power fails')
    each.startLater(random.between(50, 1000))
  }
  // Nothing of this act is left when everything heals.
  world.after(faultsMs / 2, () => (server.disk.condition.callsUntilCrash = Infinity))
}

function areEqual({ servers }: Cluster): boolean {
  const states = servers.map(({ process, takesPart }) => {
    const { db } = process?.peer ?? {}
    return takesPart && db !== undefined ? `${db.lastZxid} ${db.tree.digest.value}` : undefined
  })
  return states[0] !== undefined && states.every((state) => state === states[0])
}

/** The part of a tree that changes neither by the clients' writes of this act, nor by time. */
function lasting(db: Database): string {
  const nodes = [...dumpTree(db)].filter(([path, { stat }]) => {
    const isReclaimed = path === reclaimedRoot || path.startsWith(`${reclaimedRoot}/`)
    return path !== busyPath && !isReclaimed && stat.ephemeralOwner === 0n
  })
  const lines = nodes.map(([path, { data, stat }]) => `${path} ${stat.czxid} ${stat.mzxid} ${data}`)
  return lines.toSorted().join('\n')
}
